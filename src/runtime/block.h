#pragma once

// A block of a step, as control.cc and recurrence.cc run it.

#include <cstdint>
#include <vector>

#include "runtime/frame.h"

namespace trireme::runtime {

// The buffers of the step by their role.
struct StepBuffers {
  StepBuffers(const plan::Plan& plan, const plan::Step& step);

  const plan::Plan& plan;
  const plan::Step& step;
  std::size_t extra, arguments, results;  // how many of each, in this order

  int argument(std::size_t i) const { return step.buffers[extra + i]; }
  int result(std::size_t i) const { return step.buffers[extra + arguments + i]; }
};

class Block {
 public:
  Block(const plan::Plan& outer, const plan::Nested& nested, device::Device& device,
        const ExecutorOptions& options);

  Frame& frame() { return frame_; }
  const plan::Plan& plan() const { return frame_.plan(); }
  // The memory of argument i of the block, if its Plan wants it.
  void set_argument(std::size_t i, const void* memory) {
    if (i < feed_of_.size() && feed_of_[i] >= 0) frame_.set(feed_of_[i], memory);
  }
  void set_result(std::size_t i, void* memory) { frame_.set_fetch(i, memory); }
  // Sets the sizes of the block that equal sizes of the enclosing Plan.
  Sizes sizes_from(const BoundPlan& outer) const;

 private:
  Frame frame_;
  std::vector<int> feed_of_;  // by argument: the buffer, or -1
  std::vector<int> symbols_;  // by symbol of the block's Plan: that of the Plan around it, or -1
};

// Memory that grows.
class Memory {
 public:
  explicit Memory(device::Device& device) : device_(&device) {}
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&&) = delete;
  ~Memory();
  char* get() const { return memory_; }
  void ensure(std::int64_t bytes);

 private:
  device::Device* device_;
  char* memory_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace trireme::runtime
