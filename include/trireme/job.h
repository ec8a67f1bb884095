#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/data.h"
#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/saved_model.h"
#include "trireme/trainer.h"

namespace trireme {

// Changes to a job by the command line.
struct JobOptions {
  std::vector<std::string> set = {};       // "train.epochs=2"; the value as in TOML
  std::optional<std::uint64_t> seed = {};  // replaces [train] seed
  std::string output = {};                 // replaces [output] directory
  std::string run = {};                    // replaces [output] run
  int threads = 0;
  bool trace_nan = false;  // these are as in TrainerOptions
  bool plan_memory = true;
  bool fuse = true;
  bool interpreter = false;
  // The number of processes that share the steps of an epoch. Schedules use the steps of one
  // process.
  int processes = 1;
  // Called with the Program, which has the loss but no gradients, and the options of the Trainer.
  std::function<void(Program&, TrainerOptions&)> extend = {};
};

// [distributed]: how several processes train the job together. Training in one process ignores it.
struct Distribution {
  enum class Mode : std::uint8_t { all_reduce, synchronous, asynchronous, geo };
  Mode mode = Mode::all_reduce;
  std::int64_t task_batches = 16;  // batches of a task
  // Asynchronous: the most steps by which a process may be ahead of the slowest one that has work;
  // 0: no limit.
  std::int64_t staleness = 0;
  // Asynchronous and geo: requests the rows of the next step during the present one. They are then
  // one step older.
  bool prefetch = false;
  // For tables on parameter servers:
  std::int64_t admission = 1;
  // Bytes of a table in memory at each server; 0: no limit. Other rows are on disk, in folders
  // below cold_rows, best on a local disk of the server; empty: OUTPUT-cold-rows.
  std::int64_t memory_limit = 0;
  std::string cold_rows = {};
  bool float16 = false;
  // Removes rows at every tick of the job. The shows of a row are its lookups by trained examples;
  // its clicks are the lookups by examples with a click.
  struct Eviction {
    // Removes rows without a lookup for this many ticks, at most 65,534; 0: at any age.
    std::int64_t unused_for = 0;
    // Removes rows with show_weight * shows + click_weight * clicks below this; 0: with any score.
    double below = 0;
    double show_weight = 1, click_weight = 0;
    double decay = 1;  // factor of shows and clicks at every tick
    // The input of the Program with a number for each example: 1 for a click, otherwise 0.
    std::string clicks = {};
    std::int64_t tick_tasks = 0;  // a tick is this many completed tasks; 0: an epoch
  };
  Eviction eviction = {};
  // Seconds between two checkpoints of all parameters, in the folder OUTPUT-checkpoints; 0: none.
  double checkpoint_seconds = 60;
  std::int64_t checkpoint_keep = 2;  // full checkpoints to keep, each with the later changes
  bool resume = false;               // continues from the newest checkpoint
  // Modes with servers: exports for serving, in the folder OUTPUT-exports
  // (docs/how-to/distributed-training.md, "Export for serving"). Written with the first checkpoint
  // this many seconds after the previous export, and with the last checkpoint; 0: none.
  double export_seconds = 0;
  std::int64_t export_deltas = 24;  // exports of changes between two exports of all rows
};

// A training run that a TOML file describes: docs/reference/job.md lists all keys. Reading checks
// syntax and keys. Data are opened, and the Program is built, at their first use. Errors of all
// functions: data with the line of the file for mistakes in the job; usage for mistakes in its
// network; errors of data readers.
class TRIREME_API Job {
 public:
  static Job read(const std::string& path, const JobOptions& options = {});
  static Job parse(std::string_view text, const std::string& name, const JobOptions& options = {});
  Job(Job&&) noexcept;
  Job& operator=(Job&&) noexcept;
  ~Job();

  const std::string& name() const;              // the name of the file without .toml
  const std::string& output_directory() const;  // for saved models
  int epochs() const;
  std::int64_t max_steps() const;  // 0: the steps of all epochs
  // The training options of the job: epochs, validation, checkpoints, run folder, early stopping.
  FitOptions fit_options();

  Distribution distribution() const;
  // For training with many processes. Returns settings of the job that have no effect there:
  // "train.evaluate_every (job.toml:12)". Errors: data with the line for settings that are not
  // supported there, such as early stopping.
  std::vector<std::string> check_distributed() const;
  Optimizer optimizer();  // of [train]; its schedule counts steps of this process
  bool averages() const;  // averages of the parameters, which are tested and saved

  const data::Batches& train_data();
  const data::Batches* validation_data();  // this and the next are null if the job names none
  const data::Batches* test_data();

  Program& program();  // with gradients and updates after trainer()
  Trainer& trainer();
  Value output();            // the prediction: probabilities, or numbers
  bool classifies();         // the loss is cross entropy
  std::string input_name();  // the first one if the model takes many columns
  std::string target_name();
  SaveOptions save_options();

  // Returns the job as a TOML file with the defaults of all options and the changes of JobOptions.
  // It reads back as the same job.
  std::string resolved() const;

  // "digits: 4 layers, 421,642 parameters, 27 kernels (27 cached), arena 3.1 MB at batch 64".
  // Compiles the training step.
  std::string summary();

 private:
  struct State;
  explicit Job(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A training of train_job() that has ended.
struct JobResult {
  std::int64_t steps = 0;            // of the Trainer, with those before a resume
  double seconds = 0;                // of training
  bool stopped = false;              // by FitOptions::stop: nothing was tested and saved
  Metrics training = {};             // of the last epoch
  std::optional<Metrics> test = {};  // none without test data
};

// Trains a job as `trireme train` does: trains with `options`, usually those of job.fit_options(),
// measures the test data and saves the model. The last two use the averages of the parameters if
// the job keeps them. Errors: as Job, Trainer::fit and Trainer::save.
TRIREME_API JobResult train_job(Job& job, const FitOptions& options);

// All ops, layers, losses, optimizers, schedules and tables of jobs with their options, as JSON:
// docs/reference/catalog.md has the format.
TRIREME_API std::string catalog_json();
// The JSON Schema (draft 2020-12) of job files, for editors.
TRIREME_API std::string job_schema_json();

struct SuggestOptions {
  std::string target = {};       // the column of a CSV file to predict; empty: a guess
  std::string directory = {};    // of the job file; empty: the working directory
  std::string output = "model";  // [output] directory
};

// Returns the text of a job file, with comments, for a first model of `data`: a CSV file, a folder
// with train.csv and perhaps test.csv, a TSV file with a text and a label in each line, or a folder
// of pictures with a subfolder for each class, perhaps below train/ and test/. Reads the whole
// file, or 32 pictures. Errors: not_found; usage for other data or a wrong target; data if no model
// can be trained on them.
TRIREME_API std::string suggest_job(const std::string& data, const SuggestOptions& options = {});

// Measures a saved model on other data with the metrics of its job: "loss" ("mse" if that is the
// loss), "accuracy" and "confusion" or "mse", and [train] metrics. For a model that was saved
// without them (SaveOptions::measured): accuracy and confusion if the target is an integer and the
// output has a score for each class, otherwise mse. Errors: data if the model does not name its
// target, or the data do not match.
TRIREME_API Metrics evaluate(Model& model, const data::Batches& batches);

// Opens a data set by the name in a job or on the command line: a known one ("fashion_mnist/test"),
// a file ("prices.csv", "rows.libsvm", "mine.trec") or a folder of images. Relative names are
// relative to `directory`. Errors: usage, not_found, data.
TRIREME_API data::Dataset open_data(const std::string& specification,
                                    const std::string& directory = "");

// The same for a saved model. If it takes texts, also opens a corpus ("sentence_polarity/test"):
// its texts become ids of the vocabulary of the model, and its labels the numbers of the model. If
// it was trained on a CSV file, reads another one in the same way: with the same columns, found by
// name, and with the words, means and deviations of the training data.
TRIREME_API data::Dataset open_data(const std::string& specification, const Model& model);
// The same, but a CSV file needs no column with the target.
TRIREME_API data::Dataset open_inputs(const std::string& specification, const Model& model);

}  // namespace trireme
