#pragma once

// For tests: a store that can be disconnected from its callers, and a clock for its leases.

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "base/testing/wait_until.h"
#include "distributed/coordination/store.h"

namespace trireme::distributed {

class CutStore : public Store {
 public:
  explicit CutStore(Store& store) : store_(store) {}
  std::atomic<bool> cut{false};
  mutable std::atomic<int> refused{0};  // refused calls while disconnected
  Milliseconds patience{0};             // the time limit of a call, as in a real store
  // Returns whether this call fails. Both are set before the first call.
  std::function<bool(const Transaction& t)> loses = {};

  Outcome commit(const Transaction& t) override {
    check();
    if (loses && loses(t)) throw Unavailable("lost");
    return store_.commit(t);
  }
  std::int64_t grant(std::int64_t seconds) override { return check(), store_.grant(seconds); }
  bool keep_alive(std::int64_t lease) override { return check(), store_.keep_alive(lease); }
  void revoke(std::int64_t lease) override { check(), store_.revoke(lease); }
  std::unique_ptr<Watch> watch(const std::string& prefix, std::int64_t from) override {
    return store_.watch(prefix, from);
  }

 private:
  void check() const {
    if (!cut) return;
    std::this_thread::sleep_for(patience);
    ++refused;
    throw Unavailable("cut off");
  }
  Store& store_;
};

// The clock of a store, for the end of leases. It can stop while the store is unavailable, so that
// leases last, as in an etcd that is killed and restarted; and it can jump, so that leases end at
// once.
class TestClock {
 public:
  using Time = std::chrono::steady_clock;
  Time::time_point now() const {
    const std::lock_guard lock(mutex_);
    return at();
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    since_ = at();
    stopped_ = true;
  }
  void resume() {
    const std::lock_guard lock(mutex_);
    behind_ = Time::now() - at();
    stopped_ = false;
  }
  // Not while it is stopped.
  void advance(Time::duration time) {
    const std::lock_guard lock(mutex_);
    behind_ -= time;
  }

 private:
  Time::time_point at() const { return stopped_ ? since_ : Time::now() - behind_; }

  mutable std::mutex mutex_;
  bool stopped_ = false;
  Time::time_point since_ = {};
  Time::duration behind_ = {};
};

}  // namespace trireme::distributed
