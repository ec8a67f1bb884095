#include "distributed/master/pace.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace trireme::distributed {

void Pace::set_working(std::set<std::string> names) {
  working_ = std::move(names);
  for (auto& [name, clock] : clocks_) clock.away |= !working_.contains(name);
  std::erase_if(entering_, [this](const std::string& name) { return !working_.contains(name); });
}

bool Pace::unknown(const std::string& name) const {
  const auto clock = clocks_.find(name);
  return clock == clocks_.end() || clock->second.away;
}

// Whether another trainer with work has not reported its clock and does not enter at the slowest
// clock.
bool Pace::others_unknown(const std::string& name) const {
  return std::any_of(working_.begin(), working_.end(), [&](const std::string& other) {
    return other != name && !clocks_.contains(other) && !entering_.contains(other);
  });
}

PaceAnswer Pace::ask(const PaceRequest& request) {
  std::optional<std::uint64_t> others;
  for (const std::string& name : working_) {
    if (name == request.name || unknown(name)) continue;
    const std::uint64_t finished = clocks_.at(name).finished;
    others = others ? std::min(*others, finished) : finished;
  }
  const auto known = clocks_.find(request.name);
  const bool enters = request.enters || (known != clocks_.end() && known->second.away);
  const bool wait = others_unknown(request.name);
  if (enters && wait) {
    if (working_.contains(request.name)) entering_.insert(request.name);
    return {false, request.finished, 0};
  }
  entering_.erase(request.name);
  Clock& clock = clocks_[request.name];
  clock.finished = std::max(clock.finished, request.finished);
  if (enters && others) clock.finished = std::max(clock.finished, *others);
  clock.away = !working_.contains(request.name);
  if (wait) return {false, clock.finished, 0};
  PaceAnswer answer{false, clock.finished,
                    std::min(clock.finished, others.value_or(clock.finished))};
  answer.go = clock.finished + request.unfinished + 1 <= answer.slowest + request.lead;
  return answer;
}

}  // namespace trireme::distributed
