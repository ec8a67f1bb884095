#pragma once

// All-reduce of gradients while later ones are still being computed. Backward adds them one by one;
// they are gathered into buckets, and a separate thread reduces each full bucket.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "distributed/collectives/group.h"

namespace trireme::distributed {

struct BucketOptions {
  // The largest size of a bucket: small buckets start early, large ones cost less. A bucket that is
  // a quarter full closes with the next gradient, so that a large gradient does not wait for small
  // ones that come much later.
  std::size_t bytes = 4 * 1024 * 1024;
  Reduction how = Reduction::mean;
  bool overlap = true;  // false: reduces nothing before wait(), for comparison
};

// All members add gradients of the same sizes in the same order and use one bucket size. For one
// thread at a time. Between begin() and the end of wait(), no other code calls operations of the
// group.
class BucketedAllReduce {
 public:
  explicit BucketedAllReduce(const BucketOptions& options);
  ~BucketedAllReduce();  // waits for an operation in progress
  BucketedAllReduce(const BucketedAllReduce&) = delete;
  BucketedAllReduce& operator=(const BucketedAllReduce&) = delete;

  // Starts a step and drops earlier gradients.
  void begin(std::shared_ptr<Group> group);
  // Adds `gradient` times `factor` and returns its place in the step. The memory must stay
  // unchanged until wait() returns.
  std::size_t add(std::span<const float> gradient, float factor = 1);
  // Waits until all are reduced. Does not change the gradients: after GroupBroken, or with another
  // group than in begin(), all of them are reduced again.
  void wait(const std::shared_ptr<Group>& group);
  // After wait(): writes the reduced gradient at that place, times `factor`. `to` has its length.
  void take(std::size_t place, std::span<float> to, float factor = 1) const;

 private:
  struct Bucket {
    std::vector<float> values;
    std::size_t used = 0;
  };
  struct Gradient {
    std::span<const float> values;
    float factor;
    std::size_t bucket = 0, first = 0;  // position of its first value
  };
  void put(Gradient& gradient);
  void fill();
  void submit();
  void settle();
  void again(const std::shared_ptr<Group>& group);
  void run();

  const BucketOptions options_;
  const std::size_t capacity_;  // values of a bucket
  std::shared_ptr<Group> group_;
  std::vector<Gradient> gradients_;
  std::vector<std::unique_ptr<Bucket>> buckets_;        // reused in every step
  std::size_t begun_ = 0, filled_ = 0, submitted_ = 0;  // numbers of buckets in this step

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Bucket*> queue_;  // the work of the thread, including the current bucket
  std::exception_ptr failure_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace trireme::distributed
