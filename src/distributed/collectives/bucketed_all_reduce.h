#pragma once

// All-reduce of gradients while the next ones are still being computed: they are handed over one
// after the other, as backward makes them, gathered into buckets, and each full bucket is reduced
// by a thread of its own.

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
  // Of a bucket, at most: small ones begin early, large ones cost less. One that has a quarter of
  // it ends with the gradient that is added, so that a large gradient does not wait for small ones
  // which come much later.
  std::size_t bytes = 4 * 1024 * 1024;
  Reduction how = Reduction::mean;
  bool overlap = true;  // false: nothing is reduced before wait(), for comparison
};

// All members hand over gradients of the same sizes in the same order, and have buckets of one
// size. One thread at a time calls; between begin() and the end of wait() nobody else calls
// operations of the group.
class BucketedAllReduce {
 public:
  explicit BucketedAllReduce(const BucketOptions& options);
  ~BucketedAllReduce();  // an operation that is under way is waited for
  BucketedAllReduce(const BucketedAllReduce&) = delete;
  BucketedAllReduce& operator=(const BucketedAllReduce&) = delete;

  // A new step; what was handed over before is forgotten.
  void begin(std::shared_ptr<Group> group);
  // `gradient` times `factor`; gives its place in the step. The memory stays as it is until wait()
  // has returned.
  std::size_t add(std::span<const float> gradient, float factor = 1);
  // Waits until all are reduced. The gradients are not touched: after a GroupBroken, or with a
  // group that differs from that of begin(), all of them are reduced anew.
  void wait(const std::shared_ptr<Group>& group);
  // After wait(): what the gradient at that place has become, times `factor`. `to` is as long as
  // it.
  void take(std::size_t place, std::span<float> to, float factor = 1) const;

 private:
  struct Bucket {
    std::vector<float> values;
    std::size_t used = 0;
  };
  struct Gradient {
    std::span<const float> values;
    float factor;
    std::size_t bucket = 0, first = 0;  // where its first value is
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
  std::vector<std::unique_ptr<Bucket>> buckets_;        // kept from step to step
  std::size_t begun_ = 0, filled_ = 0, submitted_ = 0;  // of those, in this step

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Bucket*> queue_;  // what the thread has to do, that which it does included
  std::exception_ptr failure_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace trireme::distributed
