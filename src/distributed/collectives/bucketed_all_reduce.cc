#include "distributed/collectives/bucketed_all_reduce.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "distributed/collectives/prompt.h"

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
  begun_ = filled_ = submitted_ = 0;
  failure_ = nullptr;
}

std::size_t BucketedAllReduce::add(std::span<const float> values, float factor) {
  if (group_ == nullptr) fail_usage("gradients are added before the step has begun");
  gradients_.push_back({values, factor});
  put(gradients_.back());
  return gradients_.size() - 1;
}

void BucketedAllReduce::put(Gradient& added) {
  bool first = true;
  for (std::span<const float> gradient = added.values; !gradient.empty();) {
    if (begun_ == filled_) {
      if (++begun_ > buckets_.size()) {
        buckets_.push_back(std::make_unique<Bucket>());
        buckets_.back()->values.resize(capacity_);
      }
      buckets_[begun_ - 1]->used = 0;
    }
    Bucket& bucket = *buckets_[begun_ - 1];
    if (std::exchange(first, false)) added.bucket = begun_ - 1, added.first = bucket.used;
    const std::size_t count = std::min(gradient.size(), capacity_ - bucket.used);
    std::transform(gradient.begin(), gradient.begin() + static_cast<std::ptrdiff_t>(count),
                   bucket.values.data() + bucket.used,
                   [factor = added.factor](float value) { return value * factor; });
    bucket.used += count;
    gradient = gradient.subspan(count);
    if (bucket.used == capacity_) fill();
  }
  if (begun_ > filled_ && buckets_[begun_ - 1]->used * 4 >= capacity_) fill();
}

// Closes the newest bucket.
void BucketedAllReduce::fill() {
  filled_ = begun_;
  if (options_.overlap) submit();
}

// Submits all closed buckets that were not submitted yet.
void BucketedAllReduce::submit() {
  if (filled_ == submitted_) return;
  {
    const std::lock_guard lock(mutex_);
    while (submitted_ < filled_) queue_.push_back(buckets_[submitted_++].get());
  }
  changed_.notify_all();
}

// Waits until the thread is idle.
void BucketedAllReduce::settle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty(); });
}

void BucketedAllReduce::again(const std::shared_ptr<Group>& group) {
  std::vector<Gradient> gradients = std::move(gradients_);
  begin(group);
  gradients_ = std::move(gradients);
  for (Gradient& gradient : gradients_) put(gradient);
}

void BucketedAllReduce::wait(const std::shared_ptr<Group>& group) {
  if (group_ == nullptr) fail_usage("gradients are waited for before the step has begun");
  if (group != group_) again(group);
  filled_ = begun_;  // also the last one
  submit();
  settle();
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

void BucketedAllReduce::take(std::size_t place, std::span<float> to, float factor) const {
  const Gradient& gradient = gradients_.at(place);
  if (to.size() != gradient.values.size())
    fail_usage("a gradient is taken into other memory than it needs");
  std::size_t inside = gradient.first;
  const std::unique_ptr<Bucket>* next = buckets_.data() + gradient.bucket;
  for (std::size_t done = 0; done < to.size(); inside = 0) {
    const Bucket& bucket = **next++;
    const std::size_t count = std::min(to.size() - done, bucket.used - inside);
    std::transform(bucket.values.data() + inside, bucket.values.data() + inside + count,
                   to.data() + done, [factor](float value) { return value * factor; });
    done += count;
  }
}

void BucketedAllReduce::run() {
  const Prompt prompt;
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
