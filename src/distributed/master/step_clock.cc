#include "distributed/master/step_clock.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace trireme::distributed {

StepClock::StepClock(TaskClient& client, StepClockOptions options)
    : client_(client), options_(std::move(options)) {
  if (options_.lead == 0) fail_usage("a trainer may be at least 1 step ahead of the slowest one");
}

bool StepClock::begin() {
  const Deadline end = in(options_.patience);
  while (!options_.stopped()) {
    // Others may wait for pushes in flight.
    if (begun_ + 1 > slowest_ + options_.lead) options_.settle();
    const std::uint64_t unfinished = std::min<std::uint64_t>(options_.unfinished(), begun_);
    const PaceAnswer told = client_.pace({.finished = begun_ - unfinished,
                                          .unfinished = static_cast<std::uint32_t>(unfinished),
                                          .lead = options_.lead,
                                          .enters = enters_});
    begun_ = told.finished + unfinished;
    slowest_ = told.slowest;
    if (told.go) {
      enters_ = false;
      return true;
    }
    if (std::chrono::steady_clock::now() > end) {
      throw Unavailable("slower trainers were waited for, and have not finished their steps");
    }
  }
  return false;
}

}  // namespace trireme::distributed
