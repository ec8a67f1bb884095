#include "distributed/job/job_status.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "distributed/master/task_queue.h"

namespace trireme::distributed {
namespace {

using Json = nlohmann::ordered_json;

std::string status_line(const char* label, const std::string& text) {
  return fmt::format("{:<12}{}\n", label, text);
}

std::vector<std::int64_t> stored_checkpoints(Store& store, const std::string& prefix) {
  std::vector<std::int64_t> ids;
  const std::string at = prefix + "checkpoint/at/";
  for (const Entry& entry : store.list(at).entries) {
    std::int64_t id = 0;
    const char* const end = entry.key.data() + entry.key.size();
    const auto [rest, error] = std::from_chars(entry.key.data() + at.size(), end, id);
    if (error == std::errc() && rest == end) ids.push_back(id);
  }
  return ids;
}

std::string member_names(const Generation& generation) {
  std::string names;
  for (const Seat& seat : generation.members) names += (names.empty() ? "" : " ") + seat.name;
  return names;
}

// "master_0 leads, master_1 stands by".
std::string masters_of(const JobStatus& status) {
  const std::string leader = status.tasks ? status.tasks->leader : "";
  std::string others;
  int count = 0;
  bool leads = false;
  for (const ProcessEntry& process : status.processes) {
    if (process.role != "master") continue;
    if (process.name == leader) leads = true;
    else others += (count++ == 0 ? "" : " and ") + process.name;
  }
  const std::string first = leads ? leader + " leads" : "none leads";
  return count == 0 ? first
                    : fmt::format("{}, {} {} by", first, others, count == 1 ? "stands" : "stand");
}

std::string text_of_wanted(const JobStatus& status) {
  std::string text = fmt::format("{} trainers", status.wanted->trainers);
  if (status.limits && (status.limits->min > 1 || status.limits->max < kMaxProcesses)) {
    text += fmt::format(" ({} to {})", status.limits->min, status.limits->max);
  }
  if (status.wanted->servers > 0) text += fmt::format(", {} servers", status.wanted->servers);
  return text;
}

std::string process_table(const std::vector<ProcessEntry>& processes, std::int64_t now) {
  if (processes.empty()) return "no process has registered\n";
  std::string text = fmt::format("{:<14}{:<10}{:>8}  {:<20}{:<10}{}\n", "process", "role", "pid",
                                 "host", "since", "metrics");
  for (const ProcessEntry& p : processes) {
    const std::string role = p.role + (p.place ? fmt::format(" {}", *p.place) : "");
    text += fmt::format("{:<14}{:<10}{:>8}  {:<20}{:<10}{}\n", p.name, role, p.pid, p.host,
                        age(now - p.since), p.metrics);
  }
  return text;
}

template <class T>
std::optional<T> read(Store& store, const std::string& key,
                      T (*parse)(const std::string&, const std::string&)) {
  const std::optional<Entry> entry = store.get(key);
  return entry ? std::optional(parse(entry->key, entry->value)) : std::nullopt;
}

}  // namespace

std::string age(std::int64_t seconds) {
  if (seconds < 120) return fmt::format("{} s", std::max<std::int64_t>(seconds, 0));
  if (seconds < 7200) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} days", seconds / 86400);
}

std::string text_of_left_out(const std::vector<BadTask>& bad) {
  constexpr int kShown = 5;
  std::string text;
  int count = 0;
  for (const BadTask& task : bad) {
    if (!task.failed) continue;
    if (count++ < kShown) text += status_line("left out", text_of(task));
  }
  if (count > kShown) text += status_line("", fmt::format("and {} tasks more", count - kShown));
  return text;
}

JobStatus read_status(Store& store, const std::string& prefix) {
  JobStatus status;
  status.processes = ProcessRegistry(store, prefix).list();
  status.tasks = read(store, tasks_key(prefix), task_state_of);
  status.bad = bad_tasks(store, prefix + "task/");
  status.progress = read(store, progress_key(prefix), progress_of);
  status.wanted = read(store, wanted_key(prefix), wanted_of);
  status.limits = read(store, limits_key(prefix), limits_of);
  status.group = read(store, prefix + "group/generation", generation_of);
  status.view = read_job_view(store, prefix);
  status.checkpoints = stored_checkpoints(store, prefix);
  status.done = store.get(prefix + "done").has_value();
  return status;
}

TaskState tasks_left(Store& store, const std::string& prefix) {
  TaskState left;
  if (const std::optional<Entry> told = store.get(tasks_key(prefix))) {
    left = task_state_of(told->key, told->value);
  }
  const TaskQueue queue(store, {.prefix = prefix + "task/"});
  const TaskCounts counts = queue.counts();
  left.epoch = queue.epoch();
  left.todo = counts.todo;
  left.pending = counts.pending;
  left.done = counts.done;
  left.failed = counts.failed;
  left.left_out = counts.left_out;
  return left;
}

std::string text_of(const JobRecord& record, const JobStatus& status, std::int64_t now) {
  const std::string where =
      record.job.empty() ? fmt::format("its keys below {} of {}", record.prefix, record.store)
                         : record.job;
  std::string text = status_line("job", fmt::format("{}, {}", record.name, where));
  text +=
      status_line("launcher", record.pid == 0 ? "none runs"
                                              : fmt::format("process {} on {}, for {}", record.pid,
                                                            record.host, age(now - record.since)));
  text += status_line("master", masters_of(status));
  if (const auto& tasks = status.tasks) {
    text += status_line("epoch", fmt::format("{} of {}{}", tasks->epoch, tasks->epochs,
                                             status.done ? ", all are over" : ""));
    text +=
        status_line("tasks", fmt::format("{} to do, {} pending, {} done, {} failed", tasks->todo,
                                         tasks->pending, tasks->done, tasks->failed));
    if (tasks->left_out > 0) text += text_of_left_out(status.bad);
  } else {
    text += status_line("epoch", "none has begun, or no master is there");
  }
  if (const auto& progress = status.progress) {
    text += status_line(
        "trained", fmt::format("{} examples, {:.0f}/s, loss {}", progress->examples, progress->rate,
                               progress->loss ? fmt::format("{:.4g}", *progress->loss) : "-"));
  }
  if (const auto& group = status.group) {
    text += status_line("group", fmt::format("generation {} of {} members: {}", group->number,
                                             group->members.size(), member_names(*group)));
  }
  if (const auto& view = status.view) {
    text += status_line("servers",
                        fmt::format("{} by version {} of the slot map; generation {}, {} times "
                                    "back to a checkpoint",
                                    view->servers.map.servers(), view->servers.map.version(),
                                    view->generation, view->rollbacks));
  }
  if (!status.checkpoints.empty()) {
    text += status_line("checkpoints",
                        fmt::format("{}, the last is number {}", status.checkpoints.size(),
                                    status.checkpoints.back()));
  }
  if (status.wanted) text += status_line("wanted", text_of_wanted(status));
  return text + "\n" + process_table(status.processes, now);
}

std::string json_of(const JobRecord& record, const JobStatus& status) {
  Json json = {{"name", record.name},
               {"prefix", record.prefix},
               {"since", record.since},
               {"done", status.done}};
  if (!record.job.empty()) json["job"] = record.job;
  if (record.pid != 0) json.update({{"host", record.host}, {"pid", record.pid}});
  if (status.tasks) json["tasks"] = Json::parse(text_of(*status.tasks));
  if (status.progress) json["progress"] = Json::parse(text_of(*status.progress));
  if (status.group) {
    Json members = Json::array();
    for (const Seat& seat : status.group->members) members.push_back(seat.name);
    json["group"] = {{"generation", status.group->number}, {"members", members}};
  }
  if (const auto& view = status.view) {
    json["servers"] = {{"map", view->servers.map.version()},
                       {"servers", view->servers.map.servers()},
                       {"generation", view->generation},
                       {"rollbacks", view->rollbacks}};
  }
  json["checkpoints"] = status.checkpoints;
  if (status.wanted) {
    json["wanted"] = {{"trainers", status.wanted->trainers}, {"servers", status.wanted->servers}};
  }
  if (status.limits) json["limits"] = {{"min", status.limits->min}, {"max", status.limits->max}};
  json["bad_tasks"] = Json::array();
  for (const BadTask& task : status.bad) {
    json["bad_tasks"].push_back({{"epoch", task.epoch},
                                 {"task", task.id},
                                 {"what", task.what},
                                 {"left_out", task.failed},
                                 {"why", task.why}});
  }
  json["processes"] = Json::array();
  for (const ProcessEntry& process : status.processes) {
    json["processes"].push_back(Json::parse(text_of(process)));
  }
  return json.dump(2) + "\n";
}

}  // namespace trireme::distributed
