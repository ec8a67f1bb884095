#pragma once

// How often the tasks of a job were handed out, as its store says: every change of their keys is
// seen.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "distributed/coordination/store.h"

namespace trireme::chaos {

class HandOuts {
 public:
  // `prefix`: of the keys of tasks, as of TaskQueueOptions.
  explicit HandOuts(std::string prefix) : prefix_(std::move(prefix)) {}

  void see(const distributed::Event& event);
  // A leader had handed it out, or taken its end, and the next one knows nothing of that.
  void lose(std::int64_t epoch, std::int64_t task) { ++lost_[{epoch, task}]; }
  // How often a task of an epoch, from 1, was given to somebody after the first time, those times
  // included of which keys say nothing.
  std::int64_t again(std::int64_t epoch, std::int64_t task) const;
  std::int64_t again() const;  // of all
  std::int64_t handed() const { return handed_; }
  std::int64_t done() const { return done_; }  // also again after the job went back
  std::int64_t failed() const { return failed_; }

 private:
  struct Task {
    char state = 't';
    std::int64_t attempt = 0;
  };
  const std::string prefix_;
  std::int64_t epoch_ = 0, handed_ = 0, done_ = 0, failed_ = 0;
  std::map<std::string, Task> tasks_;  // by key
  // By epoch and task.
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> times_, lost_;
};

// Watches them in a thread of its own, since the store may be away.
class HandOutWatch {
 public:
  using Clock = std::chrono::steady_clock;
  // Of a job that has just begun: what its store has forgotten is missed.
  HandOutWatch(std::unique_ptr<distributed::Store> store, const std::string& job);
  ~HandOutWatch();

  distributed::Store& store() { return *store_; }
  HandOuts seen() const;
  void lose(std::int64_t epoch, std::int64_t task);
  // When a task was ended, or handed out, last.
  Clock::time_point progress() const;
  bool missed() const { return missed_; }

 private:
  void run();

  const std::unique_ptr<distributed::Store> store_;
  const std::string prefix_;
  mutable std::mutex mutex_;
  HandOuts seen_;
  Clock::time_point progress_ = Clock::now();
  std::atomic<bool> missed_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace trireme::chaos
