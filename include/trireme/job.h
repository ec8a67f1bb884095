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

// What the command line may change in a job.
struct JobOptions {
  std::vector<std::string> set = {};       // "train.epochs=2"; the value as in TOML
  std::optional<std::uint64_t> seed = {};  // instead of [train] seed
  std::string output = {};                 // instead of [output] directory
  std::string run = {};                    // instead of [output] run
  int threads = 0;
  bool trace_nan = false;  // these as in TrainerOptions
  bool plan_memory = true;
  bool fuse = true;
  bool interpreter = false;
  // That share the steps of an epoch, each taking its part: schedules then run over as many steps as one takes.
  int processes = 1;
  // Called with the Program, the loss being there but no gradients, and what the Trainer will be made with.
  std::function<void(Program&, TrainerOptions&)> extend = {};
};

// [distributed]: how several processes train the job together. Training in one process does not look at it.
struct Distribution {
  enum class Mode : std::uint8_t { all_reduce, synchronous, asynchronous, geo };
  Mode mode = Mode::all_reduce;
  std::int64_t task_batches = 16;  // batches of a task
  // Asynchronous: by how many steps a process may be ahead of the slowest one that has work; 0: by any number.
  std::int64_t staleness = 0;
  // Asynchronous and geo: rows that the next step reads are asked for while this one is computed, and are one step older then.
  bool prefetch = false;
  // Of tables on parameter servers:
  std::int64_t admission = 1;
  std::int64_t memory_limit =
      0;  // bytes of a table in memory at each server; 0: none. The other rows are on disk:
  std::string cold_rows =
      {};  // in folders below this one, best on a disk of the server's own; empty: OUTPUT-cold-rows
  bool float16 = false;
  // Rows that are not worth their place go, at every tick of the job. Shows of a row are the times that an example that is
  // learned has looked it up; of clicks, those of examples that were one.
  struct Eviction {
    std::int64_t unused_for =
        0;  // rows not looked up in so many ticks, to 65,534; 0: whatever their age
    // Rows with show_weight * shows + click_weight * clicks below this; 0: whatever their score.
    double below = 0;
    double show_weight = 1, click_weight = 0;
    double decay = 1;  // shows and clicks are multiplied by it at every tick
    std::string clicks =
        {};  // the Program's input with a number for each example: 1 for a click, else 0
    std::int64_t tick_tasks = 0;  // a tick is so many tasks that were ended; 0: an epoch
  };
  Eviction eviction = {};
  // Of all that is learned: a checkpoint so many seconds after the one before, in the folder OUTPUT-checkpoints; 0: none.
  double checkpoint_seconds = 60;
  std::int64_t checkpoint_keep = 2;  // full ones, each with the changes since
  bool resume = false;               // goes on with the newest of them
  // Of modes with servers: what a checkpoint has, for serving, in the folder OUTPUT-exports (docs/how-to/distributed-training.md, "Export for serving"): with
  // the first checkpoint so many seconds after the export before, and with the last one; 0: none.
  double export_seconds = 0;
  std::int64_t export_deltas = 24;  // exports of what changed, from one of all rows to the next
};

// A training run described by a TOML file: docs/reference/job.md lists all keys. Reading checks form and
// keys; data are opened and the Program is built when they are first asked for.
// Errors of all functions: data, naming the file's line, where the job is wrong; usage, where the
// network it describes is; what readers of data throw.
class TRIREME_API Job {
 public:
  static Job read(const std::string& path, const JobOptions& options = {});
  static Job parse(std::string_view text, const std::string& name, const JobOptions& options = {});
  Job(Job&&) noexcept;
  Job& operator=(Job&&) noexcept;
  ~Job();

  const std::string& name() const;              // the file's name without .toml
  const std::string& output_directory() const;  // where to save
  int epochs() const;
  std::int64_t max_steps() const;  // 0: as many as the epochs have
  // How the job wants to be trained: epochs, validation, checkpoints, run folder, early stopping.
  FitOptions fit_options();

  Distribution distribution() const;
  // For training by many processes. Gives what the job says that these have no use for, though results are the same:
  // "train.evaluate_every (job.toml:12)". Errors: data, naming the line of what they cannot keep to, such as early stopping.
  std::vector<std::string> check_distributed() const;
  Optimizer optimizer();  // of [train], its schedule in steps of this process alone
  bool averages() const;  // [train] has an average: what is to be tested and saved

  const data::Batches& train_data();
  const data::Batches* validation_data();  // these two are null if the job names none
  const data::Batches* test_data();

  Program& program();  // with gradients and updates once trainer() was called
  Trainer& trainer();
  Value output();            // what is predicted: probabilities, or numbers
  bool classifies();         // the loss is cross entropy
  std::string input_name();  // the first, where the model takes many columns
  std::string target_name();
  SaveOptions save_options();

  // "digits: 4 layers, 421,642 parameters, 27 kernels (27 cached), arena 3.1 MB at batch 64".
  // Compiles the training step.
  std::string summary();

 private:
  struct State;
  explicit Job(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What the job that trained a saved model measured, on other data: "loss" ("mse" where that is the loss),
// "accuracy" and "confusion" or "mse", and [train] metrics. Of a model that was saved without saying what
// (SaveOptions::measured): accuracy and confusion where the target is an integer and the output a score for
// each class, else mse.
// Errors: data, if the model does not say its target, or the data do not fit it.
TRIREME_API Metrics evaluate(Model& model, const data::Batches& batches);

// A data set by what a job or command line calls it: a known one ("fashion_mnist/test"), a file
// ("prices.csv", "rows.libsvm", "mine.trec") or a folder of pictures, sought in `directory` if its
// name is relative. Errors: usage, not_found, data.
TRIREME_API data::Dataset open_data(const std::string& specification,
                                    const std::string& directory = "");

// The same for a saved model: where that takes texts, also a corpus ("sentence_polarity/test"), its texts as ids of
// the model's vocabulary and its labels as the model numbers them.
TRIREME_API data::Dataset open_data(const std::string& specification, const Model& model);

}  // namespace trireme
