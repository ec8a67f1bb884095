#include "group_watch.h"

#include <algorithm>
#include <cstdio>

namespace trireme::chaos {

namespace {

constexpr std::chrono::seconds kSettled{1};  // after which what is said is of after a hit

}  // namespace

bool GroupWatch::hear(const std::string& name, const std::string& line) {
  long long generation = 0, time = 0;
  int size = 0;
  const auto since_hit = [&] {
    return std::chrono::duration<double>(std::chrono::nanoseconds(time) - hit_.time_since_epoch())
        .count();
  };
  if (std::sscanf(line.c_str(), "broken %lld", &time) == 1) {
    if (!broken_ && since_hit() > 0)
      waits_["kill member: another one knows"].push_back(since_hit());
    broken_ = broken_ || since_hit() > 0;
    return true;
  }
  if (std::sscanf(line.c_str(), "group %lld %d %lld", &generation, &size, &time) != 3) return false;
  if (time != 0 && !formed_ && since_hit() > 0) {
    waits_["kill member: the others are a group"].push_back(since_hit());
    broken_ = formed_ = true;  // some know by the new group alone
  }
  if (Steady::now() > hit_ + kSettled) said_[name] = {generation, size};
  return true;
}

bool GroupWatch::whole() const {
  if (said_.empty()) return false;
  const Said first = said_.begin()->second;
  const auto together = std::count_if(said_.begin(), said_.end(), [&](const auto& said) {
    return said.second.generation == first.generation && said.second.size == members_;
  });
  return together == members_ && said_.size() == static_cast<std::size_t>(members_);
}

void GroupWatch::hit(bool measured) {
  hit_ = Steady::now();
  said_.clear();
  broken_ = formed_ = !measured;
}

}  // namespace trireme::chaos
