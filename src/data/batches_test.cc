// Batches made ahead on several threads: order, bounds, errors and ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "data/testing/counting.h"
#include "trireme/error.h"

namespace trireme::data {
namespace {

std::vector<std::int64_t> ids(const Batch& batch) {
  return batch.at("id").to_vector<std::int64_t>();
}

TEST(Threads, GiveTheSameBatchesInTheSameOrder) {
  const Dataset data = counting(1003).shuffle(3);
  std::vector<std::vector<std::int64_t>> expected;
  for (Batch& batch : data.batch(10, {.prefetch = false}).epoch(2)) expected.push_back(ids(batch));
  EXPECT_EQ(expected.size(), 101u);
  for (const int threads : {1, 2, 3, 8}) {
    // Every third batch is slow, so that later ones are ready before it.
    const Dataset uneven = data.map([](Batch batch) {
      if (ids(batch)[0] % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
      return batch;
    });
    std::vector<std::vector<std::int64_t>> got;
    for (Batch& batch : uneven.batch(10, {.threads = threads}).epoch(2)) got.push_back(ids(batch));
    EXPECT_EQ(got, expected) << threads;
  }
}

TEST(Threads, DoNotRunFarAhead) {
  std::atomic<int> made{0};
  const Dataset data = counting(1000).map([&](Batch batch) {
    ++made;
    return batch;
  });
  made = 0;
  constexpr int kThreads = 3;
  BatchStream stream = data.batch(1, {.threads = kThreads}).epoch(0);
  for (int fetched = 1; fetched <= 20; ++fetched) {
    ASSERT_TRUE(stream.next());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_LE(made, fetched + 2 * kThreads + 1);
  }
}

TEST(Threads, GiveWhatComesBeforeAnErrorAndThenTheError) {
  const Dataset data = counting(100).map([](Batch batch) {
    if (ids(batch)[0] == 40) throw std::runtime_error("bad example");
    if (ids(batch)[0] == 30) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return batch;
  });
  for (const int threads : {1, 4}) {
    BatchStream stream = data.batch(10, {.threads = threads}).epoch(0);
    for (int i = 0; i < 4; ++i) {
      const std::optional<Batch> batch = stream.next();
      ASSERT_TRUE(batch);
      EXPECT_EQ(ids(*batch)[0], 10 * i);
    }
    EXPECT_THROW(stream.next(), std::runtime_error);
    EXPECT_FALSE(stream.next());
  }
}

TEST(Threads, EndWheneverTheStreamEnds) {
  const Batches batches = counting(5000).shuffle(1).batch(7, {.threads = 4});
  for (int taken = 0; taken < 40; ++taken) {
    BatchStream stream = batches.epoch(taken);
    for (int i = 0; i < taken; ++i) EXPECT_TRUE(stream.next());
    BatchStream other = std::move(stream);
    if (taken % 2 == 0) {
      EXPECT_TRUE(other.next());
    }
  }
}

TEST(Threads, MayBeMoreThanBatches) {
  int count = 0;
  for (Batch& batch : counting(3).batch(2, {.threads = 16}).epoch(0)) {
    EXPECT_EQ(ids(batch).size(), count == 0 ? 2u : 1u);
    ++count;
  }
  EXPECT_EQ(count, 2);
  BatchStream empty = counting(0).batch(2, {.threads = 2}).epoch(0);
  EXPECT_FALSE(empty.next());
  EXPECT_FALSE(empty.next());
}

TEST(Threads, AreCounted) {
  EXPECT_THROW(counting(3).batch(2, {.threads = 0}), Error);
  EXPECT_THROW(counting(3).batch(2, {.threads = 1000}), Error);
}

}  // namespace
}  // namespace trireme::data
