#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "session/checkpoint.h"
#include "session/metric_sum.h"
#include "session/nan_trace.h"
#include "trireme/trainer.h"

namespace trireme {

// A batch without the columns that are no inputs.
struct Fed {
  data::Batch feeds;
  std::int64_t examples = 0;
};

// While it lives, runs of the session take no random numbers from those that follow.
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

// What a Trainer consists of: a Program with updates, its Session, and how far training is. A Fit
// drives it.
struct Training {
  Training(Program& program, TrainerOptions options);

  std::optional<Fed> next(data::BatchStream& stream) const;  // empty at the end
  Fed fed(data::Batch batch) const;                          // without columns that are no inputs
  // One training step; adds to `sum` and counts. Gives the loss. Errors: numeric.
  double step(const Fed& batch);
  Metrics evaluate(const data::Batches& batches);
  double learning_rate(std::int64_t step) const;  // of the update that step `step` is part of
  // Lowers the learning rate if it follows a metric that has not become better.
  void report_to_plateau(const Metrics& seen);
  // The numbers of the last step, the loss first.
  std::vector<std::pair<std::string, double>> last_numbers() const;

  CheckpointState checkpoint();
  // Errors: data, if the checkpoint is of another model; then nothing has changed.
  void restore(const CheckpointState& state);

  Program* program;
  TrainerOptions options;
  std::vector<Metric> all_metrics;  // the loss first
  // The means among them: cheap enough for every step, and a checkpoint keeps one number of each.
  std::vector<Metric> training_metrics;
  std::vector<Value> training_fetches;
  std::unique_ptr<Session> session;
  std::unique_ptr<NanTrace> trace;

  std::optional<Plateau> plateau;  // of the learning rate
  std::weak_ptr<void> averaged;    // lives while the parameters hold their averages

  Progression at;
  std::optional<MetricSum> sum;  // of the epoch that is read now, or of the last one
  std::vector<double> last_values;
  std::int64_t examples = 0, batch_size = 0;  // of the last fit's data
  bool resumed = false;  // the next fit goes on with the one that a checkpoint interrupted

 private:
  [[noreturn]] void fail_not_finite(double loss);
  void check_plateau() const;
  void check_same_model(const CheckpointState& state) const;

  std::string program_hash_;
};

}  // namespace trireme
