#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/callback.h"
#include "trireme/checkpoint.h"
#include "trireme/data.h"
#include "trireme/deprecated.h"
#include "trireme/export.h"
#include "trireme/gradients.h"
#include "trireme/metrics.h"
#include "trireme/optimizer.h"
#include "trireme/program.h"
#include "trireme/saved_model.h"
#include "trireme/session.h"

namespace trireme {

struct ParameterGradient {
  Value parameter;
  nn::Gradient gradient;
};
// A function that may replace the gradients before the optimizer uses them, for example with their
// sum over several processes. It may also remove parameters, which then stay unchanged.
using ExchangeGradients = std::function<void(std::vector<ParameterGradient>&)>;

// Appends the gradients of the loss with respect to all trainable parameters, or those that
// UpdateOptions::parameters chooses, and the optimizer's updates, to the loss's Program. A run with
// RunOptions::updates is then one training step.
//
// Several calls with different UpdateOptions::name make several sets of updates, each with its own
// optimizer and state: RunOptions::update selects the sets of a run. All gradients of a run use the
// parameters as they are before it. If two sets of a run change one parameter, they do so in the
// order of the calls.
// Errors: usage, if the loss is not a float scalar, no parameter is trainable, a pattern of
// `parameters` matches none, or the Program has updates of that name already.
TRIREME_API void minimize(Value loss, const Optimizer& optimizer, const UpdateOptions& options = {},
                          const ExchangeGradients& exchange = {},
                          SourceLocation where = SourceLocation::current());

// The parameters that a minimize() of that name changes, and their gradients as its optimizer gets
// them: after `exchange`, before accumulation, clipping and penalties. To fetch them or to compute
// with them.
// Errors: usage, if there are no such updates, or the Program was parsed from text.
[[nodiscard]] TRIREME_API std::vector<ParameterGradient> gradients_of_updates(
    const Program& program, std::string_view name = "");

// Reports a measurement of the plateau's metric; the Trainer calls it after every epoch. The next
// step of the updates `name` uses the resulting learning rate.
// Errors: not_found, if minimize() got no such schedule.
TRIREME_API void report_to_plateau(Session& session, const Plateau& plateau, double measured,
                                   std::string_view name = "");

// While this object exists, the parameters of a Session hold their averages
// (UpdateOptions::average), for evaluating and saving; frozen parameters (Session::freeze()) hold
// their own values. Its destructor restores them. Do not train meanwhile. The Session must outlive
// it. Before the first update there are no averages, and nothing changes.
class TRIREME_API AveragedParameters {
 public:
  // Errors: usage, if the Program keeps no averages.
  [[nodiscard]] AveragedParameters(const Program& program, Session& session);

 private:
  friend class Trainer;
  AveragedParameters() = default;
  std::shared_ptr<void> swapped_;  // its deleter restores the parameters
};

struct TrainerOptions {
  Value loss = {};  // a scalar, the mean over the batch
  Optimizer optimizer = {};
  UpdateOptions updates = {};       // gradient accumulation, averages, l1 and l2
  ExchangeGradients exchange = {};  // for several processes; empty: none
  DeprecatedOption<HostFunctions, "host", "session.host"> host = {};
  // Training measures only means: docs/how-to/training.md
  std::vector<Metric> metrics = {};
  // Threads, seed, precision and more. Precision f16 is refused.
  SessionOptions session = {};
  // The old names of options of the session.
  DeprecatedOption<int, "threads", "session.threads"> threads = {};
  DeprecatedOption<std::uint64_t, "seed", "session.seed"> seed = {};
  DeprecatedOption<Precision, "precision", "session.precision"> precision = {};
  // Training stops with Error(numeric) when the loss is NaN or infinite. With trace_nan the error
  // also names the first layer with NaN or infinity. It costs a copy of all parameters in every
  // step.
  bool trace_nan = false;
  DeprecatedOption<bool, "plan_memory", "session.plan_memory"> plan_memory = {};
  DeprecatedOption<bool, "fuse", "session.fuse"> fuse = {};
  DeprecatedOption<bool, "interpreter", "session.interpreter"> interpreter = {};
};

struct FitOptions {
  int epochs = 1;
  std::int64_t max_steps = 0;  // stop after this many steps; 0: no limit
  // Prints progress to stdout: an updated line on a terminal, else a line per epoch and one every
  // ten seconds.
  bool progress = true;
  const data::Batches* validation = nullptr;  // evaluated after every epoch
  std::int64_t evaluate_every = 0;            // also after this many steps; 0: off
  EarlyStopping early_stopping = {};
  CheckpointOptions checkpoint = {};
  // The run folder: metrics.jsonl, TensorBoard events, checkpoints (docs/reference/run-folder.md).
  // Empty: none.
  std::string run = {};
  std::int64_t log_every = 10;  // steps between two lines in the run folder
  // Continues from the newest intact checkpoint of the run, if there is one: see Trainer::resume().
  // If false, a run folder with checkpoints is refused.
  bool resume = false;

  // Objects that follow the training, such as a History; docs/how-to/training.md has their order
  // and an example. Null pointers are skipped.
  std::vector<std::shared_ptr<Callback>> callbacks = {};
  // The same events as functions.
  std::function<bool(const EpochReport&)> after_epoch = {};  // returning false stops training
  std::function<void(std::int64_t step, double loss)> after_step = {};  // steps of this fit, from 1
  std::function<void(std::int64_t step, const Metrics&)> after_evaluation = {};
  // Called after every step, for signals and similar: true stops fit after a last checkpoint.
  std::function<bool()> stop = {};
};

// Trains, evaluates and saves one Program. Each data column is fed to the input of the same name;
// columns without an input are ignored.
class TRIREME_API Trainer {
 public:
  // Adds gradients and updates to the Program, and shares it.
  // If the Program has updates of other names (UpdateOptions::name), steps run only the Trainer's.
  // Errors: usage, for invalid options, and a Program that has updates of that name already.
  Trainer(Program& program, TrainerOptions options,
          SourceLocation where = SourceLocation::current());
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  // Runs one step on one batch, for training loops of your own. Returns the loss.
  // Errors: numeric, as trace_nan says.
  double step(const data::Batch& batch);
  // Trains and returns the metrics of the last epoch. A second fit continues with a new epoch.
  // Errors: numeric, as trace_nan says; usage, if the run folder is in use by another process, or
  // has checkpoints and .resume is false; io; as resume(); any exception of the data's reader.
  Metrics fit(const data::Batches& batches, const FitOptions& options = {});
  Metrics evaluate(const data::Batches& batches);  // "loss" and all metrics; changes no state
  // The value for all examples, concatenated along axis 0.
  // Errors: usage, if axis 0 is not the batch.
  Tensor predict(const data::Batches& batches, Value value);
  // The same for rows of sequences, such as tags of words: sequence i of level 0 belongs to example
  // i.
  // Errors: usage, if the value has no such rows.
  RaggedTensor predict_ragged(const data::Batches& batches, Value value);

  // See AveragedParameters; fit() refuses to run while the result exists.
  [[nodiscard]] AveragedParameters averaged();

  void save(const std::string& directory, const SaveOptions& options);

  // Saves all state that training depends on: parameters, optimizer state, counters, position in
  // the data (docs/reference/formats/checkpoint.md). Atomic: either the whole checkpoint exists or
  // nothing.
  // Errors: io; usage, for a folder that holds something else.
  void save_checkpoint(const std::string& directory);
  // Restores a checkpoint, or the newest intact one of a folder of checkpoints or of a run folder.
  // Damaged ones are skipped with a warning. The next fit then continues the interrupted fit at the
  // same batch and ends with the same bits as without the interruption, if it gets the same data
  // and options.
  // Errors: data, if the checkpoint is damaged, belongs to another Program or seed, or has a newer
  // format; not_found; io.
  void resume(const std::string& directory);
  Session& session();
  std::int64_t steps() const;                   // training steps of all fits
  std::vector<Value> training_fetches() const;  // values fetched in every step: the loss first

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme
