#include "distributed/job/job_keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace trireme::distributed {
namespace {

using Json = nlohmann::json;

void parse(const std::string& key, const std::string& text,
           const std::function<void(const Json&)>& take) {
  try {
    take(Json::parse(text));
  } catch (const Json::exception& error) {
    fail_data(
        fmt::format("the key {} holds \"{}\", which it should not: {}", key, text, error.what()));
  }
}

// "3 2", both between `min` and the limit.
std::pair<int, int> two_numbers(const std::string& key, const std::string& text, int min) {
  std::pair<int, int> numbers;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, numbers.first);
  const bool space = first.ec == std::errc() && first.ptr != end && *first.ptr == ' ';
  const auto second = space ? std::from_chars(first.ptr + 1, end, numbers.second) : first;
  if (!space || second.ec != std::errc() || second.ptr != end || numbers.first < 1 ||
      numbers.second < min || std::max(numbers.first, numbers.second) > kMaxProcesses) {
    fail_data(fmt::format("the key {} holds \"{}\" instead of two numbers", key, text));
  }
  return numbers;
}

Json json_of(const TaskState& state) {
  Json json = {{"epoch", state.epoch},     {"epochs", state.epochs},    {"todo", state.todo},
               {"pending", state.pending}, {"done", state.done},        {"failed", state.failed},
               {"refused", state.refused}, {"left_out", state.left_out}};
  if (!state.leader.empty()) json["leader"] = state.leader;
  return json;
}

TaskState tasks_in(const Json& json) {
  TaskState state;
  json.at("epoch").get_to(state.epoch);
  json.at("epochs").get_to(state.epochs);
  json.at("todo").get_to(state.todo);
  json.at("pending").get_to(state.pending);
  json.at("done").get_to(state.done);
  json.at("failed").get_to(state.failed);
  json.at("refused").get_to(state.refused);
  json.at("left_out").get_to(state.left_out);
  state.leader = json.value("leader", "");
  return state;
}

int rank_of(const std::string& role) {
  constexpr const char* kRoles[] = {"master", "server", "trainer"};
  return static_cast<int>(std::find(std::begin(kRoles), std::end(kRoles), role) -
                          std::begin(kRoles));
}

}  // namespace

std::string text_of(const ProcessEntry& entry) {
  Json json = {{"name", entry.name}, {"role", entry.role},   {"host", entry.host},
               {"pid", entry.pid},   {"since", entry.since}, {"metrics", entry.metrics}};
  if (entry.place) json["place"] = *entry.place;
  return json.dump();
}

ProcessEntry process_of(const std::string& key, const std::string& text) {
  ProcessEntry entry;
  parse(key, text, [&](const Json& json) {
    json.at("name").get_to(entry.name);
    json.at("role").get_to(entry.role);
    json.at("host").get_to(entry.host);
    json.at("pid").get_to(entry.pid);
    json.at("since").get_to(entry.since);
    json.at("metrics").get_to(entry.metrics);
    if (json.contains("place")) entry.place = json.at("place").get<int>();
  });
  return entry;
}

std::vector<ProcessEntry> processes(Store& store, const std::string& job) {
  struct Place {
    int role;
    std::size_t length;  // so that trainer_10 follows trainer_9
    std::string name;
    auto operator<=>(const Place&) const = default;
  };
  std::vector<ProcessEntry> found;
  for (const Entry& entry : store.list(process_prefix(job)).entries) {
    found.push_back(process_of(entry.key, entry.value));
  }
  std::sort(found.begin(), found.end(), [](const ProcessEntry& a, const ProcessEntry& b) {
    return Place{rank_of(a.role), a.name.size(), a.name} <
           Place{rank_of(b.role), b.name.size(), b.name};
  });
  return found;
}

std::string text_of(const TaskState& state) { return json_of(state).dump(); }

TaskState task_state_of(const std::string& key, const std::string& text) {
  TaskState state;
  parse(key, text, [&](const Json& json) { state = tasks_in(json); });
  return state;
}

std::string text_of(const JobProgress& progress) {
  Json json = {{"steps", progress.steps},
               {"examples", progress.examples},
               {"seconds", progress.seconds},
               {"rate", progress.rate}};
  if (progress.loss) json["loss"] = *progress.loss;
  return json.dump();
}

JobProgress progress_of(const std::string& key, const std::string& text) {
  JobProgress progress;
  parse(key, text, [&](const Json& json) {
    json.at("steps").get_to(progress.steps);
    json.at("examples").get_to(progress.examples);
    json.at("seconds").get_to(progress.seconds);
    json.at("rate").get_to(progress.rate);
    // NaN is written as null.
    if (json.contains("loss") && json.at("loss").is_number()) {
      progress.loss = json.at("loss").get<double>();
    }
  });
  return progress;
}

std::string text_of(const Wanted& wanted) {
  return fmt::format("{} {}", wanted.trainers, wanted.servers);
}

Wanted wanted_of(const std::string& key, const std::string& text) {
  const auto [trainers, servers] = two_numbers(key, text, 0);
  return {trainers, servers};
}

std::string text_of(const Limits& limits) { return fmt::format("{} {}", limits.min, limits.max); }

Limits limits_of(const std::string& key, const std::string& text) {
  const auto [min, max] = two_numbers(key, text, 1);
  if (min > max) fail_data(fmt::format("the key {} holds \"{}\"", key, text));
  return {min, max};
}

std::string text_of(const StopOrder& order) {
  return fmt::format("{} {}", order.within.count(), order.checkpoint.count());
}

StopOrder stop_order_of(const std::string& text) {
  int within = 0, checkpoint = 0;
  const char* const end = text.data() + text.size();
  const char* const rest = std::from_chars(text.data(), end, within).ptr;
  if (rest != end) std::from_chars(rest + 1, end, checkpoint);
  return {std::chrono::seconds(std::clamp(within, 1, 3600)),
          std::chrono::seconds(std::clamp(checkpoint, 0, 3600))};
}

std::string text_of(const StopReport& report) {
  Json json = {{"seconds", report.seconds},
               {"ended", report.ended},
               {"killed", report.killed},
               {"tasks", json_of(report.tasks)},
               {"go_on", report.go_on}};
  if (report.last) json["last"] = text_of(*report.last);
  return json.dump();
}

StopReport stop_report_of(const std::string& key, const std::string& text) {
  StopReport report;
  parse(key, text, [&](const Json& json) {
    json.at("seconds").get_to(report.seconds);
    json.at("ended").get_to(report.ended);
    json.at("killed").get_to(report.killed);
    report.tasks = tasks_in(json.at("tasks"));
    json.at("go_on").get_to(report.go_on);
    if (json.contains("last")) report.last = last_checkpoint_of(json.at("last"));
  });
  return report;
}

}  // namespace trireme::distributed
