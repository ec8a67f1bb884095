#include "distributed/collectives/bucketed_all_reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/testing/error.h"
#include "distributed/collectives/testing/ranks.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;
using testing::run_ranks;

// The group of a rank as a shared pointer; the group outlives it here.
std::shared_ptr<Group> borrowed(Group& group) {
  return {&group, [](Group*) {}};
}

// Small integers: their sum does not depend on the order.
std::vector<std::vector<float>> gradients_of(int rank, int step,
                                             const std::vector<std::size_t>& sizes) {
  std::vector<std::vector<float>> gradients;
  for (const std::size_t size : sizes) {
    gradients.emplace_back(size);
    for (std::size_t i = 0; i < size; ++i) {
      gradients.back()[i] =
          static_cast<float>((i * 7 + size + static_cast<std::size_t>(step)) % 11) *
          static_cast<float>(rank + 1);
    }
  }
  return gradients;
}

void take_all(const BucketedAllReduce& buckets, std::vector<std::vector<float>>& gradients) {
  for (std::size_t i = 0; i < gradients.size(); ++i) buckets.take(i, gradients[i]);
}

// Sizes below, at and above the bucket size, and zero.
const std::vector<std::size_t> kSizes = {3, 0, 16, 15, 1, 17, 100, 2, 0};

TEST(BucketedAllReduce, GivesTheSameAsAllReduceOfEach) {
  for (const std::size_t bytes : {28U, 64U, 1000000U}) {
    for (const Reduction how : {Reduction::sum, Reduction::mean}) {
      run_ranks(3, [&](Group& group) {
        BucketedAllReduce buckets({bytes, how, /*overlap=*/how == Reduction::mean});
        for (int step = 0; step < 2; ++step) {
          auto gradients = gradients_of(group.rank(), step, kSizes);
          buckets.begin(borrowed(group));
          for (auto& gradient : gradients) buckets.add(gradient);
          buckets.wait(borrowed(group));
          EXPECT_EQ(gradients, gradients_of(group.rank(), step, kSizes));  // not touched yet
          take_all(buckets, gradients);
          auto expected = gradients_of(0, step, kSizes);
          for (auto& gradient : expected) {
            for (float& value : gradient) value *= how == Reduction::sum ? 6.0F : 2.0F;
          }
          EXPECT_EQ(gradients, expected);
        }
      });
    }
  }
}

TEST(BucketedAllReduce, ReducesAllAnewWithAnotherGroup) {
  const auto store = make_memory_store();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const auto first = std::make_shared<Group>(*store, "test/", 1, rank, 2, GroupOptions{});
      BucketedAllReduce buckets({64, Reduction::sum});
      auto gradients = gradients_of(rank, 0, kSizes);
      buckets.begin(first);
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (i == 5 && rank == 1) first->abort("for the test");
        buckets.add(gradients[i]);
      }
      EXPECT_THROW(buckets.wait(first), GroupBroken);
      EXPECT_THROW(buckets.wait(first), GroupBroken);
      EXPECT_EQ(gradients, gradients_of(rank, 0, kSizes));
      const auto second = std::make_shared<Group>(*store, "test/", 2, rank, 2, GroupOptions{});
      buckets.wait(second);
      take_all(buckets, gradients);
      auto expected = gradients_of(0, 0, kSizes);
      for (auto& gradient : expected) {
        for (float& value : gradient) value *= 3;
      }
      EXPECT_EQ(gradients, expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(BucketedAllReduce, ReducesWhileTheCallerComputes) {
  std::atomic<bool> waiting = false;
  run_ranks(2, [&](Group& group) {
    BucketedAllReduce buckets({4000, Reduction::sum});
    std::vector<float> gradient(1000, 1.0F);
    buckets.begin(borrowed(group));
    EXPECT_EQ(buckets.add(gradient, group.rank() == 0 ? 2.0F : 4.0F), 0U);
    // Rank 1 computes until rank 0 has the result of the gradients added before.
    if (group.rank() == 1) {
      while (!waiting) std::this_thread::sleep_for(Milliseconds(1));
    } else {
      buckets.wait(borrowed(group));
      waiting = true;
    }
    buckets.wait(borrowed(group));
    buckets.take(0, gradient, 0.5F);
    EXPECT_EQ(gradient, std::vector<float>(1000, 3.0F));
  });
}

TEST(BucketedAllReduce, AStepHasABeginning) {
  BucketedAllReduce buckets({});
  std::vector<float> gradient(3);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { buckets.add(gradient); }), HasSubstr("begun"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { buckets.wait(nullptr); }), HasSubstr("begun"));
}

}  // namespace
}  // namespace trireme::distributed
