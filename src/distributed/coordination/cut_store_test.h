#pragma once

// For tests: a store that can be cut off from its callers, and whose clock may stand still
// meanwhile.

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "base/comes_true_test.h"
#include "distributed/coordination/store.h"

namespace trireme::distributed {

class CutStore : public Store {
 public:
  explicit CutStore(Store& store) : store_(store) {}
  std::atomic<bool> cut{false};
  mutable std::atomic<int> refused{0};  // questions, by the cut
  Milliseconds patience{0};             // before it is given up, as a real one has it
  // Whether this one is lost. Both are set before anybody asks the store.
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

// The clock of a store, which stands still while that is away: so leases last, as those of an etcd
// that is killed and started again do.
class StandingClock {
 public:
  using Time = std::chrono::steady_clock;
  Time::time_point now() const {
    const std::lock_guard lock(mutex_);
    return at();
  }
  void stand() {
    const std::lock_guard lock(mutex_);
    since_ = at();
    stands_ = true;
  }
  void go_on() {
    const std::lock_guard lock(mutex_);
    behind_ = Time::now() - at();
    stands_ = false;
  }

 private:
  Time::time_point at() const { return stands_ ? since_ : Time::now() - behind_; }

  mutable std::mutex mutex_;
  bool stands_ = false;
  Time::time_point since_ = {};
  Time::duration behind_ = {};
};

}  // namespace trireme::distributed
