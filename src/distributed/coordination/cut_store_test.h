#pragma once

// For tests: a store that can be cut off from its callers.

#include <atomic>
#include <thread>

#include "distributed/coordination/store.h"

namespace trireme::distributed {

class CutStore : public Store {
 public:
  explicit CutStore(Store& store) : store_(store) {}
  std::atomic<bool> cut{false};
  std::atomic<int> lose{0};  // so many of the next commits; of those that are asked for only
  Milliseconds patience{0};  // before it is given up, as a real one has it

  Outcome commit(const Transaction& t) override {
    check();
    if (lose > 0 && lose-- > 0) throw Unavailable("lost");
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
    throw Unavailable("cut off");
  }
  Store& store_;
};

// Whether it becomes so, with the patience of a busy machine.
template <class Condition>
bool comes_true(const Condition& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(Milliseconds(2));
  }
  return true;
}

}  // namespace trireme::distributed
