#pragma once

// The time of day that processes of a run believe: that of the machine and a difference. A small
// library, clock_shim.cc, is loaded into them; the machine's own clock stays as it is.

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace trireme::chaos {

class Clock {
 public:
  // `file` is where processes read the difference. Errors: io.
  explicit Clock(const std::string& file);
  ~Clock();
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  // Whether this build has the library: sanitizers would have to be loaded before it.
  static bool has_shim();
  // For processes that are to believe it.
  std::map<std::string, std::string> environment() const;
  void jump(double seconds);  // of all of them, at once
  double difference() const;  // seconds

 private:
  const std::string file_;
  std::atomic<std::int64_t>* nanoseconds_ = nullptr;
};

}  // namespace trireme::chaos
