#include "distributed/master/bad_task.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace trireme::distributed {
namespace {

// Removes the next line and returns it.
std::string line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  std::string result(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return result;
}

std::string times(std::size_t count) {
  if (count < 3) return count == 1 ? "once" : "twice";
  return fmt::format("{} times", count);
}

}  // namespace

std::int64_t task_number(const std::string& key, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    fail_data(fmt::format("the key {} holds no task: \"{}\" is no number", key, text));
  }
  return value;
}

std::string_view task_word(const std::string& key, std::string_view& rest) {
  const std::size_t space = rest.find(' ');
  if (space == std::string_view::npos) fail_data(fmt::format("the key {} holds no task", key));
  const std::string_view result = rest.substr(0, space);
  rest.remove_prefix(space + 1);
  return result;
}

std::string one_line(const std::string& text) {
  constexpr std::size_t kLongest = 1000;
  std::string_view rest = text;
  std::string first = line(rest);
  if (first.size() > kLongest) first.replace(kLongest, std::string::npos, " ...");
  return first;
}

std::string bad_key(const std::string& prefix, std::int64_t epoch, std::int64_t id) {
  return fmt::format("{}{}{:010}/{:010}", prefix, kBadTasks, epoch, id);
}

// "failed 2", then the description, then a line for each bad end.
std::string text_for_key(const BadTask& task) {
  std::string text =
      fmt::format("{} {}\n{}", task.failed ? "failed" : "bad", task.deaths, task.what);
  for (const std::string& why : task.why) text += "\n" + why;
  return text;
}

// The part of the key after "bad/": "0000000001/0000000042".
BadTask bad_task_of(const Entry& entry, std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) fail_data(fmt::format("the key {} is none", entry.key));
  BadTask task;
  task.epoch = task_number(entry.key, name.substr(0, slash));
  task.id = task_number(entry.key, name.substr(slash + 1));
  std::string_view rest = entry.value;
  const std::string head = line(rest);
  std::string_view words = head;
  task.failed = task_word(entry.key, words) == "failed";
  task.deaths = static_cast<int>(task_number(entry.key, words));
  task.what = line(rest);
  while (!rest.empty()) task.why.push_back(line(rest));
  return task;
}

std::vector<BadTask> bad_tasks(Store& store, const std::string& prefix) {
  std::vector<BadTask> tasks;
  const std::string all = prefix + std::string(kBadTasks);
  for (const Entry& entry : store.list(all).entries) {
    tasks.push_back(bad_task_of(entry, std::string_view(entry.key).substr(all.size())));
  }
  return tasks;
}

std::string text_of(const BadTask& task) {
  std::string text =
      fmt::format("{} of epoch {}: ended badly {}", task.what, task.epoch, times(task.why.size()));
  for (auto why = task.why.begin(); why != task.why.end(); ++why) {
    const bool known = std::find(task.why.begin(), why, *why) != why;
    if (!known) text += (why == task.why.begin() ? ": " : "; ") + *why;
  }
  return text;
}

}  // namespace trireme::distributed
