// Samples for language models, against what their formulas say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "base/testing/error.h"
#include "data/testing/needs_data.h"
#include "trireme/text.h"
#include "trireme/text_data.h"

namespace trireme::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Ids = std::vector<std::int64_t>;
using Pair = std::pair<std::int64_t, std::int64_t>;

Ids ids_of(const Tensor& tensor) { return tensor.to_vector<std::int64_t>(); }

std::vector<Pair> pairs_of(const SkipGrams& samples) {
  std::vector<Pair> pairs;
  const Ids center = ids_of(samples.center), context = ids_of(samples.context);
  for (std::size_t i = 0; i < center.size(); ++i) pairs.emplace_back(center[i], context[i]);
  return pairs;
}

TEST(Ngrams, AreWindows) {
  const Ngrams samples = ngrams(Ids{5, 6, 7, 8}, 3);
  EXPECT_EQ(samples.context.type_str(), "i64[2, 2]");
  EXPECT_THAT(ids_of(samples.context), ElementsAre(5, 6, 6, 7));
  EXPECT_THAT(ids_of(samples.next), ElementsAre(7, 8));
  const Ngrams single = ngrams(Ids{5, 6}, 1);
  EXPECT_EQ(single.context.type_str(), "i64[2, 0]");
  EXPECT_THAT(ids_of(single.next), ElementsAre(5, 6));
  const Ngrams none = ngrams(Ids{5, 6}, 3);
  EXPECT_EQ(none.context.type_str(), "i64[0, 2]");
  EXPECT_EQ(none.next.type_str(), "i64[0]");
  EXPECT_EQ(ngrams(Ids{}, 2).next.elements(), 0);
  EXPECT_EQ(ngrams(Ids{1, 2, 3}, 3).next.elements(), 1);
  EXPECT_THAT(error_of(ErrorKind::usage, [] { ngrams(Ids{1}, 0); }), HasSubstr("n is 0"));
}

TEST(SkipGrams, AreAllPairsInTheWindow) {
  const SkipGramOptions all{.window = 2, .shrink = false, .subsample = 0};
  EXPECT_THAT(pairs_of(skip_grams(Ids{0, 1, 2, 3}, Ids{1, 1, 1, 1}, all)),
              ElementsAre(Pair{0, 1}, Pair{0, 2}, Pair{1, 0}, Pair{1, 2}, Pair{1, 3}, Pair{2, 0},
                          Pair{2, 1}, Pair{2, 3}, Pair{3, 1}, Pair{3, 2}));
  EXPECT_TRUE(pairs_of(skip_grams(Ids{0}, Ids{1}, all)).empty());
  EXPECT_TRUE(pairs_of(skip_grams(Ids{}, Ids{}, all)).empty());
  EXPECT_EQ(pairs_of(skip_grams(Ids{0, 1, 0}, Ids{2, 1},
                                {.window = 1 << 30, .shrink = false, .subsample = 0}))
                .size(),
            6u);
}

TEST(SkipGrams, DrawTheirWindows) {
  // All words differ, so that a pair shows its distance.
  Ids ids(20000);
  std::iota(ids.begin(), ids.end(), 0);
  const Ids counts(ids.size(), 1);
  const SkipGramOptions options{.window = 4, .subsample = 0, .seed = 3};
  std::map<std::int64_t, double> reach;
  for (const auto& [center, context] : pairs_of(skip_grams(ids, counts, options))) {
    ++reach[context - center];
  }
  EXPECT_EQ(reach.size(), 8u);
  for (const auto& [distance, times] : reach) {
    // A word at distance d is in the windows d ... 4 of 4 that are as likely.
    const double expected = (5.0 - std::abs(static_cast<double>(distance))) / 4;
    EXPECT_NEAR(times / 20000, expected, 0.02) << distance;
  }
  EXPECT_EQ(reach[1], 19999);
}

TEST(SkipGrams, LeaveOutFrequentWords) {
  // Word 0 is 96% of 100,000 words, the others 1% each.
  Ids ids;
  for (int i = 0; i < 100000; ++i) ids.push_back(i % 25 == 0 ? 1 + i / 25 % 4 : 0);
  Ids counts(5);
  for (const std::int64_t id : ids) ++counts[static_cast<std::size_t>(id)];
  const SkipGramOptions options{.window = 1, .shrink = false, .subsample = 0.01, .seed = 9};
  const SkipGrams samples = skip_grams(ids, counts, options);
  Ids kept(5);
  for (const std::int64_t id : ids_of(samples.center)) ++kept[static_cast<std::size_t>(id)];
  // Each word that stays has two neighbors, but those at the ends.
  EXPECT_NEAR(static_cast<double>(kept[0]) / 2 / 96000, std::sqrt(0.01 / 0.96), 0.005);
  for (std::size_t id = 1; id < 5; ++id) EXPECT_NEAR(static_cast<double>(kept[id]), 2000, 1);
  // The same for the same seed and epoch, and others for others.
  EXPECT_EQ(pairs_of(samples), pairs_of(skip_grams(ids, counts, options)));
  SkipGramOptions other = options;
  other.epoch = 1;
  EXPECT_NE(pairs_of(samples), pairs_of(skip_grams(ids, counts, other)));
  other = options;
  other.seed = 10;
  EXPECT_NE(pairs_of(samples), pairs_of(skip_grams(ids, counts, other)));
}

TEST(SkipGrams, RefuseWhatCannotBe) {
  EXPECT_THAT(
      error_of(ErrorKind::data, [] { skip_grams(Ids{0, 2}, Ids{1, 1}); }),
      HasSubstr("id 2 at place 1 is out of range: of the ids with counts, they are 0 to 1"));
  EXPECT_THAT(error_of(ErrorKind::data, [] { skip_grams(Ids{-1}, Ids{}); }), HasSubstr("id -1"));
  const auto error = [](const SkipGramOptions& options) {
    return error_of(ErrorKind::usage, [&] { skip_grams(Ids{0}, Ids{1}, options); });
  };
  EXPECT_THAT(error({.window = 0}), HasSubstr("window is 0"));
  EXPECT_THAT(error({.subsample = -1}), HasSubstr("subsample"));
  EXPECT_THAT(error({.subsample = NAN}), HasSubstr("subsample"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { skip_grams(Ids{0}, Ids{-1}); }),
              HasSubstr("the count of id 0 is -1"));
}

TEST(KeepProbability, IsThatOfThePaper) {
  const std::vector<double> keep = keep_probability(Ids{900, 99, 1, 0}, 0.01);
  EXPECT_DOUBLE_EQ(keep[0], std::sqrt(0.01 / 0.9));
  EXPECT_DOUBLE_EQ(keep[1], std::sqrt(0.01 / 0.099));
  EXPECT_EQ(keep[2], 1);
  EXPECT_EQ(keep[3], 1);
  EXPECT_THAT(error_of(ErrorKind::usage, [] { keep_probability(Ids{1}, 0); }),
              HasSubstr("above 0"));
}

TEST(Noise, GoesByThePowerOfCounts) {
  const std::vector<double> noise = noise_distribution(Ids{16, 81, 0, 1});
  EXPECT_DOUBLE_EQ(noise[0], 8.0 / 36);  // 16^0.75 = 8
  EXPECT_DOUBLE_EQ(noise[1], 27.0 / 36);
  EXPECT_EQ(noise[2], 0);
  EXPECT_DOUBLE_EQ(noise[3], 1.0 / 36);
  EXPECT_EQ(noise_distribution(Ids{5, 0, 7}, 0), (std::vector<double>{0.5, 0, 0.5}));
  const auto error = [](const Ids& counts, double power) {
    return error_of(ErrorKind::usage, [&] { noise_distribution(counts, power); });
  };
  EXPECT_THAT(error({0, 0}, 0.75), HasSubstr("no count is above 0"));
  EXPECT_THAT(error({}, 0.75), HasSubstr("no count is above 0"));
  EXPECT_THAT(error({1, -1}, 0.75), HasSubstr("the count of id 1 is -1"));
  EXPECT_THAT(error({2}, NAN), HasSubstr("finite"));
  EXPECT_THAT(error({2}, 1e6), HasSubstr("too large"));
}

TEST(Noise, IsDrawn) {
  const std::vector<double> weights = {0, 1, 0, 2, 5, 0};
  const Tensor drawn = draw(weights, {1000, 200}, 4);
  EXPECT_EQ(drawn.type_str(), "i64[1000, 200]");
  std::map<std::int64_t, double> times;
  for (const std::int64_t id : ids_of(drawn)) ++times[id];
  EXPECT_EQ(times.size(), 3u);
  double chi = 0;
  for (const std::int64_t id : {1, 3, 4}) {
    const double expected = 200000 * weights[static_cast<std::size_t>(id)] / 8;
    chi += (times[id] - expected) * (times[id] - expected) / expected;
  }
  EXPECT_LT(chi, 13.8);  // of two degrees of freedom: in one of 1000
  EXPECT_TRUE(equal(drawn, draw(weights, {1000, 200}, 4)));
  EXPECT_FALSE(equal(drawn, draw(weights, {1000, 200}, 5)));
  EXPECT_FALSE(equal(drawn, draw(weights, {1000, 200}, 4, 1)));
  EXPECT_EQ(draw(weights, {0, 3}, 4).elements(), 0);
  const auto error = [](const std::vector<double>& distribution) {
    return error_of(ErrorKind::usage, [&] { draw(distribution, {2}, 1); });
  };
  EXPECT_THAT(error({}), HasSubstr("no weight is above 0"));
  EXPECT_THAT(error({0}), HasSubstr("no weight is above 0"));
  EXPECT_THAT(error({1, -1}), HasSubstr("weight 1 is -1"));
  EXPECT_THAT(error({NAN}), HasSubstr("weight 0 is nan"));
}

TEST(Samples, OfARealText) {
  NEEDS_DATA("wikitext2/test");
  const std::vector<std::string> tokens =
      split(data::open_text("wikitext2/test").field("text").at(0));
  TokenCounts found;
  count(tokens, found);
  const Vocabulary vocabulary(found);
  const Ids ids = vocabulary.encode(tokens);
  const Ngrams samples = ngrams(ids, 5);
  EXPECT_EQ(samples.next.dim(0), static_cast<std::int64_t>(ids.size()) - 4);
  const std::vector<double> keep = keep_probability(vocabulary.counts(), 1e-3);
  double expected = 0;
  for (const std::int64_t id : ids) expected += keep[static_cast<std::size_t>(id)];
  const SkipGramOptions options{.window = 1, .shrink = false, .subsample = 1e-3};
  const double kept =
      static_cast<double>(skip_grams(ids, vocabulary.counts(), options).center.dim(0)) / 2 + 1;
  EXPECT_NEAR(kept / expected, 1, 0.01);
  EXPECT_LT(kept, 0.8 * static_cast<double>(ids.size()));
}

}  // namespace
}  // namespace trireme::text
