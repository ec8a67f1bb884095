#pragma once

// One Plan, ready to run on memory given by pointers. The Executor runs a frame, and steps with
// blocks run frames repeatedly.

#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.h"
#include "plan/plan.h"
#include "runtime/bound_plan.h"
#include "runtime/executor.h"

namespace trireme::runtime {

class Control;

class Frame {
 public:
  Frame(std::shared_ptr<const plan::Plan> plan, device::Device& device, ExecutorOptions options);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const plan::Plan& plan() const { return *plan_; }
  // The buffers that are fed, in the order of the Plan's buffers.
  const std::vector<int>& feeds() const { return feeds_; }
  // The memory of a feed or parameter, or of a fetch that the kernels write themselves.
  void set(int buffer, const void* memory) {
    external_[static_cast<std::size_t>(buffer)] = const_cast<void*>(memory);
  }
  void set_fetch(std::size_t fetch, void* memory);

  // Set the sizes of a run, in the order of Plan::symbols; any number for sizes that steps define.
  // place() keeps the placements of the last sizes. reserve() places for the largest sizes, and
  // resize() is cheap afterwards.
  void place(const Sizes& sizes);
  void reserve(const Sizes& largest);
  void resize(const Sizes& sizes);
  void run(std::uint64_t seed);

  const BoundPlan& bound() const { return *bounds_.front(); }
  bool placed() const { return !bounds_.empty(); }
  // The memory of a buffer after a run; valid until the next.
  void* memory_of(std::size_t buffer) const;

 private:
  struct Own {
    char* memory = nullptr;
    std::int64_t bytes = 0;
  };

  void find_external();
  std::unique_ptr<BoundPlan> make_bound(const Sizes& sizes) const;
  void ensure_memory();
  void ensure_own_memory();
  void point();
  void run_steps();
  void spend(std::size_t i);
  void run_step(std::size_t i);
  void run_with_scratch(const BoundStep& step);
  void define(const plan::Step& step);
  void record(std::size_t i, double start_us);
  void check(const plan::Step& step) const;
  void release(Own& own);

  std::shared_ptr<const plan::Plan> plan_;
  device::Device& device_;
  ExecutorOptions options_;
  FlatPlan flat_;
  std::vector<int> feeds_, own_;
  std::vector<void*> external_;  // memory of the roots outside the arena
  std::vector<void*>
      fetched_;  // where fetches that no kernel writes itself are copied to; may be null
  std::vector<int> direct_;  // by fetch: the buffer that the kernels write, or -1
  std::vector<std::vector<void*>> thread_pointers_;  // arguments of a step with scratch, by thread
  std::vector<std::unique_ptr<BoundPlan>> bounds_;   // the one used last is first
  std::vector<std::unique_ptr<Control>> controls_;   // by step; null for all others
  Own arena_, workspace_;
  std::vector<Own> own_memory_;  // by buffer
  std::uint64_t seed_ = 0;
};

}  // namespace trireme::runtime
