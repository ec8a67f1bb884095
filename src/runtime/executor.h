#pragma once

// Runs a Plan.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "kernels/library.h"
#include "plan/plan.h"

namespace trireme::runtime {

class Limits;
class Profiler;

// The memory of a run, which the caller owns. The sizes of the symbols determine the bytes of each
// buffer. A buffer of 0 bytes may be null, and so may a fetch whose size only the run determines. A
// fetch overlaps no other buffer. If a Plan fetches a parameter or a feed, the fetch is a copy of
// its content at the end of the run.
struct Bindings {
  std::map<std::string, void*> parameters;
  std::map<std::string, const void*> feeds;
  std::vector<void*> fetches;  // as Plan::fetches
  std::uint64_t seed = 0;      // of this run's random numbers
};

struct ExecutorOptions {
  bool plan_memory = true;       // false: every buffer has its own memory; for checks
  Profiler* profiler = nullptr;  // not owned; may be null
  bool check_finite =
      false;  // after each step: Error(numeric) naming the first step that made NaN or infinity
  Limits* limits = nullptr;                        // counts operations; not owned; may be null
  kernels::Find find_kernel = kernels::find_loop;  // where library kernels are looked up
};

// Not safe for use by several threads at once.
class Executor {
 public:
  // The device outlives the executor.
  Executor(std::shared_ptr<const plan::Plan> plan, device::Device& device,
           ExecutorOptions options = {});
  ~Executor();

  // The first run with new sizes places the buffers and prepares library kernels. Both are kept for
  // the last 16 sets of sizes. Error(usage) if a name or size is missing. An Error of a step is
  // rethrown with the name and the sources of the step; parameters may then be partly updated.
  void run(const SymbolSizes& sizes, const Bindings& bindings);

  const plan::Plan& plan() const;
  // The shape and memory of fetch i, whose size only the run determined; valid until the next run.
  // The caller passed null for it.
  std::vector<std::int64_t> shape_of_fetch(std::size_t i) const;
  const void* memory_of_fetch(std::size_t i) const;
  std::int64_t arena_bytes() const;      // of the last run, as place() planned
  std::int64_t workspace_bytes() const;  // of the last run: scratch memory of kernels

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Records when each step ran; writes Chrome-trace JSON (chrome://tracing, Perfetto).
class Profiler {
 public:
  struct Event {
    std::string name;
    std::string kernel;
    std::string layer;
    double start_us, duration_us;
    std::int64_t operations;  // see plan::Step
  };
  void record(Event event);
  // The first 200,000 events; the table counts all.
  std::string chrome_trace() const;
  // By step: calls, total ms, share, operations in billions per second; longest first.
  std::string table() const;
  std::int64_t operations() const { return operations_; }  // of all steps
  double now_us() const;                                   // since this profiler was made

 private:
  struct Total {
    std::string kernel;
    std::int64_t calls = 0;
    double us = 0;
    std::int64_t operations = 0;
  };
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::int64_t operations_ = 0;
  std::vector<Event> events_;
  std::map<std::string, Total> totals_;  // by name
};

}  // namespace trireme::runtime
