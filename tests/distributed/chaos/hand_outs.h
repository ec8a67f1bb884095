#pragma once

// How often the tasks of a job were handed out, by every change of their keys in the store.

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
  // `prefix`: of the keys of tasks, as in TaskQueueOptions.
  explicit HandOuts(std::string prefix) : prefix_(std::move(prefix)) {}

  void see(const distributed::Event& event);
  // A leader had handed it out, or accepted its end, and the next one does not know.
  void lose(std::int64_t epoch, std::int64_t task) { ++lost_[{epoch, task}]; }
  // How often a task of an epoch, from 1, was handed out after the first time, including hand-outs
  // without keys.
  std::int64_t again(std::int64_t epoch, std::int64_t task) const;
  std::int64_t again() const;  // of all tasks
  std::int64_t handed() const { return handed_; }
  std::int64_t done() const { return done_; }  // with repetitions after a rollback
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

// Follows them in a separate thread, because the store may be unavailable.
class HandOutWatch {
 public:
  using Clock = std::chrono::steady_clock;
  // For a job that has just started: earlier changes are missed.
  HandOutWatch(std::unique_ptr<distributed::Store> store, const std::string& job);
  ~HandOutWatch();

  distributed::Store& store() { return *store_; }
  HandOuts seen() const;
  void lose(std::int64_t epoch, std::int64_t task);
  // When a task was last ended or handed out.
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
