#include "runtime/block.h"

#include <algorithm>
#include <utility>

namespace trireme::runtime {

StepBuffers::StepBuffers(const plan::Plan& plan_, const plan::Step& step_)
    : plan(plan_), step(step_), extra(static_cast<std::size_t>(step.control.extra)) {
  results = step.control.blocks.back().plan->fetches.size();
  if (step.control.kind == plan::Control::Kind::while_loop) ++results;  // the number of steps
  arguments = step.buffers.size() - extra - results;
}

Block::Block(const plan::Plan& outer, const plan::Nested& nested, device::Device& device,
             const ExecutorOptions& options)
    : frame_(nested.plan, device, options) {
  for (std::size_t k = 0; k < nested.arguments.size(); ++k) {
    const auto argument = static_cast<std::size_t>(nested.arguments[k]);
    if (argument >= feed_of_.size()) feed_of_.resize(argument + 1, -1);
    feed_of_[argument] = frame_.feeds()[k];
  }
  for (const std::string& symbol : nested.plan->symbols) {
    const auto found = std::find(outer.symbols.begin(), outer.symbols.end(), symbol);
    symbols_.push_back(
        found == outer.symbols.end() ? -1 : static_cast<int>(found - outer.symbols.begin()));
  }
}

Sizes Block::sizes_from(const BoundPlan& outer) const {
  Sizes sizes;
  for (const int symbol : symbols_) {
    sizes.push_back(symbol < 0 ? 0 : outer.current[static_cast<std::size_t>(symbol)]);
  }
  return sizes;
}

Memory::Memory(Memory&& other) noexcept
    : device_(other.device_),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Memory::~Memory() { device_->release(memory_, static_cast<std::size_t>(bytes_)); }

void Memory::ensure(std::int64_t bytes) {
  if (memory_ != nullptr && bytes <= bytes_) return;
  device_->release(memory_, static_cast<std::size_t>(bytes_));
  memory_ = nullptr;
  bytes_ = 0;
  memory_ = static_cast<char*>(device_->allocate(static_cast<std::size_t>(bytes)));
  bytes_ = bytes;
}

}  // namespace trireme::runtime
