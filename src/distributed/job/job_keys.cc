#include "distributed/job/job_keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "distributed/coordination/message.h"

namespace trireme::distributed {
namespace {

template <class T>
T value_of(const std::string& key, const std::string& text) {
  return decode<T>(text, fmt::format("the key {} with the value \"{}\"", key, text));
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

}  // namespace

std::string text_of(const TaskState& state) { return encode(state); }
std::string text_of(const JobProgress& progress) { return encode(progress); }
std::string text_of(const StopReport& report) { return encode(report); }

TaskState task_state_of(const std::string& key, const std::string& text) {
  return value_of<TaskState>(key, text);
}
JobProgress progress_of(const std::string& key, const std::string& text) {
  JobProgress progress = value_of<JobProgress>(key, text);
  if (progress.loss && !std::isfinite(*progress.loss)) progress.loss.reset();
  return progress;
}
StopReport stop_report_of(const std::string& key, const std::string& text) {
  return value_of<StopReport>(key, text);
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

}  // namespace trireme::distributed
