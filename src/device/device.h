#pragma once

// The interface to hardware: memory, and parallel execution.

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
  // [0, threads()), and no two calls with the same thread run at once. Returns when all are done;
  // rethrows the first exception. If `parallel` is false, count is 1, or there is one thread, the
  // caller's thread runs everything. Not reentrant: body must not call run().
  using Body = std::function<void(std::int64_t begin, std::int64_t end, int thread)>;
  virtual void run(std::int64_t count, std::int64_t grain, bool parallel, const Body& body) = 0;

  // 64-byte aligned; large blocks are 2 MiB aligned and request huge pages. Error(io) with the size
  // if there is no memory.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory, std::size_t bytes) = 0;
};

// 0 threads: $TRIREME_NUM_THREADS, else the number of processors that this process may use.
std::unique_ptr<Device> make_cpu_device(int threads = 0);

}  // namespace trireme::device
