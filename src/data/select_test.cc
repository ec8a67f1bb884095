// Filters, folds, samples, caches and concatenations of data sets.

#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include "base/testing/directory.h"
#include "base/testing/error.h"
#include "data/testing/counting.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Numbers = std::vector<std::int64_t>;

Numbers ids_in(const Batch& batch) { return batch.at("id").to_vector<std::int64_t>(); }

Numbers ids_of_epoch(const Dataset& data, std::int64_t epoch, BatchOptions options = {}) {
  Numbers ids;
  for (const Batch& batch : data.batch(3, options).epoch(epoch)) {
    const Numbers part = ids_in(batch);
    ids.insert(ids.end(), part.begin(), part.end());
  }
  return ids;
}

Dataset sequences_up_to(std::int64_t n) {
  std::vector<std::vector<std::int64_t>> words;
  for (std::int64_t i = 0; i < n; ++i) words.emplace_back(static_cast<std::size_t>(i % 4), i);
  Numbers ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), 0);
  return from_ragged({{"words", RaggedTensor::from(words)}},
                     {{"id", Tensor::from<std::int64_t>({n}, ids)}});
}

TEST(Filter, KeepsOrderSeedAndSelection) {
  const auto odd = [](const Batch& one) { return ids_in(one).at(0) % 2 == 1; };
  EXPECT_THAT(ids_in(counting(10).filter(odd).all()), ElementsAre(1, 3, 5, 7, 9));
  EXPECT_THAT(ids_in(counting(10).skip(4).filter(odd).all()), ElementsAre(5, 7, 9));
  const Dataset shuffled = counting(600).shuffle(3).filter(odd);
  EXPECT_EQ(shuffled.size(), 300);
  EXPECT_EQ(ids_of_epoch(shuffled, 2), ids_of_epoch(counting(600).filter(odd).shuffle(3), 2));
  EXPECT_EQ(counting(10).filter([](const Batch&) { return false; }).size(), 0);
  EXPECT_EQ(counting(0).filter(odd).size(), 0);
  const Dataset ragged =
      sequences_up_to(9).filter([](const Batch& one) { return one.at("words").dim(0) == 3; });
  EXPECT_THAT(ids_in(ragged.all()), ElementsAre(3, 7));
  EXPECT_THAT(ragged.all().at("words").to_vector<std::int64_t>(), ElementsAre(3, 3, 3, 7, 7, 7));
}

TEST(Select, TakesPositionsInTheirOrder) {
  EXPECT_THAT(ids_in(counting(10).select({7, 2, 2}).all()), ElementsAre(7, 2, 2));
  EXPECT_THAT(ids_in(counting(10).skip(4).select({0, 5}).select({1}).all()), ElementsAre(9));
  EXPECT_THAT(ids_in(sequences_up_to(9).select({3, 0}).all()), ElementsAre(3, 0));
  EXPECT_EQ(counting(3).select({}).size(), 0);
  const Dataset shuffled = counting(9).shuffle(3).select({8, 0, 4});
  EXPECT_THAT(ids_of_epoch(shuffled, 1), ::testing::UnorderedElementsAre(0, 4, 8));
  for (const std::int64_t beyond : {std::int64_t{3}, std::int64_t{-1}}) {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { counting(3).select({0, beyond}); }),
                HasSubstr("there are 3"));
  }
}

TEST(KFold, HasEveryExampleOnceAsValidation) {
  for (const std::optional<std::uint64_t> seed : {std::optional<std::uint64_t>(), {5}}) {
    const std::vector<Fold> folds = counting(11).k_fold(3, seed);
    ASSERT_EQ(folds.size(), 3u);
    Numbers all, sizes;
    for (const Fold& fold : folds) {
      Numbers both = ids_in(fold.train.all());
      const Numbers validation = ids_in(fold.validation.all());
      sizes.push_back(fold.validation.size());
      all.insert(all.end(), validation.begin(), validation.end());
      both.insert(both.end(), validation.begin(), validation.end());
      EXPECT_THAT(both, ::testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
    }
    EXPECT_THAT(sizes, ElementsAre(4, 4, 3)) << "as scikit-learn's KFold";
    const bool in_order = std::is_sorted(all.begin(), all.end());
    EXPECT_EQ(in_order, !seed.has_value());
  }
  EXPECT_EQ(ids_in(counting(40).k_fold(4, 7)[1].validation.all()),
            ids_in(counting(40).k_fold(4, 7)[1].validation.all()));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { counting(3).k_fold(1); }),
              HasSubstr("1 folds of 3 examples"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { counting(3).k_fold(4); }), HasSubstr("4 folds of 3"));
}

TEST(Sample, DrawsInProportionToTheWeights) {
  const Dataset drawn = counting(4).sample({1, 0, 3, 0}, {.count = 4000, .seed = 2});
  EXPECT_EQ(drawn.size(), 4000);
  std::map<std::int64_t, int> counts;
  for (const std::int64_t id : ids_in(drawn.all())) ++counts[id];
  EXPECT_EQ(counts.size(), 2u);
  // Binomial with a standard deviation of 27; 5 of these are exceeded once in a million.
  EXPECT_NEAR(counts[2], 3000, 137);
  EXPECT_NE(ids_of_epoch(drawn, 0), ids_of_epoch(drawn, 1));
  EXPECT_EQ(ids_of_epoch(drawn, 1), ids_of_epoch(drawn, 1, {.threads = 3}));
  EXPECT_EQ(ids_of_epoch(counting(4).sample({0, 0, 0, 1e-300}), 0), Numbers({3, 3, 3, 3}));
  EXPECT_THAT(ids_in(counting(9).skip(7).sample({0, 1}).all()), ElementsAre(8, 8));
}

TEST(Sample, ReportsWrongWeights) {
  const auto told = [](const std::vector<double>& weights) {
    return error_of(ErrorKind::usage, [&] { counting(2).sample(weights); });
  };
  EXPECT_THAT(told({1}), HasSubstr("1 weights for 2 examples"));
  EXPECT_THAT(told({1, -1}), HasSubstr("weight 1 is -1"));
  EXPECT_THAT(told({std::nan(""), 1}), HasSubstr("weight 0 is nan"));
  EXPECT_THAT(told({1, std::numeric_limits<double>::infinity()}), HasSubstr("weight 1 is inf"));
  EXPECT_THAT(told({0, 0}), HasSubstr("sum to 0"));
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [] {
                         const Dataset drawn = sequences_up_to(4).sample({1, 1, 1, 1});
                         drawn.batch_tokens(5);
                       }),
              HasSubstr("lengths differ from epoch to epoch"));
}

TEST(Concatenate, ReadsEachPartInAnyOrder) {
  const Dataset both = concatenate({counting(9).skip(6), counting(4), counting(0)});
  EXPECT_THAT(ids_in(both.all()), ElementsAre(6, 7, 8, 0, 1, 2, 3));
  EXPECT_THAT(ids_in(both.gather(Numbers{5, 0, 3, 2, 5})), ElementsAre(2, 6, 0, 8, 2));
  EXPECT_EQ(both.gather(Numbers{}).at("id").dim(0), 0);
  EXPECT_THAT(ids_of_epoch(both.shuffle(1), 0),
              ::testing::UnorderedElementsAre(6, 7, 8, 0, 1, 2, 3));
  const Dataset ragged = concatenate({sequences_up_to(3), sequences_up_to(6).skip(5)});
  const Batch mixed = ragged.gather(Numbers{3, 2, 1});
  EXPECT_THAT(ids_in(mixed), ElementsAre(5, 2, 1));
  EXPECT_THAT(mixed.at("words").to_vector<std::int64_t>(), ElementsAre(5, 2, 2, 1));
  EXPECT_THAT(mixed.at("words.splits").to_vector<std::int64_t>(), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(ragged.lengths("words", Numbers{0, 3}), ElementsAre(0, 1));
}

TEST(Concatenate, ReportsPartsThatDoNotFit) {
  const auto told = [](std::vector<Dataset> parts) {
    return error_of(ErrorKind::usage, [&] { concatenate(std::move(parts)); });
  };
  EXPECT_THAT(told({}), HasSubstr("no data sets"));
  EXPECT_THAT(told({counting(2), sequences_up_to(2)}), HasSubstr("column \"x\" is missing"));
  const auto of = [](Tensor x, std::vector<std::string> classes = {}) {
    return from_tensors({{"x", std::move(x)}}, std::move(classes));
  };
  EXPECT_THAT(told({of(Tensor(f32, {1, 2})), of(Tensor(f32, {1, 3}))}),
              HasSubstr("\"x\" is f32[3], not f32[2]"));
  EXPECT_THAT(told({of(Tensor(f32, {1}), {"a"}), of(Tensor(f32, {1}), {"b"})}),
              HasSubstr("other classes"));
}

// Counts how many examples are read.
class CountedSource : public Source {
 public:
  explicit CountedSource(Dataset data) : data_(std::move(data)) {}
  std::int64_t size() const override { return data_.size(); }
  const std::vector<Column>& columns() const override { return data_.columns(); }
  Batch gather(std::span<const std::int64_t> rows) const override {
    read += static_cast<std::int64_t>(rows.size());
    return data_.gather(rows);
  }
  mutable std::atomic<std::int64_t> read = 0;

 private:
  Dataset data_;
};

TEST(Cache, ReadsEachExampleOnce) {
  const auto source = std::make_shared<CountedSource>(sequences_up_to(20));
  const Dataset kept = Dataset(source).cache();
  const Dataset plain = sequences_up_to(20).shuffle(4);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(ids_of_epoch(kept.shuffle(4), epoch, {.threads = 3}), ids_of_epoch(plain, epoch));
  }
  EXPECT_EQ(source->read, 20);
  const Batch some = kept.gather(Numbers{7, 3, 7});
  EXPECT_THAT(some.at("words").to_vector<std::int64_t>(), ElementsAre(7, 7, 7, 3, 3, 3, 7, 7, 7));
  Batch one = kept.gather(Numbers{2});
  one.at("id").data<std::int64_t>()[0] = 99;
  EXPECT_THAT(ids_in(kept.gather(Numbers{2})), ElementsAre(2)) << "batches are copies";
  EXPECT_EQ(kept.gather(Numbers{}).at("id").dim(0), 0);
}

TEST(Cache, InAFileIsUsedAgain) {
  const TestDirectory folder;
  const std::string path = folder.path() + "/kept.trec";
  const auto source = std::make_shared<CountedSource>(counting(10));
  const Dataset first = Dataset(source).shuffle(5).cache(path);
  EXPECT_EQ(source->read, 10);
  const Dataset second = Dataset(source).shuffle(5).cache(path);
  EXPECT_EQ(source->read, 10) << "from the file";
  EXPECT_EQ(ids_of_epoch(first, 3), ids_of_epoch(counting(10).shuffle(5), 3));
  EXPECT_EQ(ids_of_epoch(second, 3), ids_of_epoch(first, 3));
  EXPECT_THAT(error_of(ErrorKind::data, [&] { counting(9).cache(path); }),
              HasSubstr("is of another data set: it has 10 examples, not 9"));
  EXPECT_THAT(error_of(ErrorKind::data, [&] { sequences_up_to(10).cache(path); }),
              HasSubstr("is of another data set: column"));
}

}  // namespace
}  // namespace trireme::data
