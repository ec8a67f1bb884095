#include "distributed/monitor/health.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>

namespace trireme::distributed {
namespace {

std::int64_t milliseconds(Heartbeat::Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

}  // namespace

void Health::add(const std::string& name, std::function<Finding()> check, Means means) {
  const std::lock_guard lock(mutex_);
  checks_.push_back({name, std::move(check), means});
}

Health::Report Health::report(Means means) const {
  const std::lock_guard lock(mutex_);
  Report report;
  for (const auto& [name, check, own] : checks_) {
    if (own < means) continue;
    Finding finding;
    try {
      finding = check();
    } catch (const std::exception& error) {
      finding = {false, error.what()};
    }
    report.well = report.well && finding.well;
    report.findings.emplace_back(name, std::move(finding));
  }
  return report;
}

std::string Health::Report::text() const {
  std::string text = well ? "well\n" : "not well\n";
  for (const auto& [name, finding] : findings) {
    text += fmt::format("{:<5} {}: {}\n", finding.well ? "ok" : "bad", name, finding.text);
  }
  return text;
}

void Heartbeat::beat(Clock::time_point now) {
  const std::int64_t time = milliseconds(now), before = last_.exchange(time);
  if (before == kNever) return;
  std::int64_t longest = longest_.load();
  while (time - before > longest && !longest_.compare_exchange_weak(longest, time - before)) {
  }
}

Finding Heartbeat::check(const std::string& what, Clock::time_point now) const {
  const std::int64_t last = last_.load();
  if (last == kNever) return {true, fmt::format("no {} is expected", what)};
  const std::int64_t since = std::max<std::int64_t>(milliseconds(now) - last, 0);
  const std::int64_t max = std::max<std::int64_t>(patience_.count(), 10 * longest_.load());
  return {since <= max, fmt::format("last {} {} s ago", what, since / 1000)};
}

}  // namespace trireme::distributed
