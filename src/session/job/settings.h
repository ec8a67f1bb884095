#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "session/job/node.h"
#include "trireme/checkpoint.h"
#include "trireme/data.h"
#include "trireme/job.h"
#include "trireme/text_data.h"

namespace trireme::job {

// [data] filter: which examples to keep.
struct FilterTable {
  std::string column;
  std::optional<double> min, max;  // of a number
  std::vector<double> values;
  std::vector<std::string> words;
  std::optional<std::int64_t> min_length, max_length;  // of a sequence
  bool invert = false;
};

// [data] sample: examples drawn with replacement.
struct SampleTable {
  std::string weights;  // a column
  bool balance = false;
  std::int64_t count = 0;
};

// [data]
struct DataSettings {
  const Node* train = nullptr;
  const Node* test = nullptr;        // may be null
  const Node* validation = nullptr;  // may be null
  double validation_split = 0;       // or this share of the training data
  std::int64_t folds = 0;            // or one of these folds; 0: none
  std::int64_t fold = 0;
  const Node* filter = nullptr;  // may be null
  const Node* sample = nullptr;  // may be null
  SampleTable sampling;          // read from `sample`
  std::string cache;  // "memory", or the record file that keeps the training data; empty: none
  std::int64_t batch = 64;
  std::int64_t test_batch = 256;
  std::int64_t limit = 0;  // examples to train on; 0: all
  std::int64_t test_limit = 0;
  bool shuffle = true;
  int workers = 1;                // threads that read ahead
  const Node* augment = nullptr;  // of train; may be null
  const Node* text = nullptr;     // how to turn texts into ids; may be null
  bool bucket = false;            // batches of examples of similar length
  // If above 0: batches of at most this many packed rows, instead of `batch` examples.
  std::int64_t batch_tokens = 0;
  const Node* input = nullptr;  // a column or a list of them; null: automatic
  std::string target;           // column; empty: automatic
};

// [train]
struct TrainSettings {
  const Node* loss = nullptr;
  const Node* metrics = nullptr;     // may be null
  const Node* optimizer = nullptr;   // may be null
  const Node* schedule = nullptr;    // may be null
  const Node* clip = nullptr;        // may be null
  const Node* average = nullptr;     // may be null
  const Node* parameters = nullptr;  // may be null
  int accumulate = 1;
  double l1 = 0, l2 = 0;
  int epochs = 1;
  std::int64_t max_steps = 0;  // 0: no limit
  std::uint64_t seed = 1;
  std::string precision_name = "f32";
  std::int64_t evaluate_every = 0;  // steps; 0: after epochs only
  const Node* early = nullptr;      // early_stopping; may be null
};

// [output]
struct OutputSettings {
  std::string directory;
  std::string run;  // empty: no run folder
  std::int64_t log_every = 10;
  std::int64_t histograms_every = 0;  // epochs; 0: none
};

// [checkpoint] and early_stopping as in the file: `goal` is "min", "max" or empty.
struct CheckpointTable {
  CheckpointOptions options;
  std::string best, goal;
};
struct EarlyStoppingTable {
  EarlyStopping options;
  std::string metric = "loss", goal;
};

// The whole job, syntactically checked. Points into the tree of the job file.
struct Settings : TrainSettings {
  DataSettings data;
  const Node* model = nullptr;
  Precision precision = Precision::f32;
  EarlyStopping early_stopping;
  CheckpointOptions checkpoint;
  OutputSettings output;
  Distribution distribution;
};

Settings read_settings(const Node& root);

// Opens a data set as a job names it: text, { csv = "file", ... } or { images = "file", labels =
// "file" }, or a list of these, which are joined. Sets `encoding`, unless it is null, to how a CSV
// file is read (SaveOptions::table). CSV files of a list are read as the first one is.
data::Dataset open_dataset(const Node& node, const std::string& directory,
                           std::string* encoding = nullptr);

// Returns whether the data are texts: a corpus by name, "sentence_polarity/train" or "pairs.tsv", a
// table { texts = "pairs.tsv", fields = ["source", "target"] }, or a list that begins with one.
bool is_text(const Node& node);
// Files are relative to `directory`.
data::Corpus open_corpus(const Node& node, const std::string& directory);
// Returns the path of a file; `path` may be relative to `directory`.
std::string path_in(const std::string& directory, const std::string& path);

// Applies [data] filter, a table or a list of them: keeps the examples that fit all. Reads the
// columns of the whole data set. Errors: data.
data::Dataset filtered(data::Dataset dataset, const Node& filter);
// Applies [data] sample; `target` is the column that is predicted. Errors: data.
data::Dataset sampled(const data::Dataset& dataset, const DataSettings& settings,
                      const std::string& target, std::uint64_t seed);

// Applies the list [data] augment to a data set of images.
data::Dataset augmented(data::Dataset dataset, const Node& list, std::uint64_t seed);

// The columns that are fed and predicted.
struct Columns {
  std::vector<data::Column> inputs;  // at least one
  data::Column target;
  std::int64_t classes = 0;             // with names in the data, or of ids
  std::vector<std::string> names = {};  // of the classes
  // Ragged columns whose sequences have the lengths of an earlier input and share its rows. A
  // ragged target always does.
  std::map<std::string, std::string> rows_of = {};
};
// `many`: all columns but the target are inputs, unless the job names them. Errors: data.
Columns choose_columns(const data::Dataset& dataset, const DataSettings& settings, bool many,
                       const Node& where);

// Returns how the sequences of two ragged columns differ in the first examples: "example 3 has 5
// rows of \"tags\" and 7 of \"words\""; empty if they do not.
std::string difference_of(const data::Dataset& dataset, const std::string& column,
                          const std::string& other);
// Checks in each batch that the column has the sequences of the other column. Errors when read:
// data.
data::Dataset check_structure(const data::Dataset& dataset,
                              const std::map<std::string, std::string>& rows_of);

// Checks in each batch that labels are in [0, classes). Errors when read: data.
data::Dataset check_labels(const data::Dataset& dataset, const std::string& column,
                           std::int64_t classes);

}  // namespace trireme::job
