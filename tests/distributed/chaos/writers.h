#pragma once

// How long it takes until every process of a job can write to its store again.

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

// In a process of a job: writes a key all the time, by a connection of its own, and prints "writes
// TIME" when that has worked again after it did not, or took long. TIME in nanoseconds of the
// steady clock.
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

// In the runner: what they say.
class WriterWatch {
 public:
  using Steady = std::chrono::steady_clock;

  // Whether the line was one of a writer's.
  bool hear(const std::string& name, const std::string& line);
  void gone(const std::string& name) { waited_for_.erase(name); }
  // The store is away from now on for these processes.
  void away(const std::vector<std::string>& names);
  // It is there again.
  void back(Steady::time_point when) { back_ = when; }
  // What is not over by now is no shorter than that.
  void give_up();
  // Seconds until the last of them could write.
  const std::vector<double>& waits() const { return waits_; }

 private:
  std::set<std::string> waited_for_;
  Steady::time_point away_ = {};
  std::optional<Steady::time_point> back_;
  double last_ = 0;  // seconds after it was there again
  std::vector<double> waits_;
};

}  // namespace trireme::chaos
