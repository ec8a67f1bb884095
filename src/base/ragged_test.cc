// Ragged tensors against nested vectors, which say the same with other means.
#include "trireme/ragged.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/testing/error.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<std::int64_t>;
using Sequences = std::vector<Ids>;
using Nested = std::vector<Sequences>;

Tensor ids(const Ids& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

Ids splits(const RaggedTensor& ragged, int level = 0) {
  return ragged.splits(level).to_vector<std::int64_t>();
}

Ids flat(const Sequences& sequences) {
  Ids all;
  for (const Ids& sequence : sequences) all.insert(all.end(), sequence.begin(), sequence.end());
  return all;
}

// The inverse of RaggedTensor::from(), written with row_begin() and lengths() alone.
Sequences sequences_of(const RaggedTensor& ragged) {
  Sequences result;
  for (std::int64_t i = 0; i < ragged.size(); ++i) {
    result.push_back(ragged.sequence(i).to_vector<std::int64_t>());
  }
  return result;
}

Nested nested_of(const RaggedTensor& ragged) {
  Nested result;
  const Ids inner = ragged.lengths(1);
  std::size_t next = 0;
  for (const std::int64_t length : ragged.lengths(0)) {
    Ids rows = ragged.sequence(static_cast<std::int64_t>(result.size())).to_vector<std::int64_t>();
    Sequences sequences;
    auto at = rows.begin();
    for (std::int64_t k = 0; k < length; ++k, ++next) {
      sequences.emplace_back(at, at + inner[next]);
      at += inner[next];
    }
    EXPECT_EQ(at, rows.end());
    result.push_back(std::move(sequences));
  }
  return result;
}

// Sequences at random, many of them empty; sometimes there are none.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
  }
  Ids sequence() {
    Ids result(static_cast<std::size_t>(below(2) * below(6)));
    for (std::int64_t& id : result) id = below(1000);
    return result;
  }
  Sequences sequences() {
    Sequences result(static_cast<std::size_t>(below(6)));
    for (Ids& sequence : result) sequence = this->sequence();
    return result;
  }
  Nested nested() {
    Nested result(static_cast<std::size_t>(below(6)));
    for (Sequences& part : result) part = sequences();
    return result;
  }
  Ids choice(std::int64_t n) {
    Ids result(n == 0 ? 0 : static_cast<std::size_t>(below(8)));
    for (std::int64_t& i : result) i = below(n);
    return result;
  }

 private:
  std::mt19937_64 engine_;
};

TEST(Ragged, HoldsSequencesOneBehindTheOther) {
  const RaggedTensor ragged = RaggedTensor::from(Sequences{{1, 2}, {}, {3}});
  EXPECT_EQ(ragged.levels(), 1);
  EXPECT_EQ(ragged.size(), 3);
  EXPECT_EQ(ragged.rows().to_vector<std::int64_t>(), (Ids{1, 2, 3}));
  EXPECT_EQ(splits(ragged), (Ids{0, 2, 2, 3}));
  EXPECT_EQ(ragged.lengths(), (Ids{2, 0, 1}));
  EXPECT_EQ(ragged.row_begin(2), 2);
  EXPECT_EQ(ragged.row_begin(3), 3);
  EXPECT_EQ(ragged.type_str(), "i64[3] in 3 sequences");
  const RaggedTensor nested = RaggedTensor::from(Nested{{{1}, {2, 3}}, {{4}}});
  EXPECT_EQ(nested.levels(), 2);
  EXPECT_EQ(splits(nested, 0), (Ids{0, 2, 3}));
  EXPECT_EQ(splits(nested, 1), (Ids{0, 1, 3, 4}));
  EXPECT_EQ(nested.row_begin(1), 3);
  EXPECT_EQ(nested.type_str(), "i64[4] in 2, 3 sequences");
}

TEST(Ragged, MayBeEmptyOnEveryLevel) {
  const RaggedTensor none;
  EXPECT_EQ(none.size(), 0);
  EXPECT_EQ(none.levels(), 1);
  EXPECT_EQ(none.row_begin(0), 0);
  EXPECT_TRUE(equal(none, RaggedTensor::from(std::vector<std::vector<float>>{})));
  const RaggedTensor empty = RaggedTensor::from(Nested{{}, {{}, {}}, {}});
  EXPECT_EQ(empty.size(), 3);
  EXPECT_EQ(splits(empty, 0), (Ids{0, 0, 2, 2}));
  EXPECT_EQ(splits(empty, 1), (Ids{0, 0, 0}));
  EXPECT_EQ(empty.sequence(1).elements(), 0);
  EXPECT_EQ(nested_of(empty.slice(1, 3)), (Nested{{{}, {}}, {}}));
  EXPECT_EQ(empty.slice(3, 3).size(), 0);
  EXPECT_EQ(empty.gather({}).size(), 0);
  EXPECT_EQ(empty.gather({}).levels(), 2);
}

TEST(Ragged, TakesRowsOfAnyShape) {
  const Tensor rows = Tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const RaggedTensor ragged = RaggedTensor::from_lengths(rows, {0, 2, 1});
  EXPECT_TRUE(equal(ragged.sequence(1), rows.rows(0, 2)));
  EXPECT_EQ(ragged.sequence(1).bytes(), rows.bytes());  // shared
  EXPECT_EQ(ragged.slice(2, 3).rows().bytes(), rows.rows(2, 3).bytes());
  const std::int64_t last[] = {2, 0, 1, 2};
  EXPECT_EQ(ragged.gather(last).rows().to_vector<float>(),
            (std::vector<float>{5, 6, 1, 2, 3, 4, 5, 6}));
  const RaggedTensor thin = RaggedTensor::from_lengths(Tensor(f32, {4, 0}), {3, 1});
  EXPECT_EQ(thin.gather(std::vector<std::int64_t>{0, 0}).rows().type_str(), "f32[6, 0]");
}

TEST(Ragged, SlicesAndGathersAsNestedVectorsDo) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Nested nested = random.nested();
    const RaggedTensor ragged = RaggedTensor::from(nested);
    ASSERT_EQ(nested_of(ragged), nested) << seed;
    const std::int64_t n = ragged.size(), begin = random.below(n + 1);
    const std::int64_t end = begin + random.below(n - begin + 1);
    EXPECT_EQ(nested_of(ragged.slice(begin, end)),
              Nested(nested.begin() + begin, nested.begin() + end))
        << seed;
    const Ids choice = random.choice(n);
    Nested chosen;
    for (const std::int64_t i : choice) chosen.push_back(nested[static_cast<std::size_t>(i)]);
    EXPECT_EQ(nested_of(ragged.gather(choice)), chosen) << seed;
    EXPECT_TRUE(equal(ragged.gather(choice), RaggedTensor::from(chosen))) << seed;
    // One level is the same without the outermost.
    const Sequences sequences = random.sequences();
    const RaggedTensor one = RaggedTensor::from(sequences);
    ASSERT_EQ(sequences_of(one), sequences) << seed;
    EXPECT_EQ(one.rows().to_vector<std::int64_t>(), flat(sequences)) << seed;
    EXPECT_TRUE(equal(one, RaggedTensor::from_lengths(one.rows(), one.lengths()))) << seed;
  }
}

TEST(Ragged, GoesIntoFeedsAndComesBack) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const RaggedTensor one = RaggedTensor::from(random.sequences());
    const RaggedTensor two = RaggedTensor::from(random.nested());
    std::map<std::string, Tensor> feeds{{"x", Tensor(f32, {3})}};
    one.add_to(feeds, "one");
    two.add_to(feeds, "two");
    EXPECT_EQ(feeds.size(), 6u);
    EXPECT_EQ(levels_in(feeds, "one"), 1);
    EXPECT_EQ(levels_in(feeds, "two"), 2);
    EXPECT_EQ(levels_in(feeds, "x"), 0);
    EXPECT_EQ(levels_in(feeds, "none"), 0);
    EXPECT_TRUE(equal(RaggedTensor::from_feeds(feeds, "one"), one));
    EXPECT_TRUE(equal(RaggedTensor::from_feeds(feeds, "two"), two));
  }
}

TEST(Ragged, NamesItsSplits) {
  EXPECT_EQ(splits_name("words", 0, 1), "words.splits");
  EXPECT_EQ(splits_name("words", 0, 2), "words.splits_0");
  EXPECT_EQ(splits_name("words", 11, 12), "words.splits_11");
  EXPECT_THROW(splits_name("words", 1, 1), Error);
  EXPECT_THROW(splits_name("words", -1, 1), Error);
  for (const char* name : {"x.splits", "x.splits_0", "x.splits_12", ".splits"}) {
    EXPECT_TRUE(is_splits_name(name)) << name;
  }
  for (const char* name : {"", "7", "x", "splits", "x_splits", "x.splits_", "x.splits0",
                           "x.splits_a", "x.splits.y", "x.splits_0_"}) {
    EXPECT_FALSE(is_splits_name(name)) << name;
  }
}

TEST(Ragged, EqualComparesRowsAndSplits) {
  const RaggedTensor a = RaggedTensor::from(Sequences{{1, 2}, {3}});
  EXPECT_TRUE(equal(a, RaggedTensor::from(Sequences{{1, 2}, {3}})));
  EXPECT_FALSE(equal(a, RaggedTensor::from(Sequences{{1}, {2, 3}})));
  EXPECT_FALSE(equal(a, RaggedTensor::from(Sequences{{1, 2}, {4}})));
  EXPECT_FALSE(equal(a, RaggedTensor::from(Nested{{{1, 2}, {3}}})));
}

TEST(Ragged, PrintsForPeople) {
  EXPECT_EQ(RaggedTensor::from(Sequences{{1, 2}, {}, {3}}).str(), "[[1, 2],\n [],\n [3]]");
  EXPECT_EQ(RaggedTensor::from(Nested{{{1}, {2, 3}}, {}}).str(), "[[[1],\n  [2, 3]],\n []]");
  EXPECT_EQ(RaggedTensor().str(), "[]");
  EXPECT_EQ(RaggedTensor::from(Sequences{{1}, {2}, {3}, {4}, {5}}).str(1), "[[1],\n ...,\n [5]]");
  EXPECT_EQ(RaggedTensor::from(Sequences{{1}, {2}, {3}}).str(0), "[[1],\n ...,\n [3]]");
  EXPECT_EQ(RaggedTensor::from_lengths(Tensor::from<float>({2, 2}, {1, 2, 3, 4}), {2}).str(),
            "[[[1, 2],\n  [3, 4]]]");
}

std::string refused(const Tensor& splits, std::int64_t rows) {
  return error_of(ErrorKind::usage, [&] { check_splits(splits, rows, "s"); });
}

TEST(Splits, SayWhatIsWrongWithThem) {
  EXPECT_EQ(refused(ids({0}), 0), "no error");
  EXPECT_EQ(refused(ids({0, 0, 3, 3}), 3), "no error");
  EXPECT_THAT(refused(ids({0, 3, 2, 4}), 4),
              HasSubstr("s: position 2 is 2, less than 3 before it"));
  EXPECT_THAT(refused(ids({0, 3}), 4),
              HasSubstr("position 1, the last, is 3, but 4 are packed below"));
  EXPECT_THAT(refused(ids({0, 5}), 4),
              HasSubstr("position 1, the last, is 5, but 4 are packed below"));
  EXPECT_THAT(refused(ids({1, 4}), 4), HasSubstr("position 0 is 1, must be 0"));
  EXPECT_THAT(refused(ids({-1, 4}), 4), HasSubstr("position 0 is -1, must be 0"));
  EXPECT_THAT(refused(ids({0, -1, 4}), 4), HasSubstr("position 1 is -1, less than 0"));
  EXPECT_THAT(refused(ids({}), 0), HasSubstr("i64[0], but must be i64[n + 1]"));
  EXPECT_THAT(refused(Tensor(i32, {3}), 0), HasSubstr("i32[3], but must be i64[n + 1]"));
  EXPECT_THAT(refused(Tensor(i64, {2, 1}), 0), HasSubstr("i64[2, 1], but must be"));
  EXPECT_THAT(refused(Tensor(i64, {}), 0), HasSubstr("i64[], but must be"));
}

TEST(Splits, AreCheckedOnEveryLevel) {
  const Tensor rows(f32, {4});
  const auto made = [&](const std::vector<Tensor>& splits) {
    return error_of(ErrorKind::usage, [&] { RaggedTensor(rows, splits); });
  };
  EXPECT_EQ(made({ids({0, 2}), ids({0, 1, 4})}), "no error");
  EXPECT_THAT(made({ids({0, 2}), ids({0, 1, 3})}),
              HasSubstr("splits of level 1: position 2, the last, is 3, but 4 are packed below"));
  EXPECT_THAT(made({ids({0, 3}), ids({0, 1, 4})}),
              HasSubstr("splits of level 0: position 1, the last, is 3, but 2 are packed below"));
  EXPECT_THAT(made({}), HasSubstr("one Tensor for each level"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { RaggedTensor(Tensor::scalar(1.0f), ids({0})); }),
              HasSubstr("a scalar has no rows"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { RaggedTensor::from_lengths(rows, {3, -1, 2}); }),
              HasSubstr("length -1 at position 1 is negative"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { RaggedTensor::from_lengths(rows, {3}); }),
              HasSubstr("is 3, but 4 are packed below"));
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { splits_of({huge, huge}); }),
              HasSubstr("more than 2^63"));
}

TEST(Splits, InFeedsAreNamedInErrors) {
  const auto found = [](const std::map<std::string, Tensor>& feeds) {
    return error_of(ErrorKind::usage, [&] { RaggedTensor::from_feeds(feeds, "x"); });
  };
  const Tensor rows(f32, {4});
  EXPECT_EQ(found({{"x", rows}, {"x.splits", ids({0, 4})}}), "no error");
  EXPECT_THAT(found({}), HasSubstr("\"x\": there is no such entry"));
  EXPECT_THAT(found({{"x", rows}}), HasSubstr("there is no \"x.splits\""));
  EXPECT_THAT(found({{"x", Tensor::scalar(1.0f)}, {"x.splits", ids({0})}}), HasSubstr("a scalar"));
  EXPECT_THAT(found({{"x", rows}, {"x.splits", ids({0, 3})}}),
              HasSubstr("\"x.splits\", level 0: position 1"));
  EXPECT_THAT(found({{"x", rows}, {"x.splits_0", ids({0, 4})}}),
              HasSubstr("the only level are called \"x.splits\""));
  EXPECT_THAT(found({{"x", rows}, {"x.splits_0", ids({0, 2})}, {"x.splits_1", ids({0, 5, 4})}}),
              HasSubstr("\"x.splits_1\", level 1: position 2 is 4, less than 5"));
}

TEST(Ragged, RefusesPlacesItDoesNotHave) {
  const RaggedTensor ragged = RaggedTensor::from(Sequences{{1, 2}, {3}});
  EXPECT_THROW(ragged.splits(1), Error);
  EXPECT_THROW(ragged.splits(-1), Error);
  EXPECT_THROW(ragged.lengths(1), Error);
  EXPECT_THROW(ragged.row_begin(3), Error);
  EXPECT_THROW(ragged.row_begin(-1), Error);
  EXPECT_THROW(ragged.sequence(2), Error);
  EXPECT_THROW(ragged.slice(1, 3), Error);
  EXPECT_THROW(ragged.slice(2, 1), Error);
  EXPECT_THROW(ragged.gather(Ids{0, 2}), Error);
}

}  // namespace
}  // namespace trireme
