#include "trireme/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "ir/program.h"
#include "session/metric_sum.h"
#include "session/nan_trace.h"
#include "session/progress.h"

namespace trireme {
namespace {

std::vector<Value> values_of(const std::vector<Metric>& metrics) {
  std::vector<Value> values;
  for (const Metric& metric : metrics) values.push_back(metric.value);
  return values;
}

std::int64_t examples_in(const data::Batch& batch) {
  return batch.empty() ? 0 : batch.begin()->second.dim(0);
}

}  // namespace

struct Trainer::State {
  State(Program& program, TrainerOptions options);

  void check_plateau() const;
  std::optional<data::Batch> next(data::BatchStream& stream) const;
  double step(const data::Batch& batch, std::int64_t examples, MetricSum& sum);
  [[noreturn]] void fail_not_finite(double loss);
  Metrics epoch(const data::Batches& batches, const FitOptions& options, Progress& progress);
  Metrics evaluate(const data::Batches& batches);

  Program* program;
  TrainerOptions options;
  std::vector<Metric> all_metrics;       // the loss first
  std::vector<Metric> training_metrics;  // those of one number: cheap enough for every step
  std::vector<Value> training_fetches;
  std::unique_ptr<Session> session;
  std::unique_ptr<NanTrace> trace;
  std::optional<Plateau> plateau;  // of the learning rate
  std::weak_ptr<void> averaged;    // lives while the parameters hold their averages
  std::int64_t epochs_done = 0;
  std::int64_t steps_of_fit = 0;
};

Trainer::State::State(Program& program_in, TrainerOptions options_in)
    : program(&program_in), options(std::move(options_in)) {
  if (!options.loss) fail_usage("Trainer: .loss is not set");
  if (options.loss.get()->program != &program->ir()) {
    fail_usage("Trainer: .loss belongs to another Program");
  }
  minimize(options.loss, options.optimizer, options.updates);
  plateau =
      std::visit([](const auto& rule) { return rule.learning_rate.plateau; }, options.optimizer);
  all_metrics.push_back({"loss", options.loss});
  for (const Metric& metric : options.metrics) all_metrics.push_back(metric);
  for (const Metric& metric : all_metrics) {
    if (metric.combine == Metric::Combine::mean) training_metrics.push_back(metric);
  }
  if (plateau) check_plateau();
  training_fetches = values_of(training_metrics);
  session = std::make_unique<Session>(*program, SessionOptions{.threads = options.threads,
                                                               .seed = options.seed,
                                                               .plan_memory = options.plan_memory,
                                                               .fuse = options.fuse,
                                                               .interpreter = options.interpreter});
  if (options.trace_nan) trace = std::make_unique<NanTrace>(*program, *session);
}

void Trainer::State::check_plateau() const {
  std::vector<std::string> names;
  for (const Metric& metric : training_metrics) names.push_back(metric.name);
  if (std::find(names.begin(), names.end(), plateau->metric) != names.end()) return;
  fail_usage(fmt::format("Trainer: the learning rate depends on metric \"{}\"; there are {}",
                         plateau->metric, fmt::join(names, ", ")));
}

// The next batch without columns that are no inputs; empty at the end.
std::optional<data::Batch> Trainer::State::next(data::BatchStream& stream) const {
  std::optional<data::Batch> batch = stream.next();
  if (!batch) return batch;
  std::erase_if(*batch, [this](const auto& column) {
    for (const auto& input : program->ir().main().arguments) {
      if (input->name == column.first) return false;
    }
    return true;
  });
  return batch;
}

void Trainer::State::fail_not_finite(double loss) {
  const std::string what =
      fmt::format("the loss is {} in step {} of epoch {}", loss, steps_of_fit, epochs_done + 1);
  if (trace == nullptr) {
    fail(ErrorKind::numeric,
         what +
             "\n  hint   lower the learning rate or clip the gradient; with trace_nan "
             "(--trace-nan) the layer that first made it is named");
  }
  try {
    trace->find(training_fetches);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric) throw;
    fail(ErrorKind::numeric, what + "\n  first  " + error.what());
  }
  fail(ErrorKind::numeric, what + "; no layer made it anew, so it was in the data or parameters");
}

double Trainer::State::step(const data::Batch& batch, std::int64_t examples, MetricSum& sum) {
  if (trace != nullptr) trace->before_step(batch);
  const std::vector<Tensor> values =
      session->run(batch, training_fetches, {.training = true, .updates = true});
  ++steps_of_fit;
  const double loss = values[0].dtype() == f64 ? values[0].item<double>() : values[0].item<float>();
  if (!std::isfinite(loss)) fail_not_finite(loss);
  sum.add(values, examples);
  return loss;
}

Metrics Trainer::State::epoch(const data::Batches& batches, const FitOptions& fit_options,
                              Progress& progress) {
  MetricSum sum(training_metrics);
  data::BatchStream stream = batches.epoch(epochs_done);
  std::int64_t steps = 0;
  while (std::optional<data::Batch> batch = next(stream)) {
    const double loss = step(*batch, examples_in(*batch), sum);
    ++steps;
    if (fit_options.after_step) fit_options.after_step(steps_of_fit, loss);
    progress.step(steps, sum.examples(), [&] { return sum.result().str(); });
    if (fit_options.max_steps > 0 && steps_of_fit >= fit_options.max_steps) break;
  }
  ++epochs_done;
  return sum.result();
}

Metrics Trainer::State::evaluate(const data::Batches& batches) {
  MetricSum sum(all_metrics);
  const std::vector<Value> fetches = values_of(all_metrics);
  data::BatchStream stream = batches.epoch(0);
  while (std::optional<data::Batch> batch = next(stream)) {
    sum.add(session->run(*batch, fetches), examples_in(*batch));
  }
  return sum.result();
}

Trainer::Trainer(Program& program, TrainerOptions options)
    : state_(std::make_unique<State>(program, std::move(options))) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

Session& Trainer::session() { return *state_->session; }
std::vector<Value> Trainer::training_fetches() const { return state_->training_fetches; }

Metrics Trainer::fit(const data::Batches& batches, const FitOptions& options) {
  if (!state_->averaged.expired()) {
    fail_usage("fit: the parameters hold their averages; end the AveragedParameters first");
  }
  if (options.epochs < 0) fail_usage(fmt::format("fit: epochs is {}", options.epochs));
  Progress progress(options.progress, options.epochs, batches.size());
  state_->steps_of_fit = 0;
  EpochReport report{.epochs = options.epochs};
  for (report.epoch = 1; report.epoch <= options.epochs; ++report.epoch) {
    const auto start = std::chrono::steady_clock::now();
    progress.begin_epoch(report.epoch);
    report.training = state_->epoch(batches, options, progress);
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (options.validation != nullptr) report.validation = state_->evaluate(*options.validation);
    if (state_->plateau) {
      const Metrics& seen = options.validation ? report.validation : report.training;
      report_to_plateau(session(), *state_->plateau, seen[state_->plateau->metric]);
    }
    progress.end_epoch(report.training.examples(), report.training.str(), report.validation.str());
    if (options.after_epoch && !options.after_epoch(report)) break;
    if (options.max_steps > 0 && state_->steps_of_fit >= options.max_steps) break;
  }
  return report.training;
}

Metrics Trainer::evaluate(const data::Batches& batches) { return state_->evaluate(batches); }

Tensor Trainer::predict(const data::Batches& batches, Value value) {
  std::vector<Tensor> parts;
  std::int64_t rows = 0;
  data::BatchStream stream = batches.epoch(0);
  while (std::optional<data::Batch> batch = state_->next(stream)) {
    const std::int64_t examples = examples_in(*batch);
    parts.push_back(state_->session->run(*batch, {value})[0]);
    if (parts.back().rank() == 0 || parts.back().dim(0) != examples) {
      fail_usage("predict: axis 0 of " + value.str() + " is not the batch");
    }
    rows += examples;
  }
  if (parts.empty()) fail_usage("predict: there are no examples");
  std::vector<std::int64_t> shape = parts[0].shape();
  shape[0] = rows;
  Tensor joined = Tensor::uninitialized(value.dtype(), shape);
  std::byte* to = joined.bytes();
  for (const Tensor& part : parts) {
    if (part.size_bytes() == 0) continue;
    std::memcpy(to, part.bytes(), part.size_bytes());
    to += part.size_bytes();
  }
  return joined;
}

AveragedParameters Trainer::averaged() {
  if (const auto lives = state_->averaged.lock()) {
    AveragedParameters same;
    same.swapped_ = lives;
    return same;
  }
  AveragedParameters averaged(*state_->program, *state_->session);
  state_->averaged = averaged.swapped_;
  return averaged;
}

void Trainer::save(const std::string& directory, const SaveOptions& options) {
  save_model(*state_->program, *state_->session, directory, options);
}

}  // namespace trireme
