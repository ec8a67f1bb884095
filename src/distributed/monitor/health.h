#pragma once

// Whether a process is well, as named checks say.

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
  std::string text;  // what was found, good or bad: "last step 3 s ago"
};

// What a finding that is bad says of a process: it does not take part at the moment; or it never
// will again, so it is to be ended.
enum class Means { not_ready, not_alive };

// Safe for several threads at once.
class Health {
 public:
  // `look` is called by report(), whichever thread calls that; what it throws is bad. What it looks
  // at must be there as long as report() is called.
  void add(const std::string& name, std::function<Finding()> look, Means means = Means::not_alive);

  // By the checks of `means`, and by all that mean more.
  struct Report {
    bool well = true;
    std::vector<std::pair<std::string, Finding>> findings;  // in the order of add()
    // A line for each: "ok    lease: held".
    std::string text() const;
  };
  Report report(Means means = Means::not_ready) const;

 private:
  struct Check {
    std::string name;
    std::function<Finding()> look;
    Means means;
  };
  mutable std::mutex mutex_;
  std::vector<Check> checks_;
};

// Something that ought to happen now and then.
class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;

  // It is bad if it has not happened for this long, nor for ten times as long as it ever took.
  explicit Heartbeat(std::chrono::seconds patience) : patience_(patience) {}

  void beat(Clock::time_point now = Clock::now());
  void rest() { last_ = kNever; }  // it is not expected any more, until the next beat
  // "last step 3 s ago", `what` being "step". Where none is expected yet, or any more, nothing is
  // bad.
  Finding look(const std::string& what, Clock::time_point now = Clock::now()) const;

 private:
  static constexpr std::int64_t kNever = INT64_MIN;
  const std::chrono::milliseconds patience_;
  std::atomic<std::int64_t> last_{kNever}, longest_{0};  // ms
};

}  // namespace trireme::distributed
