#pragma once

// Runs a Plan.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "plan/plan.h"

namespace trireme::runtime {

class Profiler;

// What a run works on, all owned by the caller. Sizes of the symbols decide how many bytes each
// must hold.
struct Bindings {
  std::map<std::string, void*> parameters;
  std::map<std::string, const void*> feeds;
  std::vector<void*> fetches;  // as Plan::fetches
  std::uint64_t seed = 0;      // of this run's random numbers
};

struct ExecutorOptions {
  bool plan_memory = true;     // false: every buffer has its own memory; for checks
  Profiler* profiler = nullptr;  // not owned; may be null
  bool check_finite = false;   // after each step: Error(numeric) naming the first step that made NaN or infinity
};

// Not safe for use by several threads at once.
class Executor {
 public:
  // The device outlives the executor.
  Executor(std::shared_ptr<const plan::Plan> plan, device::Device& device,
           ExecutorOptions options = {});
  ~Executor();

  // The first run with new sizes places the buffers and prepares library kernels; both are
  // remembered per sizes (the 16 used last).
  void run(const SymbolSizes& sizes, const Bindings& bindings);

  const plan::Plan& plan() const;
  std::int64_t arena_bytes() const;  // of the last run

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Collects what ran when; written as Chrome-trace JSON (chrome://tracing, Perfetto).
class Profiler {
 public:
  struct Event {
    std::string name;
    std::string kernel;
    std::string layer;
    double start_us, duration_us;
  };
  void record(Event event);
  std::string chrome_trace() const;
  std::string table() const;  // by step: calls, total ms, share; longest first
  double now_us() const;

 private:
  std::vector<Event> events_;
};

}  // namespace trireme::runtime
