#pragma once

// Threads that execute work in the order of arrival. The users limit the waiting work.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace trireme::distributed {

class WorkQueue {
 public:
  explicit WorkQueue(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  }
  ~WorkQueue() { stop(); }

  void add(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
      work_.push_back(std::move(work));
    }
    changed_.notify_one();
  }
  // Finishes running work and drops waiting work.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    work_.clear();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopped_ || !work_.empty(); });
      if (stopped_) return;
      {
        const std::function<void()> work = std::move(work_.front());
        work_.pop_front();
        lock.unlock();
        work();
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::deque<std::function<void()>> work_;
  std::vector<std::thread> threads_;
};

}  // namespace trireme::distributed
