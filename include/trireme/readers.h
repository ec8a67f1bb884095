#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/export.h"

namespace trireme::data {

class Dataset;  // data.h

struct IdxOptions {
  std::vector<std::string> class_names = {};
  std::int64_t classes = 0;  // labels must lie below; 0: as many as names, or any if there are none
};

// IDX files, plain or gzip, u8 images [n, h, w] or [n, h, w, c] and integer labels [n].
TRIREME_API Dataset idx_images(const std::string& images_path, const std::string& labels_path,
                               const IdxOptions& options = {});

// What becomes of an empty cell, or one that holds the word for missing, where a feature belongs.
// In columns of ids it becomes 0, in one-hot columns all zeros, unless it is an error.
enum class Missing : std::uint8_t { error, mean, constant };

struct CsvOptions {
  std::string target = {};                 // the column to predict; empty: the last one
  std::vector<std::string> features = {};  // empty: all other columns
  std::vector<std::string> one_hot = {};   // text columns that become zeros and ones, one per word
  char separator = ',';
  bool header = true;        // else columns are called by `names`, or "0", "1" ...
  int skip_lines = 0;        // before the header
  bool standardise = false;  // features to mean 0 and deviation 1 over the file

  std::vector<std::string> names = {};  // of all columns, for a file without header
  std::vector<std::string> categories =
      {};                                  // text columns that become ids, i64[] under their names
  std::vector<std::string> integers = {};  // whole numbers, i64[] under their names
  bool named = false;    // numbers under their own names too, f32[1] each, not as one "features"
  bool classes = false;  // the target is words: "label" i64[], numbered in alphabetical order
  Missing missing = Missing::error;
  double missing_value = 0;       // for Missing::constant
  std::string missing_word = {};  // stands for missing beside the empty cell: "?"
  std::string fit =
      {};  // the file that words, means and deviations are taken from; empty: this one
};

// A CSV file, plain, .gz or .zst, read whole: "features" f32[n] and "target" f32[1], and columns as
// the options ask. Ids of categories start at 1, in alphabetical order; 0 is missing, or a word
// that the file named by `fit` does not have.
// Errors: data, naming the line, for a missing value or text where a number belongs.
TRIREME_API Dataset csv(const std::string& path, const CsvOptions& options = {});

struct LibsvmOptions {
  std::int64_t ids = 0;   // ids must lie below; 0: as many as the file needs
  bool zero_one = false;  // targets -1 become 0, for binary cross entropy
};

// Sparse rows "target id:value id:value ...", as libsvm and libfm have them, plain, .gz or .zst: "ids"
// i64[n], "values" f32[n] and "target" f32[1]. Every row must have the same number n of pairs.
// Errors: data, naming the line.
TRIREME_API Dataset libsvm(const std::string& path, const LibsvmOptions& options = {});

struct FolderOptions {
  std::int64_t height = 0;  // resize all pictures to this; 0: all must be of one size
  std::int64_t width = 0;   // both or none
  int channels = 3;         // 1: gray
};

// PNG and JPEG pictures in one subfolder for each class: "image" f32[channels, height, width] in
// [0, 1] and "label" i64[]. Classes and pictures are sorted by name; a picture is read when its batch
// is. Errors: not_found; data, if there are none; when read, data, naming a file that is damaged or
// of another size.
TRIREME_API Dataset image_folder(const std::string& path, const FolderOptions& options = {});

// A record file (docs/reference/formats/records.md), mapped into memory: any data set, with a checksum for
// each example, which is checked when it is read. Errors: not_found, io; data, naming the byte.
TRIREME_API Dataset records(const std::string& path);

// Writes a record file, unshuffled and as epoch 0 is; beside its place and then renamed. Pictures
// whose values are all a byte / 255 take a byte for each. Errors: usage, if the data set is empty;
// io; what reading throws.
TRIREME_API void write_records(const std::string& path, const Dataset& dataset);

// Clicks that are made up, in the schema of criteo() (known_data.h): "features" f32[13], ids "C1" to "C26" i64[], of
// which the most frequent come first, and "target" f32[1]. They are drawn by a model of weights for numbers, ids and
// pairs of ids, so that it is known how well any model can do. Examples are made when they are read, each by the seed
// and its number alone.
struct ClickOptions {
  std::int64_t examples = 1'000'000;
  std::int64_t first =
      0;  // the number of the first one: others than those before it, of the same model
  std::int64_t ids = 100'000;  // of "C26"; the other columns have fewer
  double exponent = 1.1;       // ids' shares fall as rank^-exponent; 0: all are alike frequent
  std::uint64_t seed = 1;
  bool truth = false;  // a column "truth" f32[1] too: the probability that the target is 1
};
// Errors: usage.
TRIREME_API Dataset made_clicks(const ClickOptions& options = {});

}  // namespace trireme::data
