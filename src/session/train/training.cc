#include "session/train/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/error.h"
#include "ir/program.h"
#include "nn/schedule.h"
#include "nn/updates.h"
#include "session/run/program_hash.h"

namespace trireme {
namespace {

std::vector<Value> values_of(const std::vector<Metric>& metrics) {
  std::vector<Value> values;
  for (const Metric& metric : metrics) values.push_back(metric.value);
  return values;
}

}  // namespace

void use_new_names(TrainerOptions& options) {
  const SessionOptions initial;
  SessionOptions& session = options.session;
  options.host.move_to(session.host, !session.host.empty());
  options.threads.apply_to(session.threads, initial.threads);
  options.seed.apply_to(session.seed, initial.seed);
  options.precision.apply_to(session.precision, initial.precision);
  options.plan_memory.apply_to(session.plan_memory, initial.plan_memory);
  options.fuse.apply_to(session.fuse, initial.fuse);
  options.interpreter.apply_to(session.interpreter, initial.interpreter);
}

Training::Training(const Program& program_in, TrainerOptions options_in,
                   const SourceLocation& where)
    : program(program_in.shared_ir()), options(std::move(options_in)) {
  if (!options.loss) fail_usage("Trainer: .loss is not set");
  if (options.loss.get()->program != &program.ir()) {
    fail_usage("Trainer: .loss belongs to another Program");
  }
  use_new_names(options);
  if (options.session.precision == Precision::f16) {
    fail_usage(
        "Trainer: precision f16 is for inference: gradients vanish below 6e-8\n"
        "  hint   train with bf16 or f32, and predict with f16");
  }
  minimize(options.loss, options.optimizer, options.updates, options.exchange, where);
  plateau =
      std::visit([](const auto& rule) { return rule.learning_rate.plateau; }, options.optimizer);
  all_metrics.push_back({.name = "loss", .value = options.loss, .larger_better = false});
  for (const Metric& metric : options.metrics) all_metrics.push_back(metric);
  for (const Metric& metric : all_metrics) {
    if (metric.is_average()) training_metrics.push_back(metric);
  }
  if (plateau) check_plateau();
  training_fetches = values_of(training_metrics);
  sum.emplace(training_metrics);
  session = std::make_unique<Session>(program, options.session);
  if (options.trace_nan) trace = std::make_unique<NanTrace>(program, *session);
  program_hash_ = hash_of(program.ir());
}

void Training::check_plateau() const {
  std::vector<std::string> names;
  for (const Metric& metric : all_metrics) {
    if (!metric.is_number()) continue;
    names.push_back(metric.name);
    if (metric.name != plateau->metric) continue;
    if (metric.larger_better.value_or(plateau->higher_is_better) == plateau->higher_is_better) {
      return;
    }
    fail_usage(
        fmt::format("Trainer: the learning rate depends on metric \"{}\", of which {} is "
                    "better: set higher_is_better = {} of the plateau",
                    metric.name, *metric.larger_better ? "more" : "less", *metric.larger_better));
  }
  fail_usage(fmt::format("Trainer: the learning rate depends on metric \"{}\"; there are {}",
                         plateau->metric, fmt::join(names, ", ")));
}

std::optional<Fed> Training::next(data::BatchStream& stream) const {
  std::optional<data::Batch> batch = stream.next();
  if (!batch) return std::nullopt;
  return fed(std::move(*batch));
}

Fed Training::fed(data::Batch batch) const {
  // Counted before columns go: those that stay need not tell it, as the packed rows alone do not.
  Fed fed{std::move(batch), 0};
  fed.examples = data::examples_in(fed.feeds);
  std::erase_if(fed.feeds, [&](const auto& column) {
    for (const auto& input : program.ir().main().arguments) {
      if (input->name == column.first) return false;
    }
    fed.left_out.push_back(column.first);
    return true;
  });
  return fed;
}

namespace {

// If the error of a run names an input for which the data have no column, says so.
void check_columns(const ir::Program& program, const Fed& batch, std::string_view error) {
  std::vector<std::string> columns = batch.left_out;
  for (const auto& [name, tensor] : batch.feeds) columns.push_back(name);
  std::sort(columns.begin(), columns.end());
  for (const auto& input : program.main().arguments) {
    const bool is_named = error.find('"' + input->name + '"') != std::string_view::npos;
    if (!is_named || batch.feeds.contains(input->name)) continue;
    const std::string near = nearest(input->name, batch.left_out);
    fail_usage(fmt::format("the data have no column \"{}\" for the input {}{}\n  columns  {}",
                           input->name, input->type.str(),
                           near.empty() ? "" : "; did you mean \"" + near + "\"?",
                           fmt::join(columns, ", ")));
  }
}

}  // namespace

// Clipping refuses gradients that are not finite.
std::vector<Tensor> Training::run(const Fed& batch, const std::vector<Value>& fetches,
                                  RunOptions mode) {
  try {
    return session->run(batch.feeds, fetches, mode);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::usage) check_columns(program.ir(), batch, error.what());
    if (error.kind() == ErrorKind::numeric && mode.updates) fail_not_finite(error.what());
    throw;
  }
}

void Training::fail_not_finite(const std::string& number) {
  const std::size_t line = std::min(number.find('\n'), number.size());  // the end of the first one
  const std::string what = fmt::format("{} in step {} of epoch {}{}", number.substr(0, line),
                                       at.fit_steps + 1, at.epoch + 1, number.substr(line));
  if (trace == nullptr) {
    fail(ErrorKind::numeric,
         what +
             "\n  hint   lower the learning rate or clip the gradient; with trace_nan "
             "(--trace-nan) the layer that first made it is named");
  }
  try {
    trace->find(training_fetches, mode());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric) throw;
    fail(ErrorKind::numeric, what + "\n  first  " + error.what());
  }
  fail(ErrorKind::numeric, what + "; no layer made it again, so it was in the data or parameters");
}

double Training::step(const Fed& batch) {
  if (trace != nullptr) trace->before_step(batch.feeds);
  const std::vector<Tensor> values = run(batch, training_fetches, mode());
  const double loss = values[0].dtype() == f64 ? values[0].item<double>() : values[0].item<float>();
  if (!std::isfinite(loss)) fail_not_finite(fmt::format("the loss is {}", loss));
  sum->add(values, batch.examples);
  last_values.clear();
  for (std::size_t i = 0; i < values.size(); ++i) {
    last_values.push_back(finished(training_metrics[i], values[i].cast(f64)));
  }
  ++at.steps;
  ++at.batch;
  ++at.fit_steps;
  return loss;
}

Metrics Training::evaluate(const data::Batches& batches) {
  const Undisturbed guard(*session);
  MetricSum measured(all_metrics);
  const std::vector<Value> fetches = values_of(all_metrics);
  data::BatchStream stream = batches.epoch(0);
  while (const std::optional<Fed> batch = next(stream)) {
    measured.add(run(*batch, fetches, {}), batch->examples);
  }
  return measured.result();
}

double Training::learning_rate(std::int64_t step) const {
  const std::string& name = options.updates.name;
  const auto state = [&](const char* counter) {
    return session->parameter(nn::counter_name(name, counter)).item<double>();
  };
  const Schedule& schedule = std::visit(
      [](const auto& rule) -> const Schedule& { return rule.learning_rate; }, options.optimizer);
  const bool adjustable = options.updates.adjustable_rate;
  if (adjustable && schedule.is_constant()) return state(nn::kRate);
  double rate = schedule.at(step / options.updates.accumulate);
  if (plateau) rate *= state(nn::kPlateauFactor);
  if (adjustable) rate *= state(nn::kFactor);
  return rate;
}

RunOptions Training::mode() const {
  RunOptions mode{.training = true, .updates = true};
  // The caller may run other sets in a loop of his own.
  if (program.ir().updates.size() > 1) mode.update = {options.updates.name};
  return mode;
}

void Training::report_to_plateau(const Metrics& seen) {
  if (!plateau) return;
  trireme::report_to_plateau(*session, *plateau, seen[plateau->metric], options.updates.name);
}

std::vector<std::pair<std::string, double>> Training::last_numbers() const {
  std::vector<std::pair<std::string, double>> numbers;
  for (std::size_t i = 0; i < last_values.size(); ++i) {
    numbers.emplace_back(training_metrics[i].name, last_values[i]);
  }
  return numbers;
}

CheckpointState Training::checkpoint() {
  CheckpointState state;
  state.program = program.ir().name;
  state.program_hash = program_hash_;
  state.seed = options.session.seed;
  state.examples = examples;
  state.batch_size = batch_size;
  state.progression = at;
  state.progression.runs = session->step();
  state.progression.sums = sum->sums();
  state.progression.sum_examples = sum->examples();
  for (const auto& parameter : program.ir().parameters()) {
    state.parameters.emplace(parameter->name(), session->parameter(parameter->name()));
  }
  return state;
}

void Training::check_same_model(const CheckpointState& state) const {
  const std::string other =
      fmt::format("the checkpoint is of another model ({}, and this is {}): ", state.program,
                  program.ir().name);
  for (const auto& parameter : program.ir().parameters()) {
    const auto found = state.parameters.find(parameter->name());
    if (found == state.parameters.end()) {
      fail_data(fmt::format("{}it has no parameter \"{}\"", other, parameter->name()));
    }
    const ir::Type& type = parameter->value->type;
    if (found->second.dtype() != type.dtype ||
        found->second.shape() != trireme::evaluate(type.shape, {})) {
      fail_data(fmt::format("{}parameter \"{}\" is {} there and {} here", other, parameter->name(),
                            found->second.type_str(), type.str()));
    }
  }
  for (const auto& [name, value] : state.parameters) {
    if (program.ir().find_parameter(name) == nullptr) {
      fail_data(fmt::format("{}its parameter \"{}\" is not here", other, name));
    }
  }
  if (state.program_hash != program_hash_) {
    fail_data(other +
              "the parameters are the same, but the ops are not\n"
              "  hint   resuming needs the same layers, loss, optimizer and schedule; a schedule "
              "may depend on the number of epochs and the size of a batch");
  }
}

void Training::restore(const CheckpointState& state) {
  check_same_model(state);
  if (state.seed != options.session.seed) {
    fail_data(fmt::format("the checkpoint was made with seed {}, and this training has seed {}",
                          state.seed, options.session.seed));
  }
  sum->restore(state.progression.sums, state.progression.sum_examples);
  for (const auto& [name, value] : state.parameters) session->set_parameter(name, value);
  at = state.progression;
  session->set_step(at.runs);
  examples = state.examples;
  batch_size = state.batch_size;
  resumed = true;
}

}  // namespace trireme
