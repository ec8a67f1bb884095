#pragma once

// A trainer's end of the pace: it waits before a step that would be too far ahead of slower
// trainers.

#include <cstdint>
#include <functional>

#include "distributed/master/task_client.h"

namespace trireme::distributed {

struct StepClockOptions {
  std::uint32_t lead =
      1;  // steps by which this trainer may be ahead of the slowest one that has work
  // Steps whose changes may not have reached the servers yet, and a wait until all have.
  std::function<std::size_t()> unfinished = [] { return 0; };
  std::function<void()> settle = [] {};
  std::function<bool()> stopped = [] { return false; };
  Milliseconds patience{1200000};  // with which slower ones are waited for
};

// Used by one thread.
class StepClock {
 public:
  // The client outlives the clock.
  StepClock(TaskClient& client, StepClockOptions options);

  // Waits until the next step may begin; false: this trainer was told to stop. Errors: Unavailable,
  // when the patience has ended or no master answers.
  bool begin();
  // A step was taken.
  void end() { ++begun_; }
  // There is no work at the moment.
  void idle() { enters_ = true; }
  // Whether the step behind the next one might begin now, as far as is known: what it reads now is
  // not too old then.
  bool allows_a_look_ahead() const { return begun_ + 2 <= slowest_ + options_.lead; }
  std::uint64_t steps() const {
    return begun_;
  }  // by this trainer's clock, which jumps when it enters

 private:
  TaskClient& client_;
  const StepClockOptions options_;
  std::uint64_t begun_ = 0, slowest_ = 0;
  bool enters_ = true;
};

}  // namespace trireme::distributed
