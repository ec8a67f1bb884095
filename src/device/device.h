#pragma once

// The seam to hardware: memory and a way to run work in parallel.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace trireme::device {

class Device {
 public:
  virtual ~Device() = default;

  virtual int threads() const = 0;

  // Calls body(begin, end, thread) on disjoint ranges that cover [0, count); thread is in
  // [0, threads()) and no two calls with the same thread run at once. Returns when all are done;
  // the first exception is rethrown. `parallel` false, count 1 or one thread: in the caller.
  // Not reentrant: body must not call run().
  using Body = std::function<void(std::int64_t begin, std::int64_t end, int thread)>;
  virtual void run(std::int64_t count, std::int64_t grain, bool parallel, const Body& body) = 0;

  // 64-byte aligned (2 MiB for large blocks, with huge pages asked for). Error(io) if there is no
  // memory, saying how much was wanted.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory, std::size_t bytes) = 0;
};

// threads 0: $TRIREME_NUM_THREADS, else the processors this process may use.
std::unique_ptr<Device> make_cpu_device(int threads = 0);

}  // namespace trireme::device
