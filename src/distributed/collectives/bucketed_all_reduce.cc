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

std::size_t BucketedAllReduce::add(std::span<const float> values, float factor) {
  if (group_ == nullptr) fail_usage("gradients are added before the step has begun");
  const std::size_t first =
      gradients_.empty() ? 0 : gradients_.back().first + gradients_.back().values.size();
  gradients_.push_back({values, factor, first});
  put(gradients_.back());
  return gradients_.size() - 1;
}

void BucketedAllReduce::put(const Gradient& added) {
  for (std::span<const float> gradient = added.values; !gradient.empty();) {
    if (begun_ == submitted_) {
      if (++begun_ > buckets_.size()) {
        buckets_.push_back(std::make_unique<Bucket>());
        buckets_.back()->values.resize(capacity_);
      }
      buckets_[begun_ - 1]->used = 0;
    }
    Bucket& bucket = *buckets_[begun_ - 1];
    const std::size_t count = std::min(gradient.size(), capacity_ - bucket.used);
    std::transform(gradient.begin(), gradient.begin() + static_cast<std::ptrdiff_t>(count),
                   bucket.values.data() + bucket.used,
                   [factor = added.factor](float value) { return value * factor; });
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
  std::vector<Gradient> gradients = std::move(gradients_);
  begin(group);
  gradients_ = std::move(gradients);
  for (const Gradient& gradient : gradients_) put(gradient);
}

void BucketedAllReduce::wait(const std::shared_ptr<Group>& group) {
  if (group_ == nullptr) fail_usage("gradients are waited for before the step has begun");
  if (group != group_) again(group);
  submit();
  settle();
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

void BucketedAllReduce::take(std::size_t place, std::span<float> to, float factor) const {
  const Gradient& gradient = gradients_.at(place);
  if (to.size() != gradient.values.size())
    fail_usage("a gradient is taken into other memory than it needs");
  for (std::size_t done = 0; done < to.size();) {
    const std::size_t from = gradient.first + done, inside = from % capacity_;
    const Bucket& bucket = *buckets_[from / capacity_];
    const std::size_t count = std::min(to.size() - done, bucket.used - inside);
    std::transform(bucket.values.data() + inside, bucket.values.data() + inside + count,
                   to.data() + done, [factor](float value) { return value * factor; });
    done += count;
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
