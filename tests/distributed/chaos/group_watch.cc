#include "group_watch.h"

#include <algorithm>
#include <cstdio>

namespace trireme::chaos {

namespace {

constexpr std::chrono::seconds kSettled{1};  // after which what is said is of after a hit
constexpr const char *kKnow = "kill member: all others know",
                     *kFormed = "kill member: all others are a group";

}  // namespace

bool GroupWatch::hear(const std::string& name, const std::string& line) {
  long long generation = 0, time = 0;
  int size = 0;
  const bool broken = std::sscanf(line.c_str(), "broken %lld", &time) == 1;
  if (!broken && std::sscanf(line.c_str(), "group %lld %d %lld", &generation, &size, &time) != 3) {
    return false;
  }
  const double since =
      std::chrono::duration<double>(std::chrono::nanoseconds(time) - hit_.time_since_epoch())
          .count();
  const auto survivor = survivors_.find(name);
  if (survivor != survivors_.end() && time != 0 && since > 0) {
    Survivor& one = survivor->second;
    std::optional<double>& first = broken ? one.knows : one.formed;
    if (!first) first = since;
    notify_acquainted();
  }
  if (!broken && Steady::now() > hit_ + kSettled) said_[name] = {generation, size};
  return true;
}

// When the last member is in a group. Members that were not exchanging gradients do not report the
// broken group.
void GroupWatch::notify_acquainted() {
  double know = 0, formed = 0;
  for (const auto& [name, one] : survivors_) {
    if (!one.formed) return;
    know = std::max(know, one.knows.value_or(0));
    formed = std::max(formed, *one.formed);
  }
  if (know > 0) waits_[kKnow].push_back(know);
  waits_[kFormed].push_back(formed);
  survivors_.clear();
}

void GroupWatch::give_up() {
  if (survivors_.empty()) return;
  const double since = std::chrono::duration<double>(Steady::now() - hit_).count();
  const bool all_know = std::all_of(survivors_.begin(), survivors_.end(), [](const auto& one) {
    return one.second.knows || one.second.formed;
  });
  if (!all_know) waits_[kKnow].push_back(since);
  waits_[kFormed].push_back(since);
  survivors_.clear();
}

bool GroupWatch::whole() const {
  if (said_.empty()) return false;
  const Said first = said_.begin()->second;
  const auto together = std::count_if(said_.begin(), said_.end(), [&](const auto& said) {
    return said.second.generation == first.generation && said.second.size == members_;
  });
  return together == members_ && said_.size() == static_cast<std::size_t>(members_);
}

void GroupWatch::hit(const std::optional<std::string>& killed) {
  give_up();
  if (killed && whole()) {
    for (const auto& [name, said] : said_) survivors_[name];
    survivors_.erase(*killed);
  }
  hit_ = Steady::now();
  said_.clear();
}

}  // namespace trireme::chaos
