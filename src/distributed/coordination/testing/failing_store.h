#pragma once

// For tests: a store that fails before one of its operations, or after it, so that only the answer
// is lost; and the enumeration of all such failures of a protocol.

#include <gtest/gtest.h>

#include <cstdio>
#include <mutex>
#include <optional>
#include <string>

#include "distributed/coordination/store.h"

namespace trireme::distributed {

// Thread-safe. Watches do not fail.
class FailingStore : public Store {
 public:
  enum class Failure { before, after };
  explicit FailingStore(Store& store) : store_(store) {}

  // The n-th operation from now on, counted from 1, fails.
  void arm(int n, Failure failure) {
    const std::lock_guard lock(mutex_);
    left_ = n;
    failure_ = failure;
    fired_ = false;
  }
  // Returns whether it has failed.
  bool disarm() {
    const std::lock_guard lock(mutex_);
    left_ = 0;
    return fired_;
  }

 private:
  template <class Call>
  auto fail_if_due(const Call& call) {
    const std::optional<Failure> failure = next();
    if (failure == Failure::before) throw Unavailable("the request is lost");
    auto answer = call();
    if (failure == Failure::after) throw Unavailable("the answer is lost");
    return answer;
  }
  std::optional<Failure> next() {
    const std::lock_guard lock(mutex_);
    if (left_ == 0 || --left_ > 0) return std::nullopt;
    fired_ = true;
    return failure_;
  }

 public:
  Outcome commit(const Transaction& transaction) override {
    return fail_if_due([&] { return store_.commit(transaction); });
  }
  std::int64_t grant(std::int64_t seconds) override {
    return fail_if_due([&] { return store_.grant(seconds); });
  }
  bool keep_alive(std::int64_t lease) override {
    return fail_if_due([&] { return store_.keep_alive(lease); });
  }
  void revoke(std::int64_t lease) override {
    fail_if_due([&] { return store_.revoke(lease), true; });
  }
  std::unique_ptr<Watch> watch(const std::string& prefix, std::int64_t from) override {
    return store_.watch(prefix, from);
  }

 private:
  Store& store_;
  std::mutex mutex_;
  int left_ = 0;  // operations up to the one that fails; 0: none fails
  Failure failure_ = Failure::before;
  bool fired_ = false;
};

// Calls `run` once for each operation of the protocol that it runs to its end, with a failure
// before this operation, and once more with a failure after it. `run` checks what must hold at the
// end. Stops at the first violation. acceptance/06-5-control.sh adds up the printed numbers.
template <class Run>
void enumerate_failures(const char* protocol, FailingStore& store, const Run& run) {
  int points = 0;
  for (const auto failure : {FailingStore::Failure::before, FailingStore::Failure::after}) {
    for (int n = 1;; ++n) {
      const bool before = failure == FailingStore::Failure::before;
      SCOPED_TRACE(std::string(protocol) + ": failure " + (before ? "before" : "after") +
                   " operation " + std::to_string(n));
      store.arm(n, failure);
      run();
      if (!store.disarm()) break;  // the protocol has fewer operations
      ++points;
      if (::testing::Test::HasFailure()) return;
    }
  }
  std::printf("failure points of %s: %d\n", protocol, points);
}

}  // namespace trireme::distributed
