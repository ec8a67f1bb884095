#include "distributed/coordination/lease_keeper.h"

#include <fmt/core.h>

#include "base/error.h"

namespace trireme::distributed {
namespace {

LeaseOptions checked(const LeaseOptions& options) {
  check_lease_time(options.seconds);
  return options;
}

}  // namespace

void check_lease_time(std::int64_t seconds) {
  if (seconds >= kLeastLease) return;
  fail_usage(
      fmt::format("a lease of {} s is too short to be kept alive\n  hint   take {} s or more; 5 s "
                  "is what the processes of a job have",
                  seconds, kLeastLease));
}

LeaseKeeper::LeaseKeeper(Store& store, const LeaseOptions& options)
    : store_(store),
      options_(checked(options)),
      id_(store.grant(options.seconds)),
      // Granted a moment ago at most: a part of it is given up for that.
      safe_until_(Clock::now() + Milliseconds(std::chrono::seconds(options.seconds)) * 3 / 4),
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
  } catch (const Error&) {  // it ends by itself
  }
}

bool LeaseKeeper::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_ || Clock::now() >= safe_until_;
}

void LeaseKeeper::lose() {
  {
    const std::lock_guard lock(mutex_);
    if (lost_) return;
    lost_ = true;
  }
  if (options_.on_lost) options_.on_lost();
}

void LeaseKeeper::run() {
  const auto time = std::chrono::seconds(options_.seconds);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, Milliseconds(time) / 3, [this] { return stop_; });
      if (stop_) return;
    }
    const auto asked = Clock::now();
    bool lives = true, answered = true;
    try {
      lives = store_.keep_alive(id_);
    } catch (const Error&) {
      answered = false;  // and is asked again
    }
    if (answered && lives) {
      const std::lock_guard lock(mutex_);
      if (Clock::now() < safe_until_) safe_until_ = asked + time;
    }
    if (!lives || lost()) return lose();
  }
}

}  // namespace trireme::distributed
