#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "trireme/data.h"

namespace trireme::data {

// Makes the batches of one epoch in order: on demand, or ahead of demand on a thread that keeps up
// to kDepth batches waiting. After an error nothing more is made.
class BatchStream::Reader {
 public:
  Reader(Dataset dataset, std::int64_t epoch, std::int64_t first, std::int64_t batch_size,
         BatchOptions options)
      : dataset_(std::move(dataset)),
        epoch_(epoch),
        batch_size_(batch_size),
        drop_last_(options.drop_last),
        position_(static_cast<std::size_t>(first * batch_size)) {
    if (options.prefetch) thread_ = std::thread([this] { run(); });
  }

  ~Reader() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  std::optional<Batch> next() {
    if (!thread_.joinable()) return make();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty() || finished_; });
    if (ready_.empty()) {
      if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
      return std::nullopt;
    }
    std::optional<Batch> batch = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return batch;
  }

 private:
  static constexpr std::size_t kDepth = 2;

  std::optional<Batch> make() {
    if (!order_) order_ = dataset_.order(epoch_);
    if (position_ >= order_->size()) return std::nullopt;
    const std::size_t count =
        std::min(order_->size() - position_, static_cast<std::size_t>(batch_size_));
    if (drop_last_ && count < static_cast<std::size_t>(batch_size_)) return std::nullopt;
    Batch batch = dataset_.gather({order_->data() + position_, count});
    position_ += count;
    return batch;
  }

  void run() {
    std::exception_ptr error;
    try {
      while (std::optional<Batch> batch = make()) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ready_.size() < kDepth || stopped_; });
        if (stopped_) break;
        ready_.push_back(std::move(*batch));
        lock.unlock();
        changed_.notify_all();
      }
    } catch (...) {
      error = std::current_exception();
    }
    {
      std::lock_guard lock(mutex_);
      error_ = error;
      finished_ = true;
    }
    changed_.notify_all();
  }

  // Used by the thread that makes batches only.
  Dataset dataset_;
  std::int64_t epoch_;
  std::int64_t batch_size_;
  bool drop_last_;
  std::optional<std::vector<std::int64_t>> order_;  // made by the first next()
  std::size_t position_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Batch> ready_;
  std::exception_ptr error_;
  bool finished_ = false;
  bool stopped_ = false;

  std::thread thread_;  // last, so that it starts when all else is there
};

BatchStream::BatchStream(std::unique_ptr<Reader> reader) : reader_(std::move(reader)) {}
BatchStream::BatchStream(BatchStream&&) noexcept = default;
BatchStream& BatchStream::operator=(BatchStream&&) noexcept = default;
BatchStream::~BatchStream() = default;

std::optional<Batch> BatchStream::next() { return reader_->next(); }

Batches::Batches(Dataset dataset, std::int64_t batch_size, BatchOptions options)
    : dataset_(std::move(dataset)), batch_size_(batch_size), options_(options) {
  if (batch_size < 1) {
    fail_usage("batch: the batch size is " + std::to_string(batch_size) + ", must be at least 1");
  }
}

std::int64_t Batches::size() const {
  const std::int64_t n = dataset_.size();
  return n / batch_size_ + (!options_.drop_last && n % batch_size_ != 0 ? 1 : 0);
}

std::int64_t Batches::examples() const {
  const std::int64_t n = dataset_.size();
  return options_.drop_last ? n / batch_size_ * batch_size_ : n;
}

BatchStream Batches::epoch(std::int64_t number, std::int64_t first) const {
  if (first < 0 || first > size()) {
    fail_usage("epoch: cannot begin at batch " + std::to_string(first) + " of " +
               std::to_string(size()));
  }
  return BatchStream(
      std::make_unique<BatchStream::Reader>(dataset_, number, first, batch_size_, options_));
}

}  // namespace trireme::data
