// [train] schedule of a job: epochs become steps here.

#include <algorithm>

#include "base/error.h"
#include "session/job/model.h"

namespace trireme::job {
namespace {

const std::vector<std::string> kSchedules = {"constant",   "cosine",       "step_decay",
                                             "multi_step", "exponential",  "polynomial",
                                             "one_cycle",  "inverse_sqrt", "plateau"};

std::vector<std::int64_t> read_milestones(Table& table, std::int64_t updates_per_epoch) {
  const Node& list = table.required("epochs");
  if (list.kind != Node::Kind::list) fail_at(list, "must be a list of epochs, such as [80, 120]");
  std::vector<std::int64_t> steps = table.sizes("epochs", {}, list.items.size());
  for (std::int64_t& step : steps) step *= updates_per_epoch;
  return steps;
}

int read_count(Table& table, const char* key, int fallback) {
  return static_cast<int>(std::min(table.integer(key, fallback, 0), kLargestSize));
}

Plateau read_plateau(Table& table) {
  Plateau plateau;
  plateau.factor = table.number("factor", plateau.factor);
  plateau.patience = read_count(table, "patience", plateau.patience);
  plateau.threshold = table.number("threshold", plateau.threshold);
  plateau.cooldown = read_count(table, "cooldown", plateau.cooldown);
  plateau.least = table.number("least", plateau.least);
  plateau.metric = table.text("metric", plateau.metric);
  plateau.higher_is_better =
      table.boolean("higher_is_better", larger_better(plateau.metric).value_or(false));
  return plateau;
}

// `updates`: in the whole training, but for the warm-up.
Schedule read_kind(const Choice& choice, Table& table, double rate, std::int64_t updates,
                   std::int64_t updates_per_epoch) {
  if (choice.name == "constant") return rate;
  if (choice.name == "cosine") return Schedule::cosine(rate, updates, table.number("last", 0));
  if (choice.name == "polynomial") {
    const double last = table.number("last", 0);
    return Schedule::polynomial(rate, updates, last, table.number("power", 1));
  }
  if (choice.name == "step_decay") {
    const std::int64_t epochs = table.integer("every_epochs", 1, 1);
    return Schedule::step_decay(rate, epochs * updates_per_epoch, table.number("factor", 0.1));
  }
  if (choice.name == "multi_step") {
    const std::vector<std::int64_t> milestones = read_milestones(table, updates_per_epoch);
    return Schedule::multi_step(rate, milestones, table.number("factor", 0.1));
  }
  if (choice.name == "exponential") {
    return Schedule::exponential(rate, table.number("factor", 0.999));
  }
  if (choice.name == "one_cycle") {
    const double rise = table.number("rise", 0.3);
    const double start = table.number("start_divisor", 25);
    return Schedule::one_cycle(rate, updates, rise, start, table.number("last_divisor", 1e4));
  }
  if (choice.name == "inverse_sqrt") {
    return Schedule::inverse_sqrt(rate, table.integer("steps", 4000, 1));
  }
  if (choice.name == "plateau") return Schedule(rate).on_plateau(read_plateau(table));
  fail_unknown(choice, "schedule", kSchedules);
}

}  // namespace

Schedule read_schedule(const Settings& settings, double rate, std::int64_t steps_per_epoch) {
  if (settings.schedule == nullptr) return rate;
  const Choice choice = read_choice(*settings.schedule, "a schedule");
  Table table(*choice.options);
  const std::int64_t warmup = table.integer("warmup_steps", 0, 0);
  const std::int64_t all = settings.epochs * steps_per_epoch / settings.accumulate;
  const std::int64_t updates_per_epoch =
      std::max<std::int64_t>(steps_per_epoch / settings.accumulate, 1);
  Schedule schedule;
  try {
    schedule =
        read_kind(choice, table, rate, std::max<std::int64_t>(all - warmup, 1), updates_per_epoch);
  } catch (const Error& error) {  // of Schedule's own checks
    if (error.kind() != ErrorKind::usage) throw;
    fail_at(*choice.node, error.what());
  }
  table.done();
  return warmup > 0 ? schedule.warmup(warmup) : schedule;
}

void check_plateau(const Settings& settings, const std::vector<Metric>& metrics) {
  if (settings.schedule == nullptr) return;
  const std::optional<Plateau> plateau = read_schedule(settings, 1, 1).plateau;
  if (!plateau) return;
  std::vector<std::string> names = {"loss"};
  for (const Metric& metric : metrics) {
    if (metric.is_number()) names.push_back(metric.name);
  }
  const Choice choice{plateau->metric, nullptr, settings.schedule};
  if (std::find(names.begin(), names.end(), plateau->metric) == names.end()) {
    fail_unknown(choice, "metric", names);
  }
}

}  // namespace trireme::job
