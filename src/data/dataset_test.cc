#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>

#include "base/testing/error.h"
#include "data/order.h"
#include "data/testing/counting.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

using Ids = std::vector<std::int64_t>;

Ids ids_of(const Batches& batches, std::int64_t epoch) {
  Ids ids;
  for (const Batch& batch : batches.epoch(epoch)) {
    const Ids part = batch.at("id").to_vector<std::int64_t>();
    ids.insert(ids.end(), part.begin(), part.end());
    for (std::size_t i = 0; i < part.size(); ++i) {
      EXPECT_EQ(batch.at("x").data<float>()[2 * i + 1], 2.0f * static_cast<float>(part[i]));
    }
  }
  return ids;
}

Ids sorted(Ids ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

TEST(Order, IsAPermutationThatNeverChanges) {
  // Written down once: another platform or another version must give the same.
  EXPECT_EQ(permutation(10, 7, 0), (Ids{1, 2, 8, 5, 7, 6, 3, 0, 9, 4}));
  EXPECT_EQ(permutation(0, 7, 0), Ids{});
  EXPECT_EQ(permutation(1, 7, 0), Ids{0});
  Ids all(1000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sorted(permutation(1000, 1, 2)), all);
  EXPECT_NE(permutation(1000, 1, 2), permutation(1000, 1, 3));
  EXPECT_NE(permutation(1000, 1, 2), permutation(1000, 2, 2));
}

TEST(Order, IsUniform) {
  // Each of the 24 orders of 4 things should come about 1000 times in 24000; chi-square with 23
  // degrees of freedom lies below 49.7 with probability 0.999.
  std::map<Ids, int> counts;
  for (std::uint64_t epoch = 0; epoch < 24000; ++epoch) ++counts[permutation(4, 3, epoch)];
  ASSERT_EQ(counts.size(), 24u);
  double chi_square = 0;
  for (const auto& [order, count] : counts) chi_square += (count - 1000.0) * (count - 1000.0) / 1e3;
  EXPECT_LT(chi_square, 49.7);
}

TEST(Batches, KeepTheLastPartUnlessTold) {
  const Dataset data = counting(10);
  const Batches all = data.batch(4);
  EXPECT_EQ(all.size(), 3);
  EXPECT_EQ(all.examples(), 10);
  std::vector<std::int64_t> sizes;
  for (const Batch& batch : all.epoch(0)) sizes.push_back(batch.at("x").dim(0));
  EXPECT_EQ(sizes, (Ids{4, 4, 2}));
  const Batches full = data.batch(4, {.drop_last = true});
  EXPECT_EQ(full.size(), 2);
  EXPECT_EQ(full.examples(), 8);
  EXPECT_EQ(ids_of(full, 0), (Ids{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_THROW(data.batch(0), Error);
}

TEST(Batches, ShuffleByEpochWithAndWithoutPrefetch) {
  const Dataset data = counting(103).shuffle(5);
  const Ids first = ids_of(data.batch(10), 0);
  EXPECT_EQ(first, ids_of(data.batch(10, {.prefetch = false}), 0));
  EXPECT_EQ(first, ids_of(data.batch(7), 0));
  EXPECT_NE(first, ids_of(data.batch(10), 1));
  EXPECT_EQ(sorted(first), sorted(ids_of(data.batch(10), 1)));
  EXPECT_EQ(sorted(first).back(), 102);
}

TEST(Batches, BeginInTheMiddleOfAnEpoch) {
  for (const bool prefetch : {false, true}) {
    for (const bool drop_last : {false, true}) {
      const Batches batches = counting(23).shuffle(5).batch(4, {drop_last, prefetch});
      std::vector<Ids> all;
      for (const Batch& batch : batches.epoch(2)) {
        all.push_back(batch.at("id").to_vector<std::int64_t>());
      }
      for (std::int64_t first = 0; first <= batches.size(); ++first) {
        std::vector<Ids> rest;
        for (const Batch& batch : batches.epoch(2, first)) {
          rest.push_back(batch.at("id").to_vector<std::int64_t>());
        }
        EXPECT_EQ(rest, std::vector<Ids>(all.begin() + first, all.end())) << first;
      }
      EXPECT_THROW(batches.epoch(0, batches.size() + 1), Error);
    }
  }
}

TEST(Batches, EmptyDataGivesNoBatch) {
  EXPECT_EQ(ids_of(counting(0).batch(3), 0), Ids{});
  EXPECT_EQ(ids_of(counting(5).take(0).shuffle(1).batch(3), 0), Ids{});
}

TEST(Dataset, TakeAndSkipPartAShuffledSet) {
  const Dataset data = counting(100).shuffle(9);
  Ids taken = ids_of(data.take(30).batch(8), 4);
  const Ids skipped = ids_of(data.skip(30).batch(8), 4);
  EXPECT_EQ(taken.size(), 30u);
  EXPECT_NE(sorted(taken).back(), 29);
  taken.insert(taken.end(), skipped.begin(), skipped.end());
  EXPECT_EQ(sorted(taken), ids_of(counting(100).batch(100), 0));
  EXPECT_EQ(ids_of(counting(10).skip(3).take(2).batch(9), 0), (Ids{3, 4}));
  EXPECT_EQ(counting(10).skip(20).size(), 0);
}

TEST(Dataset, MapChangesColumns) {
  const Dataset data = counting(6).map([](Batch batch) {
    batch["y"] = batch.at("id").cast(f32);
    batch.erase("x");
    return batch;
  });
  EXPECT_EQ(data.columns().size(), 2u);
  EXPECT_EQ(data.column("y").dtype, f32);
  EXPECT_EQ(data.rows(2, 4).at("y").to_vector<float>(), (std::vector<float>{2, 3}));
  EXPECT_THROW(counting(3).map([](Batch) { return Batch{{"x", Tensor(f32, {7})}}; }), Error);
}

TEST(Dataset, UnshuffledIsInTheOrderOfTheSource) {
  const Dataset mixed = counting(50).shuffle(3);
  Ids all(50);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(ids_of(mixed.unshuffled().batch(7), 4), all);
  const Dataset part = mixed.take(20), kept = part.unshuffled();
  EXPECT_NE(ids_of(part.batch(7), 1), ids_of(part.batch(7), 2));
  EXPECT_EQ(ids_of(kept.batch(7), 1), sorted(ids_of(part.batch(7), 1)));
  EXPECT_EQ(ids_of(kept.batch(7), 2), ids_of(kept.batch(7), 1));
  EXPECT_EQ(kept.rows(0, 20).at("id").to_vector<std::int64_t>(), ids_of(kept.batch(7), 0));
}

TEST(Dataset, NamesTheNearestColumn) {
  EXPECT_THAT(error_of(ErrorKind::usage, [] { counting(3).column("ix"); }),
              testing::HasSubstr("did you mean"));
  EXPECT_THROW(counting(3).rows(1, 4), Error);
  EXPECT_THROW(from_tensors({{"a", Tensor(f32, {2})}, {"b", Tensor(f32, {3})}}), Error);
}

// Throws when row 20 is read.
class Failing : public Source {
 public:
  std::int64_t size() const override { return 100; }
  const std::vector<Column>& columns() const override { return columns_; }
  Batch gather(std::span<const std::int64_t> rows) const override {
    if (std::count(rows.begin(), rows.end(), 20) > 0) throw std::runtime_error("row 20");
    return {{"x", Tensor(f32, {static_cast<std::int64_t>(rows.size())})}};
  }

 private:
  std::vector<Column> columns_{{"x", f32, {}}};
};

TEST(Batches, RethrowWhatTheReaderThrew) {
  for (const bool prefetch : {true, false}) {
    BatchStream stream =
        Dataset(std::make_shared<Failing>()).batch(8, {.prefetch = prefetch}).epoch(0);
    EXPECT_TRUE(stream.next());
    EXPECT_TRUE(stream.next());
    EXPECT_THROW(stream.next(), std::runtime_error);
  }
}

TEST(Batches, StopWheneverTheStreamIsLeft) {
  const Batches batches = counting(1000).shuffle(1).batch(2);
  for (int taken = 0; taken < 50; ++taken) {
    BatchStream stream = batches.epoch(taken);
    for (int i = 0; i < taken % 7; ++i) EXPECT_TRUE(stream.next());
    if (taken % 5 == 0) stream = batches.epoch(taken + 1);
  }
}

}  // namespace
}  // namespace trireme::data
