#pragma once

// The time until every process of a job can write to its store again.

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "distributed/coordination/store.h"

namespace trireme::chaos {

// In a process of a job: writes a key repeatedly with a separate connection, and prints "writes
// TIME" when that works again after it failed or took long. TIME in nanoseconds of the steady
// clock.
class Writer {
 public:
  Writer(std::unique_ptr<distributed::Store> store, std::string key);
  ~Writer();

 private:
  void run();

  const std::unique_ptr<distributed::Store> store_;
  const std::string key_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// In the runner: follows their lines.
class WriterWatch {
 public:
  using Steady = std::chrono::steady_clock;

  // Returns whether the line was one of a writer.
  bool hear(const std::string& name, const std::string& line);
  void gone(const std::string& name) { waited_for_.erase(name); }
  // The store is unavailable from now on for these processes.
  void away(const std::vector<std::string>& names);
  // It is available again.
  void back(Steady::time_point when) { back_ = when; }
  // Ends measurements in progress; they took at least this long.
  void give_up();
  // Seconds until the last of them could write.
  const std::vector<double>& waits() const { return waits_; }

 private:
  std::set<std::string> waited_for_;
  Steady::time_point away_ = {};
  std::optional<Steady::time_point> back_;
  double last_ = 0;  // seconds after it was available again
  std::vector<double> waits_;
};

}  // namespace trireme::chaos
