// [train] schedule of a job: epochs become steps here.

#include <algorithm>

#include "base/error.h"
#include "nn/catalog/schedules.h"
#include "session/job/field_reader.h"
#include "session/job/model.h"

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

Schedule make_schedule(const Choice& choice, Table& table, const nn::ScheduleContext& context) {
  std::vector<std::string> names;
  for (const auto& [name, make] : known_schedules()) {
    if (name == choice.name) return make(table, context);
    names.push_back(name);
  }
  fail_unknown(choice, "schedule", names);
}

}  // namespace

Schedule read_schedule(const Settings& settings, double rate, std::int64_t steps_per_epoch) {
  if (settings.schedule == nullptr) return rate;
  const Choice choice = read_choice(*settings.schedule, "a schedule");
  Table table(*choice.options);
  nn::WarmupOptions warmup;
  FieldReader reader(table);
  fields(reader, warmup);
  const std::int64_t all = settings.epochs * steps_per_epoch / settings.accumulate;
  const nn::ScheduleContext context{
      .rate = rate,
      .updates = std::max<std::int64_t>(all - warmup.warmup_steps, 1),
      .updates_per_epoch = std::max<std::int64_t>(steps_per_epoch / settings.accumulate, 1),
      .higher_is_better = [](const std::string& metric) {
        return larger_better(metric).value_or(false);
      }};
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
