#include "distributed/collectives/bucketed_all_reduce.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace trireme::distributed {

BucketedAllReduce::BucketedAllReduce(const BucketOptions& options)
    : options_(options),
      capacity_(std::max<std::size_t>(options.bytes / sizeof(float), 1)),
      thread_([this] { run(); }) {}

BucketedAllReduce::~BucketedAllReduce() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BucketedAllReduce::begin(std::shared_ptr<Group> group) {
  settle();
  gradients_.clear();
  group_ = std::move(group);
  begun_ = submitted_ = 0;
  failure_ = nullptr;
}

void BucketedAllReduce::add(std::span<float> gradient) {
  if (group_ == nullptr) fail_usage("gradients are added before the step has begun");
  gradients_.push_back(gradient);
  put(gradient);
}

void BucketedAllReduce::put(std::span<const float> gradient) {
  while (!gradient.empty()) {
    if (begun_ == submitted_) {
      if (++begun_ > buckets_.size()) {
        buckets_.push_back(std::make_unique<Bucket>());
        buckets_.back()->values.resize(capacity_);
      }
      buckets_[begun_ - 1]->used = 0;
    }
    Bucket& bucket = *buckets_[begun_ - 1];
    const std::size_t count = std::min(gradient.size(), capacity_ - bucket.used);
    std::copy_n(gradient.data(), count, bucket.values.data() + bucket.used);
    bucket.used += count;
    gradient = gradient.subspan(count);
    if (bucket.used == capacity_) submit();
  }
}

// The bucket that was begun last, if it has not been.
void BucketedAllReduce::submit() {
  if (begun_ == submitted_) return;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(buckets_[submitted_++].get());
  }
  changed_.notify_all();
}

// Waits until the thread has nothing to do.
void BucketedAllReduce::settle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty(); });
}

void BucketedAllReduce::again(const std::shared_ptr<Group>& group) {
  std::vector<std::span<float>> gradients = std::move(gradients_);
  begin(group);
  gradients_ = std::move(gradients);
  for (const std::span<float> gradient : gradients_) put(gradient);
}

void BucketedAllReduce::wait(const std::shared_ptr<Group>& group) {
  if (group_ == nullptr) fail_usage("gradients are waited for before the step has begun");
  if (group != group_) again(group);
  submit();
  settle();
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

void BucketedAllReduce::take() {
  std::size_t from = 0;  // of all values, in the order of the gradients
  for (const std::span<float> gradient : gradients_) {
    for (std::size_t done = 0; done < gradient.size();) {
      const Bucket& bucket = *buckets_[from / capacity_];
      const std::size_t inside = from % capacity_;
      const std::size_t count = std::min(gradient.size() - done, bucket.used - inside);
      std::copy_n(bucket.values.data() + inside, count, gradient.data() + done);
      done += count;
      from += count;
    }
  }
}

void BucketedAllReduce::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    Bucket& bucket = *queue_.front();
    if (failure_ == nullptr) {
      lock.unlock();
      std::exception_ptr failure;
      try {
        group_->all_reduce({bucket.values.data(), bucket.used}, options_.how);
      } catch (const Error&) {
        failure = std::current_exception();
      }
      lock.lock();
      failure_ = failure;
    }
    queue_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace trireme::distributed
