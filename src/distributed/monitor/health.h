#pragma once

// Named checks of the health of a process.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace trireme::distributed {

struct Finding {
  bool well = true;
  std::string text;  // the finding, good or bad: "last step 3 s ago"
};

// The meaning of a bad finding: the process does not take part at the moment, or it never will
// again and must be ended.
enum class Means { not_ready, not_alive };

// Thread-safe.
class Health {
 public:
  // report() calls `check` on its own thread; an exception counts as bad. Whatever `check` reads
  // must exist as long as report() is called.
  void add(const std::string& name, std::function<Finding()> check, Means means = Means::not_alive);

  // Evaluates the checks of `means` and all more serious ones.
  struct Report {
    bool well = true;
    std::vector<std::pair<std::string, Finding>> findings;  // in the order of add()
    // One line for each: "ok    lease: held".
    std::string text() const;
  };
  Report report(Means means = Means::not_ready) const;

 private:
  struct Check {
    std::string name;
    std::function<Finding()> check;
    Means means;
  };
  mutable std::mutex mutex_;
  std::vector<Check> checks_;
};

// An event that should happen regularly.
class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;

  // Bad after this time without a beat, and after ten times the longest interval so far.
  explicit Heartbeat(std::chrono::seconds patience) : patience_(patience) {}

  void beat(Clock::time_point now = Clock::now());
  void rest() { last_ = kNever; }  // expects no beat until the next one
  // "last step 3 s ago" if `what` is "step". Good while no beat is expected.
  Finding check(const std::string& what, Clock::time_point now = Clock::now()) const;

 private:
  static constexpr std::int64_t kNever = INT64_MIN;
  const std::chrono::milliseconds patience_;
  std::atomic<std::int64_t> last_{kNever}, longest_{0};  // ms
};

}  // namespace trireme::distributed
