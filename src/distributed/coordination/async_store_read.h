#pragma once

// Reads from a Store for callers that cannot wait for an unavailable store: a separate thread reads
// and waits.

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "distributed/coordination/store.h"

namespace trireme::distributed {

// Thread-safe.
template <class T>
class AsyncStoreRead {
 public:
  // `read` may throw Unavailable; now() rethrows other errors of it.
  explicit AsyncStoreRead(std::function<T()> read)
      : read_(std::move(read)), thread_([this] { run(); }) {}
  ~AsyncStoreRead() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  AsyncStoreRead(const AsyncStoreRead&) = delete;
  AsyncStoreRead& operator=(const AsyncStoreRead&) = delete;

  // Returns a value that was read after this call began, or nothing after `timeout`. Waits very
  // briefly if the store has not answered an earlier read.
  std::optional<T> now(Milliseconds timeout) {
    std::unique_lock lock(mutex_);
    const std::int64_t asked = ++asked_;
    if (std::max(answered_, failed_) + 1 == asked) since_ = Clock::now();  // the thread is free
    wake_.notify_all();
    const auto end =
        std::min(Clock::now() + timeout, away_ ? since_ + kAway : Clock::time_point::max());
    const bool answered =
        changed_.wait_until(lock, end, [&] { return answered_ >= asked || failed_ >= asked; });
    if (failure_) std::rethrow_exception(failure_);
    if (answered && answered_ >= asked) return value_;
    away_ = true;
    return std::nullopt;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Milliseconds kAway{100};

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return stop_ || asked_ > std::max(answered_, failed_); });
      if (stop_) return;
      const std::int64_t asked = asked_;
      since_ = Clock::now();
      lock.unlock();
      std::optional<T> value;
      std::exception_ptr failure;
      try {
        value = read_();
      } catch (const Unavailable&) {
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      take(asked, std::move(value), std::move(failure));
    }
  }
  // Call these with the mutex locked.
  void take(std::int64_t asked, std::optional<T> value, std::exception_ptr failure) {
    away_ = !value;
    (value ? answered_ : failed_) = asked;
    if (value) value_ = std::move(value);
    failure_ = std::move(failure);
    changed_.notify_all();
  }

  const std::function<T()> read_;
  std::mutex mutex_;
  std::condition_variable wake_, changed_;
  std::int64_t asked_ = 0;                  // reads requested, and
  std::int64_t answered_ = 0, failed_ = 0;  // completed up to this number
  std::optional<T> value_;                  // the last value
  bool away_ = false;                       // the store has not answered the last read in time,
  Clock::time_point since_ = {};            // which began then
  std::exception_ptr failure_;              // of the last read
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace trireme::distributed
