// Batches of sequences: what is in them, in which order, and how they are cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "base/testing/error.h"
#include "data/testing/sequences.h"

namespace trireme::data {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<std::int64_t>;

Ids ids(const Batch& batch) { return batch.at("id").to_vector<std::int64_t>(); }
std::int64_t rows_in(const Batch& batch) { return batch.at("words").dim(0); }

// The batch must hold exactly what sequences() says of the examples that it has, and no padding.
void expect_whole(const Batch& batch, std::int64_t n) {
  const Ids lengths = lengths_of(n), examples = ids(batch);
  Ids words;
  Ids word_lengths, branches, leaves;
  std::vector<float> tree;
  for (const std::int64_t i : examples) {
    word_lengths.push_back(lengths[static_cast<std::size_t>(i)]);
    for (std::int64_t k = 0; k < word_lengths.back(); ++k) words.push_back(1000 * i + k);
    branches.push_back(i % 3);
    for (std::int64_t k = 0; k < i % 3; ++k) {
      leaves.push_back(2);
      tree.insert(tree.end(), 4, static_cast<float>(i));
    }
  }
  EXPECT_EQ(examples_in(batch), static_cast<std::int64_t>(examples.size()));
  EXPECT_EQ(batch.size(), 6u);
  EXPECT_EQ(batch.at("words").to_vector<std::int64_t>(), words);
  EXPECT_EQ(batch.at("words.splits").dim(0), examples_in(batch) + 1);
  EXPECT_EQ(RaggedTensor::from_feeds(batch, "words").lengths(), word_lengths);
  const RaggedTensor nested = RaggedTensor::from_feeds(batch, "tree");
  EXPECT_EQ(nested.rows().to_vector<float>(), tree);
  EXPECT_EQ(nested.rows().dim(1), 2);
  EXPECT_EQ(nested.lengths(0), branches);
  EXPECT_EQ(nested.lengths(1), leaves);
}

// The ids of every batch of an epoch, each batch being whole.
std::vector<Ids> read(const Batches& batches, std::int64_t n, std::int64_t epoch,
                      std::int64_t first = 0) {
  std::vector<Ids> result;
  for (const Batch& batch : batches.epoch(epoch, first)) {
    expect_whole(batch, n);
    result.push_back(ids(batch));
  }
  return result;
}

Ids joined(const std::vector<Ids>& batches) {
  Ids all;
  for (const Ids& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

Ids sorted(Ids all) {
  std::sort(all.begin(), all.end());
  return all;
}

Ids first(std::int64_t n) {
  Ids all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(RaggedColumns, AreDescribedAndCounted) {
  const Dataset data = sequences(10);
  EXPECT_EQ(data.size(), 10);
  ASSERT_EQ(data.columns().size(), 3u);
  EXPECT_EQ(data.column("id").levels, 0);
  EXPECT_EQ(data.column("words").levels, 1);
  EXPECT_TRUE(data.column("words").shape.empty());
  EXPECT_EQ(data.column("tree").levels, 2);
  EXPECT_EQ(data.column("tree").shape, Ids{2});
  expect_whole(data.all(), 10);
  expect_whole(data.rows(3, 3), 10);
  EXPECT_EQ(data.lengths("words", data.order(0)), lengths_of(10));
  const Ids rows{5, 3, 5};
  expect_whole(data.gather(rows), 10);
  EXPECT_EQ(data.lengths("tree", rows), (Ids{4, 0, 4}));
  // A data set is made of a batch of another.
  expect_whole(from_tensors(data.all()).all(), 10);
}

TEST(RaggedColumns, CountExamplesWhateverComesFirst) {
  const RaggedTensor two = RaggedTensor::from(std::vector<Ids>{{1, 2, 3}, {}});
  Batch batch;
  EXPECT_EQ(examples_in(batch), 0);
  two.add_to(batch, "m");
  EXPECT_EQ(examples_in(batch), 2);
  batch.emplace("z", Tensor(f32, {2, 7}));
  EXPECT_EQ(examples_in(batch), 2);
  batch.emplace("a", Tensor(f32, {2, 7}));
  EXPECT_EQ(examples_in(batch), 2);
  EXPECT_EQ(examples_in(sequences(4).rows(1, 1)), 0);
}

TEST(RaggedColumns, AreReadInAnyOrderOnAnyThreads) {
  constexpr std::int64_t n = 103;
  const Dataset data = sequences(n).shuffle(5);
  const std::vector<Ids> expected = read(data.batch(10, {.prefetch = false}), n, 2);
  EXPECT_EQ(sorted(joined(expected)), first(n));
  EXPECT_NE(joined(expected), first(n));
  for (const int threads : {1, 2, 5}) {
    EXPECT_EQ(read(data.batch(10, {.threads = threads}), n, 2), expected) << threads;
  }
  for (const std::int64_t from : {1, 6, 11}) {
    EXPECT_EQ(read(data.batch(10), n, 2, from),
              std::vector<Ids>(expected.begin() + from, expected.end()));
  }
  const Ids taken = joined(read(data.take(30).batch(7), n, 1));
  Ids both = joined(read(data.skip(30).batch(7), n, 1));
  both.insert(both.end(), taken.begin(), taken.end());
  EXPECT_EQ(sorted(both), first(n));
}

TEST(RaggedColumns, PassThroughMap) {
  // Drops every example's first word, if it has one: lengths change, and the splits with them.
  const auto shortened = [](Batch batch) {
    const RaggedTensor words = RaggedTensor::from_feeds(batch, "words");
    std::vector<Ids> rest;
    for (std::int64_t i = 0; i < words.size(); ++i) {
      Ids row = words.sequence(i).to_vector<std::int64_t>();
      if (!row.empty()) row.erase(row.begin());
      rest.push_back(row);
    }
    RaggedTensor::from(rest).add_to(batch, "words");
    return batch;
  };
  const Dataset data = sequences(40).map(shortened);
  EXPECT_EQ(data.column("words").levels, 1);
  EXPECT_EQ(data.column("tree").levels, 2);
  Ids expected = lengths_of(40);
  for (std::int64_t& length : expected) length = std::max<std::int64_t>(length - 1, 0);
  EXPECT_EQ(data.lengths("words", data.order(0)), expected);
  EXPECT_EQ(RaggedTensor::from_feeds(data.all(), "words").lengths(), expected);
  // Its results must be consistent.
  const auto bad = [](auto change) {
    return error_of(ErrorKind::usage, [&] {
      sequences(5).map([&](Batch batch) {
        change(batch);
        return batch;
      });
    });
  };
  EXPECT_THAT(bad([](Batch& b) { b.erase("words"); }),
              HasSubstr("map: \"words.splits\" is called as the splits of a column are"));
  EXPECT_THAT(bad([](Batch& b) { b.erase("tree.splits_1"); }), HasSubstr("tree.splits"));
  EXPECT_THAT(bad([](Batch& b) { b["words.splits"] = Tensor(i64, {3}); }),
              HasSubstr("\"words.splits\", level 0: position 2, the last, is 0, but"));
  EXPECT_THAT(bad([](Batch& b) { b["words.splits"] = splits_of({b.at("words").dim(0), 0}); }),
              HasSubstr("2 examples, but there are 1"));
}

TEST(RaggedColumns, MustFitTogether) {
  const Tensor rows(f32, {4}), label(i64, {2});
  const auto made = [&](Batch batch) {
    return error_of(ErrorKind::usage, [&] { from_tensors(std::move(batch)); });
  };
  const auto splits = [](const Ids& values) {
    return Tensor::from({static_cast<std::int64_t>(values.size())}, values);
  };
  EXPECT_EQ(made({{"x", rows}, {"x.splits", splits({0, 1, 4})}, {"y", label}}), "no error");
  EXPECT_THAT(made({{"x", rows}, {"x.splits", splits({0, 3, 2})}}), HasSubstr("less than 3"));
  EXPECT_THAT(made({{"x", rows}, {"x.splits", splits({0, 3, 5})}}), HasSubstr("is 5, but 4"));
  EXPECT_THAT(made({{"x", rows}, {"x.splits", splits({0, -2, 4})}}), HasSubstr("is -2"));
  EXPECT_THAT(made({{"x", rows}, {"x.splits", Tensor(f32, {2})}}), HasSubstr("f32[2], but"));
  EXPECT_THAT(made({{"x", rows}, {"x.splits", Tensor(i64, {2, 2})}}), HasSubstr("i64[2, 2], but"));
  EXPECT_THAT(made({{"x", rows}, {"x.splits", Tensor(i64, {})}}), HasSubstr("i64[], but"));
  EXPECT_THAT(made({{"x", rows}, {"x.splits", splits({0, 4})}, {"y", label}}),
              HasSubstr("column y is i64[2], 2 examples, but there are 1"));
  EXPECT_THAT(made({{"a", label}, {"x", rows}, {"x.splits", splits({0, 4})}}),
              HasSubstr("column x is f32[4] in 1 sequences, 1 examples, but there are 2"));
  EXPECT_THAT(made({{"x", rows}, {"x.splits_0", splits({0, 4})}}), HasSubstr("\"x.splits\""));
  EXPECT_THAT(made({{"x", label}, {"y.splits", label}}), HasSubstr("belongs to none"));
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] { from_ragged({{"x", RaggedTensor()}}, {{"x", Tensor(f32, {0})}}); }),
              HasSubstr("two columns are called \"x\""));
  EXPECT_EQ(from_ragged({{"x", RaggedTensor()}}).size(), 0);
}

TEST(RaggedColumns, AreNotPictures) {
  const Dataset data =
      from_ragged({{"x", RaggedTensor::from_lengths(Tensor(f32, {3, 1, 2, 2}), {3})}});
  EXPECT_THAT(error_of([&] { data.flip(); }), HasSubstr("no column of pictures"));
  EXPECT_THAT(error_of([&] { data.mixup({.classes = 2}); }), HasSubstr("is ragged"));
}

// Lengths of a batch's examples, in order.
Ids lengths_in(const Ids& batch, std::int64_t n) {
  const Ids lengths = lengths_of(n);
  Ids result;
  for (const std::int64_t i : batch) result.push_back(lengths[static_cast<std::size_t>(i)]);
  return result;
}

// Length by length, those of each in the order that they have.
Ids by_length(const Ids& examples, std::int64_t n) {
  const Ids lengths = lengths_of(n);
  Ids result;
  for (std::int64_t length = 0; length < 12; ++length) {
    std::copy_if(examples.begin(), examples.end(), std::back_inserter(result),
                 [&](std::int64_t i) { return lengths[static_cast<std::size_t>(i)] == length; });
  }
  return result;
}

TEST(BucketByLength, SortsAndCuts) {
  constexpr std::int64_t n = 103;
  const Dataset data = sequences(n);
  // Unshuffled it is a stable sort of the whole.
  const Ids order = by_length(first(n), n);
  const Batches plain = data.bucket_by_length(10, {.column = "words"});
  EXPECT_EQ(plain.size(), 11);
  EXPECT_EQ(plain.batch_size(), 10);
  EXPECT_EQ(joined(read(plain, n, 3)), order);
  // Shuffled, the batches are those of a stable sort of the shuffled order, in a random order.
  const Dataset mixed = data.shuffle(7);
  const Batches batches = mixed.bucket_by_length(10, {.column = "words"}, {.threads = 3});
  std::set<Ids> expected;
  const Ids shuffled = by_length(mixed.order(4), n);
  for (std::size_t at = 0; at < shuffled.size(); at += 10) {
    expected.insert(
        {shuffled.begin() + static_cast<std::ptrdiff_t>(at),
         shuffled.begin() + static_cast<std::ptrdiff_t>(std::min(at + 10, shuffled.size()))});
  }
  const std::vector<Ids> got = read(batches, n, 4);
  EXPECT_EQ(std::set<Ids>(got.begin(), got.end()), expected);
  EXPECT_EQ(sorted(joined(got)), first(n));
  Ids firsts;
  for (const Ids& batch : got) firsts.push_back(lengths_in(batch, n)[0]);
  EXPECT_FALSE(std::is_sorted(firsts.begin(), firsts.end()));
  EXPECT_EQ(read(batches, n, 4), got);
  // In another epoch the batches come in another order, too.
  Ids others;
  for (const Ids& batch : read(batches, n, 5)) others.push_back(lengths_in(batch, n)[0]);
  EXPECT_NE(others, firsts);
  EXPECT_EQ(sorted(others), sorted(firsts));
}

TEST(BucketByLength, SortsWindowByWindow) {
  constexpr std::int64_t n = 103, size = 5, window = 4;
  const Dataset mixed = sequences(n).shuffle(7);
  const std::vector<Ids> got =
      read(mixed.bucket_by_length(size, {.column = "words", .window = window}), n, 1);
  EXPECT_EQ(got.size(), 21u);
  EXPECT_EQ(sorted(joined(got)), first(n));
  // Which window an example is in follows from the shuffled order; no batch crosses windows.
  std::map<std::int64_t, std::int64_t> window_of;
  std::int64_t place = 0;
  for (const std::int64_t i : mixed.order(1)) window_of[i] = place++ / (size * window);
  std::map<std::int64_t, std::vector<Ids>> by_window;
  for (const Ids& batch : got) {
    for (const std::int64_t i : batch) EXPECT_EQ(window_of[i], window_of[batch[0]]);
    by_window[window_of[batch[0]]].push_back(lengths_in(batch, n));
  }
  for (auto& [number, batches] : by_window) {
    EXPECT_EQ(batches.size(), number == 5 ? 1u : 4u);
    std::sort(batches.begin(), batches.end(), [](const Ids& a, const Ids& b) {
      return std::pair(a.front(), a.back()) < std::pair(b.front(), b.back());
    });
    const Ids all = joined(batches);
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end())) << number;
  }
  // In windows of 20 batches the last 3 examples are one of their own.
  Ids last = mixed.order(1);
  last.erase(last.begin(), last.end() - 3);
  for (const Ids& batch :
       read(mixed.bucket_by_length(size, {.column = "words", .window = 20}), n, 1)) {
    if (batch.size() == 3) {
      EXPECT_EQ(sorted(batch), sorted(last));
    }
  }
  // A window of all batches, or more, is no window.
  const auto whole = read(mixed.bucket_by_length(size, {.column = "words"}), n, 1);
  const std::int64_t max = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t wide : {std::int64_t{21}, max}) {
    EXPECT_EQ(read(mixed.bucket_by_length(size, {.column = "words", .window = wide}), n, 1), whole);
  }
}

TEST(BucketByLength, DropsOthersInEveryEpoch) {
  constexpr std::int64_t n = 23;
  const Batches batches =
      sequences(n).shuffle(1).bucket_by_length(4, {.column = "words"}, {.drop_last = true});
  EXPECT_EQ(batches.size(), 5);
  EXPECT_EQ(batches.examples(), 20);
  std::set<std::int64_t> dropped;
  for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
    const std::vector<Ids> got = read(batches, n, epoch);
    for (const Ids& batch : got) EXPECT_EQ(batch.size(), 4u);
    Ids all = sorted(joined(got)), missing;
    EXPECT_EQ(all.size(), 20u);
    const Ids whole = first(n);
    std::set_difference(whole.begin(), whole.end(), all.begin(), all.end(),
                        std::back_inserter(missing));
    dropped.insert(missing.begin(), missing.end());
  }
  EXPECT_GT(dropped.size(), 10u);
}

TEST(BatchTokens, KeepsTheBudgetAndTheNumberOfBatches) {
  constexpr std::int64_t n = 200;
  const Dataset data = sequences(n);
  const Ids lengths = lengths_of(n);
  const std::int64_t all = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  for (const std::int64_t budget : {1, 5, 11, 12, 40, 1000, 1000000}) {
    for (const bool shuffled : {false, true}) {
      const Dataset ordered = shuffled ? data.shuffle(3) : data;
      const Batches batches = ordered.batch_tokens(budget, "words", {.threads = 2});
      EXPECT_EQ(batches.batch_size(), budget);
      EXPECT_EQ(batches.examples(), n);
      std::set<std::vector<Ids>> epochs;
      for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
        std::vector<Ids> got;
        std::int64_t tokens = 0;
        for (const Batch& batch : batches.epoch(epoch)) {
          expect_whole(batch, n);
          got.push_back(ids(batch));
          tokens += rows_in(batch);
          if (got.back().size() > 1) {
            EXPECT_LE(rows_in(batch), budget);
          }
        }
        EXPECT_EQ(tokens, all);
        EXPECT_EQ(sorted(joined(got)), first(n));
        EXPECT_EQ(batches.size(), static_cast<std::int64_t>(got.size())) << budget;
        if (!shuffled) {
          EXPECT_EQ(joined(got), first(n));
        }
        epochs.insert(got);
      }
      EXPECT_EQ(epochs.size(), shuffled ? 4u : 1u) << budget;
    }
  }
}

TEST(BatchTokens, AreFilledGreedily) {
  // Without shuffle(): a batch ends where the next example would not fit.
  const auto cut = [](const std::vector<Ids>& examples, std::int64_t budget) {
    Ids sizes;
    const Dataset data = from_ragged({{"x", RaggedTensor::from(examples)}});
    for (const Batch& batch : data.batch_tokens(budget).epoch(0)) {
      sizes.push_back(examples_in(batch));
    }
    return sizes;
  };
  EXPECT_EQ(cut({{1, 2}, {3}, {4, 5}, {6}}, 3), (Ids{2, 2}));
  EXPECT_EQ(cut({{1, 2}, {3, 4}, {5, 6}}, 3), (Ids{1, 1, 1}));
  EXPECT_EQ(cut({{}, {1, 2, 3, 4}, {}, {5}}, 3), (Ids{1, 1, 2}));  // one is longer than the budget
  EXPECT_EQ(cut({{}, {}, {}}, 3), (Ids{3}));
  EXPECT_EQ(cut({{1, 2, 3}, {}, {}}, 3), (Ids{3}));
  EXPECT_EQ(cut({}, 3), Ids{});
}

TEST(BatchTokens, GoOnInTheMiddleOfAnEpoch) {
  constexpr std::int64_t n = 90;
  const Batches tokens = sequences(n).shuffle(2).batch_tokens(30, "words", {.threads = 3});
  const Batches bucket = sequences(n).shuffle(2).bucket_by_length(8, {.column = "words"});
  for (const Batches& batches : {tokens, bucket}) {
    const std::vector<Ids> all = read(batches, n, 6);
    for (std::int64_t from = 0; from <= batches.size(); ++from) {
      EXPECT_EQ(read(batches, n, 6, from), std::vector<Ids>(all.begin() + from, all.end()));
    }
    EXPECT_THROW(batches.epoch(6, batches.size() + 1), Error);
  }
}

TEST(BatchTokens, AreTheSameOneByOne) {
  constexpr std::int64_t n = 90;
  const Dataset data = sequences(n).shuffle(2);
  for (const Batches& batches :
       {data.batch_tokens(30, "words"), data.bucket_by_length(8, {.column = "words"}),
        data.batch(8), data.batch(8, {.drop_last = true})}) {
    const std::vector<Ids> all = read(batches, n, 3);
    const NumberedBatches numbered = batches.numbered(3);
    EXPECT_EQ(numbered.size(), batches.size());
    for (std::int64_t b = numbered.size(); b-- > 0;) {  // in any order
      expect_whole(numbered.at(b), n);
      EXPECT_EQ(ids(numbered.at(b)), all[static_cast<std::size_t>(b)]);
    }
    for (const std::int64_t wrong : {std::int64_t{-1}, batches.size()}) {
      EXPECT_THAT(error_of(ErrorKind::usage, [&] { numbered.at(wrong); }),
                  HasSubstr("there is no batch " + std::to_string(wrong)));
    }
  }
}

TEST(BatchTokens, AreTheSameOnAnyThreadsAndForAnySeed) {
  constexpr std::int64_t n = 150;
  const auto with = [&](std::uint64_t seed, BatchOptions options) {
    return read(sequences(n).shuffle(seed).batch_tokens(25, "words", options), n, 1);
  };
  const std::vector<Ids> expected = with(4, {.prefetch = false});
  for (const int threads : {1, 2, 4}) EXPECT_EQ(with(4, {.threads = threads}), expected) << threads;
  EXPECT_NE(with(5, {}), expected);
  EXPECT_EQ(with(5, {}).size(), expected.size());
}

TEST(BatchTokens, CountThePartThatIsTaken) {
  constexpr std::int64_t n = 120;
  const Dataset part = sequences(n).shuffle(8).skip(70);
  const Batches batches = part.batch_tokens(20, "words");
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    const std::vector<Ids> got = read(batches, n, epoch);
    EXPECT_EQ(static_cast<std::int64_t>(got.size()), batches.size());
    EXPECT_EQ(sorted(joined(got)), sorted(part.order(0)));
  }
  EXPECT_EQ(part.take(0).batch_tokens(20, "words").size(), 0);
  EXPECT_FALSE(part.take(0).batch_tokens(20, "words").epoch(0).next());
  EXPECT_EQ(part.take(0).bucket_by_length(20, {.column = "words"}).size(), 0);
  // Two levels count the innermost rows: here 0, 2 or 4.
  for (const Batch& batch : sequences(n).batch_tokens(6, "tree").epoch(0)) {
    EXPECT_LE(batch.at("tree").dim(0), 6);
  }
}

TEST(BatchTokens, AreMadeOfAnotherDataSetToo) {
  const Batches batches = sequences(50).batch_tokens(15, "words");
  const Batches other = batches.over(sequences(30));
  EXPECT_EQ(other.batch_size(), 15);
  EXPECT_EQ(read(other, 30, 0), read(sequences(30).batch_tokens(15, "words"), 30, 0));
  const Batches plain = sequences(50).batch(7, {.drop_last = true}).over(sequences(30));
  EXPECT_EQ(plain.size(), 4);
}

TEST(BatchTokens, RefusesWhatCannotBe) {
  const Dataset data = sequences(9);
  const auto refused = [](auto make) { return error_of(ErrorKind::usage, make); };
  EXPECT_THAT(refused([&] { data.batch_tokens(0, "words"); }),
              HasSubstr("batch_tokens: the budget is 0, must be at least 1"));
  EXPECT_THAT(refused([&] { data.batch_tokens(-5, "words"); }), HasSubstr("the budget is -5"));
  EXPECT_THAT(refused([&] { data.batch_tokens(10); }),
              HasSubstr("batch_tokens: the data set has several ragged columns, tree and words"));
  EXPECT_THAT(refused([&] { data.batch_tokens(10, "word"); }), HasSubstr("did you mean \"words\""));
  EXPECT_THAT(refused([&] { data.batch_tokens(10, "id"); }), HasSubstr("\"id\" is not ragged"));
  EXPECT_THAT(refused([&] { data.batch_tokens(10, "words", {.drop_last = true}); }),
              HasSubstr("drop_last"));
  EXPECT_THAT(refused([&] { data.batch_tokens(10, "words", {.threads = 0}); }),
              HasSubstr("0 threads"));
  EXPECT_THAT(refused([&] { data.bucket_by_length(0); }),
              HasSubstr("bucket_by_length: the batch size is 0"));
  EXPECT_THAT(refused([&] { data.bucket_by_length(4, {.column = "words", .window = -1}); }),
              HasSubstr("the window is -1"));
  const Dataset dense = from_tensors({{"x", Tensor(f32, {3})}});
  EXPECT_THAT(refused([&] { dense.bucket_by_length(4); }), HasSubstr("has no ragged column"));
  EXPECT_THAT(refused([&] { dense.lengths("x", dense.order(0)); }), HasSubstr("is not ragged"));
}

// A source of one's own that says nothing of lengths: they are found by reading.
class Counting : public Source {
 public:
  std::int64_t size() const override { return 600; }
  const std::vector<Column>& columns() const override { return columns_; }
  Batch gather(std::span<const std::int64_t> rows) const override {
    Ids lengths;
    for (const std::int64_t i : rows) lengths.push_back(i % 7);
    const std::int64_t all = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    Batch batch;
    RaggedTensor::from_lengths(Tensor(f32, {all, 3}), lengths).add_to(batch, "x");
    return batch;
  }

 private:
  std::vector<Column> columns_{{.name = "x", .dtype = f32, .shape = {3}, .levels = 1}};
};

TEST(RaggedColumns, MayComeFromASourceOfOnesOwn) {
  const Dataset data(std::make_shared<Counting>());
  const Ids lengths = data.lengths("x", data.order(0));
  ASSERT_EQ(lengths.size(), 600u);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    EXPECT_EQ(lengths[i], static_cast<std::int64_t>(i % 7));
  std::int64_t examples = 0;
  for (const Batch& batch : data.shuffle(1).batch_tokens(50).epoch(0)) {
    EXPECT_LE(batch.at("x").dim(0), 50);
    examples += examples_in(batch);
  }
  EXPECT_EQ(examples, 600);
}

}  // namespace
}  // namespace trireme::data
