// gRPC's timers and deadlines stand on Abseil's locks, which wait for a time of day. When the clock
// of a machine is set back by an hour, they wait an hour longer: nothing is asked again or
// connected again meanwhile (grpc/grpc issue 32176). Abseil lets a program have threads wait on
// semaphores of its own, by the two functions below. These wait by the steady clock.

#include <absl/synchronization/internal/per_thread_sem.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <unordered_map>

namespace {

using absl::base_internal::ThreadIdentity;
using absl::synchronization_internal::KernelTimeout;
using absl::synchronization_internal::PerThreadSem;
using Clock = std::chrono::steady_clock;

class Semaphore {
 public:
  void post() {
    {
      const std::lock_guard lock(mutex_);
      ++count_;
    }
    posted_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    posted_.wait(lock, [&] { return count_ > 0; });
    --count_;
  }
  bool wait_until(Clock::time_point end) {
    std::unique_lock lock(mutex_);
    if (!posted_.wait_until(lock, end, [&] { return count_ > 0; })) return false;
    --count_;
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable posted_;
  int count_ = 0;
};

// Abseil reuses the identity of an ended thread for another one, and threads may still wait after
// main() has returned. So the semaphore of an identity is never destroyed.
Semaphore& semaphore_of(const ThreadIdentity* identity) {
  struct Shard {
    std::mutex mutex;
    std::unordered_map<const ThreadIdentity*, Semaphore> semaphores;
  };
  static auto& shards = *new std::array<Shard, 16>;
  // Identities lie at multiples of 256.
  Shard& shard = shards[reinterpret_cast<std::uintptr_t>(identity) / 256 % shards.size()];
  const std::lock_guard lock(shard.mutex);
  return shard.semaphores[identity];
}

Clock::time_point steady(KernelTimeout timeout) {
  const timespec end = timeout.MakeAbsTimespec();
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto left = std::chrono::seconds(end.tv_sec - now.tv_sec) +
                    std::chrono::nanoseconds(end.tv_nsec - now.tv_nsec);
  return Clock::now() + std::min<std::chrono::nanoseconds>(left, std::chrono::hours(24 * 365));
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] void ABSL_INTERNAL_C_SYMBOL(AbslInternalPerThreadSemPost)(
    ThreadIdentity* identity) {
  semaphore_of(identity).post();
}

// False: the time was over.
[[gnu::visibility("default")]] bool ABSL_INTERNAL_C_SYMBOL(AbslInternalPerThreadSemWait)(
    KernelTimeout timeout) {
  Semaphore& semaphore =
      semaphore_of(absl::synchronization_internal::GetOrCreateCurrentThreadIdentity());
  std::atomic<int>* const blocked = PerThreadSem::GetThreadBlockedCounter();
  if (blocked != nullptr) ++*blocked;
  bool posted = true;
  if (timeout.has_timeout()) posted = semaphore.wait_until(steady(timeout));
  else semaphore.wait();
  if (blocked != nullptr) --*blocked;
  return posted;
}

}  // extern "C"
