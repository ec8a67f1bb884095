#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "session/metrics/sum.h"
#include "session/train/checkpoint.h"
#include "session/train/nan_trace.h"
#include "trireme/trainer.h"

namespace trireme {

// A batch with only the columns that are inputs.
struct Fed {
  data::Batch feeds;
  std::int64_t examples = 0;
  std::vector<std::string> left_out = {};  // columns that are no inputs
};

// During its lifetime, runs of the session do not advance the random numbers of later runs.
class Undisturbed {
 public:
  explicit Undisturbed(Session& session) : session_(session), step_(session.step()) {}
  ~Undisturbed() { session_.set_step(step_); }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  Session& session_;
  std::uint64_t step_;
};

// Moves options with an old name to the member with the new one. Errors: usage if both are set.
void use_new_names(TrainerOptions& options);

// The parts of a Trainer: a Program with updates, its Session, and the progress of training. A Fit
// runs it.
struct Training {
  Training(const Program& program, TrainerOptions options, const SourceLocation& where);

  std::optional<Fed> next(data::BatchStream& stream) const;  // empty at the end
  Fed fed(data::Batch batch) const;                          // only columns that are inputs
  // Runs one training step, adds to `sum` and counts. Returns the loss. Errors: numeric.
  double step(const Fed& batch);
  Metrics evaluate(const data::Batches& batches);
  double learning_rate(std::int64_t step) const;  // of the update that step `step` is part of
  RunOptions mode() const;                        // of a training step
  // Lowers the learning rate if it follows a metric that has not improved.
  void report_to_plateau(const Metrics& seen);
  // The metrics of the last step, the loss first.
  std::vector<std::pair<std::string, double>> last_numbers() const;

  CheckpointState checkpoint();
  // Errors: data if the checkpoint is of another model; then nothing has changed.
  void restore(const CheckpointState& state);

  Program program;  // shares the Program of the constructor
  TrainerOptions options;
  std::vector<Metric> all_metrics;  // the loss first
  // The means among them: cheap enough for every step, and a checkpoint has one number of each.
  std::vector<Metric> training_metrics;
  std::vector<Value> training_fetches;
  std::unique_ptr<Session> session;
  std::unique_ptr<NanTrace> trace;

  std::optional<Plateau> plateau;  // of the learning rate
  std::weak_ptr<void> averaged;    // alive while the parameters contain their averages

  Progression at;
  std::optional<MetricSum> sum;  // of the current epoch, or of the last one
  std::vector<double> last_values;
  std::int64_t examples = 0, batch_size = 0;  // of the data of the last fit
  bool resumed = false;                       // the next fit continues the one of a checkpoint

 private:
  std::vector<Tensor> run(const Fed& batch, const std::vector<Value>& fetches, RunOptions mode);
  [[noreturn]] void fail_not_finite(const std::string& number);
  void check_plateau() const;
  void check_same_model(const CheckpointState& state) const;

  std::string program_hash_;
};

}  // namespace trireme
