#pragma once

// The trainer side of the pace: waits before a step that would be too far ahead of slower trainers.

#include <cstdint>
#include <functional>

#include "distributed/master/task_client.h"

namespace trireme::distributed {

struct StepClockOptions {
  std::uint32_t lead = 1;  // most steps ahead of the slowest trainer with work
  // Returns the number of steps whose changes may not have reached the servers; and waits for all.
  std::function<std::size_t()> unfinished = [] { return 0; };
  std::function<void()> settle = [] {};
  std::function<bool()> stopped = [] { return false; };
  Milliseconds patience{1200000};  // most time to wait for slower trainers
};

// For one thread.
class StepClock {
 public:
  // The client outlives the clock.
  StepClock(TaskClient& client, StepClockOptions options);

  // Waits until the next step may begin. Returns false if this trainer must stop. Errors:
  // Unavailable after the patience, or if no master answers.
  bool begin();
  // A step is complete.
  void end() { ++begun_; }
  // There is no work at the moment.
  void idle() { enters_ = true; }
  // Whether the step after the next one might begin now, by what is known, so that data read now
  // is not too old for it.
  bool allows_prefetch() const { return begun_ + 2 <= slowest_ + options_.lead; }
  std::uint64_t steps() const {
    return begun_;
  }  // by the clock of this trainer, which jumps when it enters

 private:
  TaskClient& client_;
  const StepClockOptions options_;
  std::uint64_t begun_ = 0, slowest_ = 0;
  bool enters_ = true;
};

}  // namespace trireme::distributed
