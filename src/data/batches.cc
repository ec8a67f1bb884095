#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "trireme/data.h"

namespace trireme::data {

// Makes the batches of one epoch: on demand, or ahead of demand on threads that each take the next
// batch not yet taken. They wait when more than kDepth batches for each thread are not fetched yet.
// After an error nothing more is taken; the batches before it are given out first.
class BatchStream::Reader {
 public:
  Reader(Dataset dataset, std::int64_t epoch, std::int64_t first, std::int64_t batch_size,
         std::int64_t batches, BatchOptions options)
      : dataset_(std::move(dataset)),
        epoch_(epoch),
        batch_size_(batch_size),
        end_(batches),
        ahead_(kDepth * std::int64_t{options.threads} + 1),
        taken_(first),
        next_(first) {
    if (!options.prefetch) return;
    try {
      for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { run(); });
    } catch (const std::system_error& error) {
      stop();
      fail_io(std::string("batch: cannot start a thread to read ahead: ") + error.what());
    }
  }

  ~Reader() { stop(); }

  std::optional<Batch> next() {
    if (threads_.empty()) return next_ == end_ ? std::nullopt : std::optional(make(next_++));
    std::unique_lock lock(mutex_);
    if (next_ == end_) return std::nullopt;
    changed_.wait(lock, [this] { return ready_.contains(next_); });
    Result result = std::move(ready_.at(next_));
    ready_.erase(next_);
    next_ = result.error ? end_ : next_ + 1;
    lock.unlock();
    changed_.notify_all();
    if (result.error) std::rethrow_exception(result.error);
    return std::move(result.batch);
  }

 private:
  static constexpr std::int64_t kDepth = 2;

  struct Result {
    Batch batch;
    std::exception_ptr error;
  };

  Batch make(std::int64_t number) {
    std::call_once(ordered_, [this] { order_ = dataset_.order(epoch_); });
    const auto begin = static_cast<std::size_t>(number * batch_size_);
    const auto count = std::min(order_.size() - begin, static_cast<std::size_t>(batch_size_));
    return dataset_.gather({order_.data() + begin, count}, epoch_);
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopped_ || taken_ == end_ || taken_ < next_ + ahead_; });
      if (stopped_ || taken_ == end_) return;
      const std::int64_t number = taken_++;
      lock.unlock();
      Result result;
      try {
        result.batch = make(number);
      } catch (...) {
        result.error = std::current_exception();
      }
      lock.lock();
      if (result.error) stopped_ = true;
      ready_.emplace(number, std::move(result));
      changed_.notify_all();
    }
  }

  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  const Dataset dataset_;
  const std::int64_t epoch_;
  const std::int64_t batch_size_;
  const std::int64_t end_;    // number of batches
  const std::int64_t ahead_;  // how many may be taken and not fetched

  std::once_flag ordered_;
  std::vector<std::int64_t> order_;  // written once, by the first who makes a batch

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<std::int64_t, Result> ready_;
  std::int64_t taken_;    // the next batch to make
  std::int64_t next_;     // the next batch to give out
  bool stopped_ = false;  // take nothing more

  std::vector<std::thread> threads_;
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
  constexpr int kMostThreads = 256;
  if (options.threads < 1 || options.threads > kMostThreads) {
    fail_usage("batch: " + std::to_string(options.threads) + " threads to read ahead; 1 to " +
               std::to_string(kMostThreads) + " are possible, none with prefetch = false");
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
  return BatchStream(std::make_unique<BatchStream::Reader>(dataset_, number, first, batch_size_,
                                                           size(), options_));
}

}  // namespace trireme::data
