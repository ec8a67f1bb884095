#pragma once

#include <memory>

#include "runtime/control.h"

namespace trireme::runtime {

// Runs a step along sequences whose rows are in the order of time: plan::Control::Kind::rnn.
std::unique_ptr<Control> make_recurrence(const plan::Plan& plan, const plan::Step& step,
                                         device::Device& device, const ExecutorOptions& options);

}  // namespace trireme::runtime
