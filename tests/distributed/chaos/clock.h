#pragma once

// The time of day of the processes of a run: that of the machine plus a difference. A small
// library, clock_shim.cc, is preloaded into them; the clock of the machine does not change.

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace trireme::chaos {

class Clock {
 public:
  // Processes read the difference from `file`. Errors: io.
  explicit Clock(const std::string& file);
  ~Clock();
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  // Whether this build has the library: sanitizers would have to be loaded before it.
  static bool has_shim();
  // For processes with the shifted clock.
  std::map<std::string, std::string> environment() const;
  void jump(double seconds);  // of all processes at once
  double difference() const;  // seconds

 private:
  const std::string file_;
  std::atomic<std::int64_t>* nanoseconds_ = nullptr;
};

}  // namespace trireme::chaos
