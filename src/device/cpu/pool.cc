#include "device/cpu/pool.h"

#include <algorithm>
#include <chrono>

#include "base/fork.h"

namespace trireme::device {

namespace {

constexpr std::uint64_t kInside = 0xffff;
constexpr std::uint64_t kOpen = 1u << 16;
constexpr int kJobShift = 17;
// Chunks per thread: enough for helpers to have something to take, few enough to cost nothing.
constexpr std::int64_t kChunksPerThread = 4;
constexpr std::chrono::microseconds kSpinTime{50};
constexpr int kPausesPerClockRead = 64;

std::uint64_t job_of(std::uint64_t gate) { return gate >> kJobShift; }

void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Calls `done` until it says true or kSpinTime has passed; what `done` said last.
template <class Done>
bool spin(const Done& done) {
  const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < kPausesPerClockRead; ++i) {
      if (done()) return true;
      pause_processor();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

}  // namespace

Pool::Pool(int threads, bool may_spin)
    : shares_(static_cast<std::size_t>(std::max(1, threads))), may_spin_(may_spin) {
  start_workers();
}

void Pool::start_workers() {
  forks_ = fork_count();
  workers_ = std::make_unique<Workers>();
  for (int i = 1; i < threads(); ++i) {
    workers_->threads.emplace_back([this, i] { worker(i); });
  }
}

Pool::~Pool() {
  if (forks_ != fork_count()) {
    static_cast<void>(workers_.release());  // they are threads of the parent
    return;
  }
  {
    const std::lock_guard lock(workers_->mutex);
    closing_.store(true);
  }
  workers_->wake.notify_all();
  for (std::thread& thread : workers_->threads) thread.join();
}

void Pool::run(std::int64_t count, std::int64_t grain, const Device::Body& body) {
  if (forks_ != fork_count()) {
    static_cast<void>(workers_.release());
    gate_.store(0);
    sleepers_.store(0);
    start_workers();
  }
  const std::int64_t threads = this->threads();
  const std::int64_t target = count / (threads * kChunksPerThread);
  chunk_ = std::max({std::int64_t{1}, grain, target});
  body_ = &body;
  error_ = nullptr;
  failed_.store(false, std::memory_order_relaxed);
  // Shares begin at whole chunks.
  const std::int64_t chunks = (count + chunk_ - 1) / chunk_;
  for (std::int64_t t = 0; t < threads; ++t) {
    Share& share = shares_[static_cast<std::size_t>(t)];
    share.next.store(std::min(count, chunks * t / threads * chunk_), std::memory_order_relaxed);
    share.end = std::min(count, chunks * (t + 1) / threads * chunk_);
  }
  const std::uint64_t job = job_of(gate_.load(std::memory_order_relaxed)) + 1;
  gate_.store(job << kJobShift | kOpen);  // sequentially consistent with sleepers_, both ways
  if (sleepers_.load() > 0) {
    {
      const std::lock_guard lock(workers_->mutex);
    }
    workers_->wake.notify_all();
  }
  work(0);
  close_gate_and_wait();
  body_ = nullptr;
  if (error_) std::rethrow_exception(error_);
}

void Pool::close_gate_and_wait() {
  gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
  const auto empty = [this] { return (gate_.load(std::memory_order_acquire) & kInside) == 0; };
  while (!(may_spin_ ? spin(empty) : empty())) std::this_thread::yield();
}

void Pool::worker(int thread) {
  std::uint64_t seen = 0;
  while (enter(&seen)) {
    work(thread);
    gate_.fetch_sub(1, std::memory_order_release);
  }
}

// Goes in if there is a job that this worker has not seen and its gate is open. Either way the
// worker has seen it afterwards.
bool Pool::try_enter(std::uint64_t* seen) {
  std::uint64_t gate = gate_.load();
  while (job_of(gate) != *seen && (gate & kOpen) != 0) {
    if (gate_.compare_exchange_weak(gate, gate + 1)) {
      *seen = job_of(gate);
      return true;
    }
  }
  *seen = job_of(gate);
  return false;
}

bool Pool::enter(std::uint64_t* seen) {
  const auto changed = [&] {
    return job_of(gate_.load()) != *seen || closing_.load(std::memory_order_relaxed);
  };
  while (!closing_.load(std::memory_order_relaxed)) {
    if (may_spin_ ? spin(changed) : changed()) {
      // A job may have come and gone while this worker woke up: then it watches for the next.
      if (try_enter(seen)) return true;
    } else {
      sleep_until_changed(*seen);
    }
  }
  return false;
}

// Returns at once if a job after `seen` has been given out.
void Pool::sleep_until_changed(std::uint64_t seen) {
  std::unique_lock lock(workers_->mutex);
  sleepers_.fetch_add(1);
  workers_->wake.wait(lock, [&] { return closing_.load() || job_of(gate_.load()) != seen; });
  sleepers_.fetch_sub(1);
}

void Pool::work(int thread) {
  const int threads = this->threads();
  for (int i = 0; i < threads; ++i) {
    Share& share = shares_[static_cast<std::size_t>((thread + i) % threads)];
    // Look before taking: `next` is not to run away.
    while (share.next.load(std::memory_order_relaxed) < share.end) {
      const std::int64_t begin = share.next.fetch_add(chunk_, std::memory_order_relaxed);
      if (begin >= share.end) break;
      if (failed_.load(std::memory_order_relaxed)) return;
      try {
        (*body_)(begin, std::min(begin + chunk_, share.end), thread);
      } catch (...) {
        const std::lock_guard lock(error_mutex_);
        if (!error_) error_ = std::current_exception();
        failed_.store(true, std::memory_order_relaxed);
        return;
      }
    }
  }
}

}  // namespace trireme::device
