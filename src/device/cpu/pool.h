#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "device/device.h"

namespace trireme::device {

// The one thread pool. The caller of run() works too, as thread 0. Every thread first takes chunks
// of its own share of the range, so that data stays in the cache of one core from step to step.
// Then it helps the others. The caller never waits for a worker that has not begun: if the system
// does not schedule that worker, the others do its share.
//
// Idle workers poll for work for some tens of microseconds and then sleep. They sleep at once if
// there are more threads than processors, because polling would take time from working threads.
//
// A child of fork() has none of the workers: its first run() starts others. The parent must not be
// in run() during fork(), because its caller is then missing in the child.
class Pool {
 public:
  Pool(int threads, bool may_spin);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  int threads() const { return static_cast<int>(shares_.size()); }

  // As Device::run with `parallel` true. One call at a time.
  void run(std::int64_t count, std::int64_t grain, const Device::Body& body);

 private:
  struct alignas(128) Share {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  void start_workers();
  void worker(int thread);
  bool enter(std::uint64_t* seen);  // false: the pool is closing
  bool try_enter(std::uint64_t* seen);
  void sleep_until_changed(std::uint64_t seen);
  void work(int thread);
  void close_gate_and_wait();

  // Of the current job; run() writes them while the gate is closed.
  const Device::Body* body_ = nullptr;
  std::int64_t chunk_ = 1;
  std::vector<Share> shares_;
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::atomic<bool> failed_{false};

  // Job number << 17 | open << 16 | workers inside. Workers enter only while it is open.
  alignas(128) std::atomic<std::uint64_t> gate_{0};
  alignas(128) std::atomic<int> sleepers_{0};
  std::atomic<bool> closing_{false};
  bool may_spin_;
  struct Workers {
    std::mutex mutex;  // for sleeping
    std::condition_variable wake;
    std::vector<std::thread> threads;
  };
  int forks_ = 0;  // fork_count() when the workers were started
  std::unique_ptr<Workers> workers_;
};

}  // namespace trireme::device
