#include "distributed/coordination/lease_keeper.h"

#include <fmt/core.h>

#include "base/error.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kLeaseRetryDelay{250};  // of a store that has not answered

LeaseOptions checked(const LeaseOptions& options) {
  check_lease_time(options.seconds);
  return options;
}

}  // namespace

void check_lease_time(std::int64_t seconds) {
  if (seconds >= kMinLease) return;
  fail_usage(
      fmt::format("a lease of {} s is too short to be kept alive\n  hint   take {} s or more; 5 s "
                  "is what the processes of a job have",
                  seconds, kMinLease));
}

LeaseKeeper::LeaseKeeper(Store& store, const LeaseOptions& options)
    : store_(store),
      options_(checked(options)),
      heard_(Clock::now()),  // before the request: the lease begins when the store grants it
      id_(store.grant(options.seconds)),
      safe_until_(heard_ + std::chrono::seconds(options.seconds)),
      thread_([this] { run(); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  try {
    if (!lost()) store_.revoke(id_);
  } catch (const Error&) {  // it expires
  }
}

bool LeaseKeeper::lost() const {
  const std::lock_guard lock(mutex_);
  return ended_ || Clock::now() >= safe_until_;
}

bool LeaseKeeper::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

LeaseKeeper::Clock::time_point LeaseKeeper::heard() const {
  const std::lock_guard lock(mutex_);
  return heard_;
}

void LeaseKeeper::tell() {
  const bool lost = this->lost();
  if (lost && !told_ && options_.on_lost) options_.on_lost();
  told_ = lost;
}

// Whether the store has answered.
bool LeaseKeeper::ask() {
  const auto asked = Clock::now();
  bool lives = false;
  try {
    lives = store_.keep_alive(id_);
  } catch (const Error&) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  heard_ = asked;
  ended_ = !lives;
  if (lives) safe_until_ = asked + std::chrono::seconds(options_.seconds);
  return true;
}

// A store that comes back gives leases the time that they had left, so it is asked again soon.
void LeaseKeeper::run() {
  const Milliseconds pause = Milliseconds(std::chrono::seconds(options_.seconds)) / 3;
  for (bool answered = true;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, answered ? pause : kLeaseRetryDelay, [this] { return stop_; });
      if (stop_) return;
    }
    answered = ask();
    tell();
    if (ended()) return;
  }
}

}  // namespace trireme::distributed
