#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/deprecated.h"
#include "trireme/export.h"

namespace trireme::data {

class Dataset;  // data.h

struct IdxOptions {
  std::vector<std::string> class_names = {};
  std::int64_t classes =
      0;  // labels must be below; 0: the number of names, or any label if there are none
};

// IDX files, plain or gzip, u8 images [n, h, w] or [n, h, w, c] and integer labels [n].
TRIREME_API Dataset idx_images(const std::string& images_path, const std::string& labels_path,
                               const IdxOptions& options = {});

// The value of a missing feature: an empty cell, or the word for missing. Unless it is an error, it
// becomes 0 in columns of ids, and all zeros in one-hot columns.
enum class Missing : std::uint8_t { error, mean, constant };

struct CsvOptions {
  std::string target = {};                 // the column to predict; empty: the last one
  std::vector<std::string> features = {};  // empty: all other columns
  std::vector<std::string> one_hot =
      {};  // text columns that become zeros and ones, one for each word
  char separator = ',';
  bool header = true;  // otherwise the columns have the names `names`, or "0", "1" ...
  int skip_lines = 0;  // before the header
  // Blanks between a separator and a quote are left out. Otherwise the quote is part of the cell.
  bool skip_initial_space = false;
  char decimal = '.';        // ',' in numbers such as 1,5
  char thousands = 0;        // between digits: ',' in numbers such as 1,234; 0: none
  bool standardize = false;  // features to mean 0 and deviation 1 over the file
  DeprecatedOption<bool, "standardise", "standardize"> standardise = {};

  std::vector<std::string> names = {};  // of all columns, for a file without header
  std::vector<std::string> categories =
      {};                                  // text columns that become ids, i64[] under their names
  std::vector<std::string> integers = {};  // whole numbers, i64[] under their names
  bool named = false;    // numbers under their own names, f32[1] each, instead of "features"
  bool classes = false;  // the target is words: "label" i64[], numbered in alphabetical order
  Missing missing = Missing::error;
  double missing_value = 0;       // for Missing::constant
  std::string missing_word = {};  // means missing, like an empty cell: "?"
  // The file whose words, means and deviations are used; empty: this file.
  std::string fit = {};
};

// Reads a CSV file, plain, .gz or .zst: "features" f32[n], "target" f32[1], and columns of the
// options. Ids of categories start at 1, in alphabetical order; 0 means missing, or a word that is
// not in the file `fit`. Errors: data with the line for a missing value, text instead of a number,
// or a number beyond f32, and for two columns of one name.
TRIREME_API Dataset csv(const std::string& path, const CsvOptions& options = {});

struct LibsvmOptions {
  std::int64_t ids = 0;   // ids must be below; 0: the largest id of the file plus 1
  bool zero_one = false;  // targets -1 become 0, for binary cross entropy
};

// Reads sparse rows "target id:value id:value ...", the format of libsvm and libfm, plain, .gz or
// .zst: "ids" i64[n], "values" f32[n] and "target" f32[1]. Every row must have the same number n of
// pairs. If the rows name ranking groups, as in "target qid:3 id:value ...", there is also "qid"
// i64[]: examples of one group are compared with each other. What follows a # is a comment.
// Errors: data with the line.
TRIREME_API Dataset libsvm(const std::string& path, const LibsvmOptions& options = {});

struct FolderOptions {
  std::int64_t height = 0;  // resize all images to this; 0: all must have one size
  std::int64_t width = 0;   // both or none
  int channels = 3;         // 1: gray
  bool upright = true;      // turn pictures as their Exif data say
};

// PNG and JPEG images in one subfolder for each class: "image" f32[channels, height, width] in [0,
// 1] and "label" i64[]. Classes and images are sorted by name. An image is read with its batch.
// Errors: not_found; data if there are none; when read, data with the file if it is damaged or has
// another size.
TRIREME_API Dataset image_folder(const std::string& path, const FolderOptions& options = {});

// Opens a record file (docs/reference/formats/records.md): any data set, with a checksum for each
// example, which is checked when it is read. Examples are read from the file with their batch.
// Errors: not_found; io; data with the byte.
TRIREME_API Dataset records(const std::string& path);

// Writes a record file atomically: unshuffled, with the examples of epoch 0. Images whose values
// are all byte / 255 take one byte per value. Errors: usage if the data set is empty; io; errors of
// reading.
TRIREME_API void write_records(const std::string& path, const Dataset& dataset);

// Synthetic clicks in the schema of criteo() (known_data.h): "features" f32[13], ids "C1" to "C26"
// i64[], the most frequent first, and "target" f32[1]. A model with weights for numbers, ids and
// pairs of ids generates them, so the best possible result is known. Examples are made when they
// are read; each depends only on the seed and its number.
struct ClickOptions {
  std::int64_t examples = 1'000'000;
  std::int64_t first =
      0;  // the number of the first example; other numbers are other examples of the same model
  std::int64_t ids = 100'000;  // of "C26"; the other columns have fewer
  double exponent = 1.1;       // frequencies of ids fall as rank^-exponent; 0: all are equal
  std::uint64_t seed = 1;
  bool truth = false;  // adds a column "truth" f32[1]: the probability that the target is 1
};
// Errors: usage.
TRIREME_API Dataset synthetic_clicks(const ClickOptions& options = {});
[[deprecated("use synthetic_clicks()")]] TRIREME_API Dataset
made_clicks(const ClickOptions& options = {});

}  // namespace trireme::data
