#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trireme/checkpoint.h"
#include "trireme/data.h"
#include "trireme/export.h"
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
// What is to become of the gradients before the optimizer sees them, such as their sum over several processes: it may
// replace them by what it makes of them, and take parameters out, which then stay as they are.
using ExchangeGradients = std::function<void(std::vector<ParameterGradient>&)>;

// Appends to the loss's Program its gradients by all trainable parameters and the optimizer's
// updates: a run with RunOptions::updates then is one training step. Call it once.
// Errors: usage, if the loss is no float scalar or there is no parameter to train.
TRIREME_API void minimize(Value loss, const Optimizer& optimizer, const UpdateOptions& options = {},
                          const ExchangeGradients& exchange = {});

// Tells what was measured of the plateau's metric: what the Trainer does after every epoch. The next
// step has the learning rate that follows. Errors: not_found, if minimize() was given no such
// schedule.
TRIREME_API void report_to_plateau(Session& session, const Plateau& plateau, double measured);

// While it lives, the parameters of a Session hold their averages (UpdateOptions::average), for
// evaluating and saving; then they are as they were. Do not train meanwhile. The Session must outlive
// it. Before the first update there are no averages, and nothing changes.
class TRIREME_API AveragedParameters {
 public:
  // Errors: usage, if the Program keeps no averages.
  AveragedParameters(const Program& program, Session& session);

 private:
  friend class Trainer;
  AveragedParameters() = default;
  std::shared_ptr<void> swapped_;  // its end swaps back
};

struct TrainerOptions {
  Value loss = {};  // a scalar, the mean over the batch
  Optimizer optimizer = {};
  UpdateOptions updates = {};       // accumulation of gradients, averages, l1 and l2
  ExchangeGradients exchange = {};  // of several processes; empty: none
  HostFunctions host = {};          // as in SessionOptions
  std::vector<Metric> metrics =
      {};  // training measures the means among them: docs/how-to/training.md
  int threads = 0;
  std::uint64_t seed = 1;
  Precision precision = Precision::f32;  // of what is stored between kernels; f16 is refused
  // Training stops with Error(numeric) when the loss is NaN or infinite. With trace_nan the error
  // also names the layer that first made it; that costs a copy of all parameters in every step.
  bool trace_nan = false;
  bool plan_memory = true;  // these three as in SessionOptions
  bool fuse = true;
  bool interpreter = false;
};

// How training stands after an epoch.
struct EpochReport {
  int epoch = 0;  // from 1
  int epochs = 0;
  Metrics training;    // means over the epoch, while the parameters changed; nothing else
  Metrics validation;  // empty without validation data
  double seconds = 0;  // of training, without validation
};

struct FitOptions {
  int epochs = 1;
  std::int64_t max_steps = 0;  // stop after so many; 0: no bound
  // A moving line on a terminal, else a line per epoch and one every ten seconds; on stdout.
  bool progress = true;
  const data::Batches* validation = nullptr;  // measured after every epoch
  std::int64_t evaluate_every = 0;            // and after so many steps; 0: not
  EarlyStopping early_stopping = {};
  CheckpointOptions checkpoint = {};
  // A folder for what can be watched: metrics.jsonl, TensorBoard events, checkpoints
  // (docs/reference/run-folder.md). Empty: none.
  std::string run = {};
  std::int64_t log_every = 10;  // steps between two lines of the run folder
  // Goes on from the newest whole checkpoint of the run, if it has any: see Trainer::resume().
  // Without it a run folder that holds checkpoints is refused.
  bool resume = false;

  // Callbacks; docs/how-to/training.md has their order and an example.
  std::function<bool(const EpochReport&)> after_epoch = {};             // false stops
  std::function<void(std::int64_t step, double loss)> after_step = {};  // steps of this fit, from 1
  std::function<void(std::int64_t step, const Metrics&)> after_evaluation = {};
  // Asked after every step, for signals and the like: true ends fit after a last checkpoint.
  std::function<bool()> stop = {};
};

// Trains, measures and saves one Program. Data columns are fed to the inputs of the same name;
// columns that are no inputs are ignored.
class TRIREME_API Trainer {
 public:
  // Adds gradients and updates to the Program, which must outlive the Trainer.
  Trainer(Program& program, TrainerOptions options);
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  // One step on one batch, for loops of one's own; gives the loss. Errors: numeric, as trace_nan says.
  double step(const data::Batch& batch);
  // Gives what was measured in the last epoch. A second fit goes on with a new epoch.
  // Errors: numeric, as trace_nan says; usage, for a run folder in use by another process or with
  // checkpoints and no .resume; io; as resume(); whatever the data's reader throws.
  Metrics fit(const data::Batches& batches, const FitOptions& options = {});
  Metrics evaluate(const data::Batches& batches);  // "loss" and all metrics; changes nothing
  // The value for all examples, joined along axis 0. Errors: usage, if axis 0 is not the batch.
  Tensor predict(const data::Batches& batches, Value value);
  // The same for rows of sequences, such as tags of words: sequence i of level 0 is that of example i.
  // Errors: usage, if the value has no such rows.
  RaggedTensor predict_ragged(const data::Batches& batches, Value value);

  // As AveragedParameters; fit() refuses to run meanwhile.
  AveragedParameters averaged();

  void save(const std::string& directory, const SaveOptions& options);

  // All that training depends on: parameters with the optimizer's state, counters, place in the data
  // (docs/reference/formats/checkpoint.md). Written in one step: a checkpoint is there whole or not at all.
  // Errors: io; usage, for a folder that holds something else.
  void save_checkpoint(const std::string& directory);
  // Goes back to a checkpoint, or to the newest whole one of a folder of them or of a run folder;
  // those that are damaged are passed over with a warning. The next fit then goes on with the fit
  // that was interrupted, at the very batch, and ends bit for bit as it would have ended: give it
  // the same data and options.
  // Errors: data, if it is damaged, of another Program or seed, or of a newer format; not_found; io.
  void resume(const std::string& directory);
  Session& session();
  std::int64_t steps() const;                   // of training, in all fits
  std::vector<Value> training_fetches() const;  // what every step fetches: the loss first

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme
