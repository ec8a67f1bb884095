// [train] schedule of a job: epochs become steps here.

#include <algorithm>

#include "base/error.h"
#include "nn/catalog/schedules.h"
#include "session/job/field_reader.h"
#include "session/job/model.h"
#include "session/job/schedule_tables.h"

namespace trireme::job {
namespace {

using Make = std::function<Schedule(Table&, const nn::ScheduleContext&)>;

const std::vector<std::pair<std::string, Make>>& known_schedules() {
  static const std::vector<std::pair<std::string, Make>> known = [] {
    std::vector<std::pair<std::string, Make>> all;
    nn::for_each_schedule([&](const nn::Entry& entry, auto defaults, auto make) {
      all.emplace_back(entry.name,
                       [defaults, make](Table& table, const nn::ScheduleContext& context) {
                         auto options = defaults;
                         FieldReader reader(table);
                         fields(reader, options);
                         return make(options, context);
                       });
    });
    return all;
  }();
  return known;
}

Schedule read_schedule_of(const Node& node, nn::ScheduleContext context);

// Each schedule lasts for its own epochs; the last one until the end.
Schedule sequential(Table& table, const nn::ScheduleContext& context) {
  SequentialSchedule options;
  FieldReader reader(table);
  fields(reader, options);
  if (options.schedules->kind != Node::Kind::list) {
    fail_at(*options.schedules,
            "must be a list of schedules, but is " + kind_text(*options.schedules));
  }
  std::vector<std::int64_t> milestones = options.epochs;
  for (std::int64_t& milestone : milestones) milestone *= context.updates_per_epoch;
  std::vector<Schedule> parts;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < options.schedules->items.size(); ++i) {
    nn::ScheduleContext of_part = context;
    const std::int64_t end = i < milestones.size() ? milestones[i] : context.updates;
    of_part.updates = std::max<std::int64_t>(end - start, 1);
    parts.push_back(read_schedule_of(options.schedules->items[i], of_part));
    start = end;
  }
  return Schedule::sequential(parts, milestones);
}

Schedule make_schedule(const Choice& choice, Table& table, const nn::ScheduleContext& context) {
  if (choice.name == kSequential) return sequential(table, context);
  std::vector<std::string> names;
  for (const auto& [name, make] : known_schedules()) {
    if (name == choice.name) return make(table, context);
    names.push_back(name);
  }
  names.emplace_back(kSequential);
  fail_unknown(choice, "schedule", names);
}

// `context.updates` includes the warm-up.
Schedule read_schedule_of(const Node& node, nn::ScheduleContext context) {
  const Choice choice = read_choice(node, "a schedule");
  Table table(*choice.options);
  nn::WarmupOptions warmup;
  FieldReader reader(table);
  fields(reader, warmup);
  context.updates = std::max<std::int64_t>(context.updates - warmup.warmup_steps, 1);
  Schedule schedule;
  try {
    schedule = make_schedule(choice, table, context);
  } catch (const Error& error) {  // of Schedule's own checks
    if (error.kind() != ErrorKind::usage) throw;
    fail_at(*choice.node, error.what());
  }
  table.done();
  return warmup.warmup_steps > 0 ? schedule.warmup(warmup.warmup_steps) : schedule;
}

}  // namespace

Schedule read_schedule(const Settings& settings, double rate, std::int64_t steps_per_epoch) {
  if (settings.schedule == nullptr) return rate;
  return read_schedule_of(
      *settings.schedule,
      {.rate = rate,
       .updates = settings.epochs * steps_per_epoch / settings.accumulate,
       .updates_per_epoch = std::max<std::int64_t>(steps_per_epoch / settings.accumulate, 1),
       .higher_is_better = [](const std::string& metric) {
         return larger_better(metric).value_or(false);
       }});
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
