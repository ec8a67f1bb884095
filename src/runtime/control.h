#pragma once

// Steps that run other Plans: conditions, loops, recurrences.

#include <cstdint>
#include <memory>

#include "device/device.h"
#include "plan/plan.h"
#include "runtime/bound_plan.h"
#include "runtime/executor.h"

namespace trireme::runtime {

class Control {
 public:
  virtual ~Control() = default;
  // `outer` has the present sizes; `arguments` are the buffers of the step.
  virtual void run(const BoundPlan& outer, void* const* arguments, std::uint64_t seed) = 0;
};

// `step` is one of `plan`; both outlive the result.
std::unique_ptr<Control> make_control(const plan::Plan& plan, const plan::Step& step,
                                      device::Device& device, const ExecutorOptions& options);

}  // namespace trireme::runtime
