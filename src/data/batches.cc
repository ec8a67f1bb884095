#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/fork.h"
#include "data/cut.h"

namespace trireme::data {

// Makes the batches of one epoch: on demand, or ahead of demand on threads that each take the next
// batch not yet taken. They wait when more than kDepth batches for each thread are not fetched yet.
// After an error nothing more is taken; the batches before it are given out first.
class BatchStream::Reader {
 public:
  Reader(const Batches& batches, std::int64_t epoch, std::int64_t first)
      : batches_(batches),
        epoch_(epoch),
        end_(batches.size()),
        ahead_(kDepth * std::int64_t{batches.options().threads} + 1),
        taken_(first),
        next_(first) {
    if (!batches.options().prefetch) return;
    try {
      for (int i = 0; i < batches.options().threads; ++i) threads_.emplace_back([this] { run(); });
    } catch (const std::system_error& error) {
      stop();
      fail_io(std::string("batch: cannot start a thread to read ahead: ") + error.what());
    }
  }

  ~Reader() { stop(); }

  // Whether its threads are those of the parent of this process.
  bool is_forked() const { return !threads_.empty() && forks_ != fork_count(); }

  std::optional<Batch> next() {
    if (is_forked()) {
      fail_usage(
          "batch: this epoch was begun before the process was forked, and the threads that read it "
          "are in the other process\n  hint   begin an epoch in this process");
    }
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
    std::call_once(planned_, [this] { numbered_.emplace(batches_.numbered(epoch_)); });
    return numbered_->at(number);
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

  const Batches batches_;
  const int forks_ = fork_count();
  const std::int64_t epoch_;
  const std::int64_t end_;    // number of batches
  const std::int64_t ahead_;  // how many may be taken and not fetched

  std::once_flag planned_;
  std::optional<NumberedBatches> numbered_;  // written once, by the first who makes a batch

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
BatchStream::~BatchStream() {
  if (reader_ && reader_->is_forked()) static_cast<void>(reader_.release());
}

std::optional<Batch> BatchStream::next() { return reader_->next(); }

Batches::Batches(Dataset dataset, std::int64_t batch_size, BatchOptions options)
    : Batches(dataset,
              std::make_shared<BatchCut>(
                  dataset, BatchCut::Options{.size = batch_size, .drop_last = options.drop_last}),
              options) {}

Batches::Batches(Dataset dataset, std::shared_ptr<const BatchCut> cut, BatchOptions options)
    : dataset_(std::move(dataset)), cut_(std::move(cut)), options_(options) {
  constexpr int kMaxThreadCount = 256;
  if (options.threads < 1 || options.threads > kMaxThreadCount) {
    fail_usage("batch: " + std::to_string(options.threads) + " threads to read ahead; 1 to " +
               std::to_string(kMaxThreadCount) + " are possible, none with prefetch = false");
  }
}

Batches Batches::over(Dataset dataset) const {
  auto cut = std::make_shared<BatchCut>(dataset, cut_->options());
  return Batches(std::move(dataset), std::move(cut), options_);
}

Batches Dataset::batch(std::int64_t n, BatchOptions options) const {
  return Batches(*this, n, options);
}

Batches Dataset::bucket_by_length(std::int64_t n, const BucketOptions& bucket,
                                  BatchOptions options) const {
  return Batches(
      *this,
      std::make_shared<BatchCut>(*this, BatchCut::Options{.by = BatchCut::By::length,
                                                          .size = n,
                                                          .bucket = bucket,
                                                          .drop_last = options.drop_last}),
      options);
}

Batches Dataset::batch_tokens(std::int64_t budget, std::string_view column,
                              BatchOptions options) const {
  return Batches(
      *this,
      std::make_shared<BatchCut>(*this, BatchCut::Options{.by = BatchCut::By::tokens,
                                                          .size = budget,
                                                          .bucket = {.column = std::string(column)},
                                                          .drop_last = options.drop_last}),
      options);
}

std::int64_t Batches::size() const { return cut_->batches(); }
std::int64_t Batches::examples() const { return cut_->examples(); }
std::int64_t Batches::batch_size() const { return cut_->options().size; }

BatchStream Batches::epoch(std::int64_t number, std::int64_t first) const {
  if (first < 0 || first > size()) {
    fail_usage("epoch: cannot begin at batch " + std::to_string(first) + " of " +
               std::to_string(size()));
  }
  return BatchStream(std::make_unique<BatchStream::Reader>(*this, number, first));
}

NumberedBatches Batches::numbered(std::int64_t epoch) const {
  return {dataset_, std::make_shared<const EpochPlan>(cut_->plan(dataset_, epoch)), epoch};
}

NumberedBatches::NumberedBatches(Dataset dataset, std::shared_ptr<const EpochPlan> plan,
                                 std::int64_t epoch)
    : dataset_(std::move(dataset)), plan_(std::move(plan)), epoch_(epoch) {}

std::int64_t NumberedBatches::size() const { return plan_->batches(); }

Batch NumberedBatches::at(std::int64_t number) const {
  if (number < 0 || number >= size()) {
    fail_usage("there is no batch " + std::to_string(number) + " among the " +
               std::to_string(size()) + " of the epoch");
  }
  return dataset_.gather(plan_->batch(number), epoch_);
}

}  // namespace trireme::data
