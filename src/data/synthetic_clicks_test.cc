#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/testing/error.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

using ::testing::HasSubstr;

// The probability that a click has a higher score than another example: ties count half.
double auc(const std::vector<float>& scores, const std::vector<float>& clicks) {
  std::vector<std::pair<float, float>> sorted;
  for (std::size_t i = 0; i < scores.size(); ++i) sorted.emplace_back(scores[i], clicks[i]);
  std::sort(sorted.begin(), sorted.end());
  double below = 0, pairs = 0, positives = 0;
  for (const auto& [score, click] : sorted) {
    if (click > 0) pairs += below, ++positives;
    else ++below;
  }
  return pairs / (below * positives);
}

TEST(MadeClicks, AreThoseOfTheirNumbers) {
  const Dataset clicks = synthetic_clicks({.examples = 1000, .ids = 5000, .seed = 3});
  ASSERT_EQ(clicks.columns().size(), 28u);
  EXPECT_EQ(clicks.column("C26").ids, 5000);
  EXPECT_LT(clicks.column("C1").ids, 10);
  const Batch all = clicks.all(), some = clicks.rows(500, 503);
  for (const Column& column : clicks.columns()) {
    const Tensor whole = all.at(column.name).cast(f64), part = some.at(column.name).cast(f64);
    const std::int64_t width = whole.elements() / 1000;
    for (std::int64_t i = 0; i < part.elements(); ++i) {
      EXPECT_EQ(part.data<double>()[i], whole.data<double>()[500 * width + i]) << column.name;
    }
  }
  // Others that follow them.
  const Batch later = synthetic_clicks({.examples = 3, .first = 500, .ids = 5000, .seed = 3}).all();
  EXPECT_EQ(later.at("C26").to_vector<std::int64_t>(), some.at("C26").to_vector<std::int64_t>());
  EXPECT_EQ(later.at("target").to_vector<float>(), some.at("target").to_vector<float>());
  const Batch other = synthetic_clicks({.examples = 1000, .ids = 5000, .seed = 4}).all();
  EXPECT_NE(other.at("C26").to_vector<std::int64_t>(), all.at("C26").to_vector<std::int64_t>());
}

TEST(MadeClicks, HaveFrequentAndRareIds) {
  constexpr std::int64_t kExamples = 4000, kIds = 100000;
  const Batch all = synthetic_clicks({.examples = kExamples, .ids = kIds, .exponent = 1.1}).all();
  const std::vector<std::int64_t> ids = all.at("C26").to_vector<std::int64_t>();
  EXPECT_GE(*std::min_element(ids.begin(), ids.end()), 0);
  EXPECT_LT(*std::max_element(ids.begin(), ids.end()), kIds);
  // By the law, ids below x have the share (1 - (x + 1)^-0.1) / (1 - (n + 1)^-0.1).
  for (const double x : {1.0, 100.0, 10000.0}) {
    const auto below = std::count_if(ids.begin(), ids.end(),
                                     [x](std::int64_t id) { return static_cast<double>(id) < x; });
    const double share = (1 - std::pow(x + 1, -0.1)) / (1 - std::pow(kIds + 1.0, -0.1));
    EXPECT_NEAR(static_cast<double>(below) / kExamples, share, 4 * std::sqrt(0.25 / kExamples))
        << x;
  }
}

TEST(MadeClicks, FollowTheirTruth) {
  constexpr std::int64_t kExamples = 20000;
  const Batch all = synthetic_clicks({.examples = kExamples, .ids = 10000, .truth = true}).all();
  const std::vector<float> truth = all.at("truth").to_vector<float>();
  const std::vector<float> clicks = all.at("target").to_vector<float>();
  double expected = 0, made = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) expected += truth[i], made += clicks[i];
  EXPECT_NEAR(made / kExamples, expected / kExamples, 0.012);
  EXPECT_GT(made / kExamples, 0.15);
  EXPECT_LT(made / kExamples, 0.4);
  EXPECT_GT(auc(truth, clicks), 0.72);
  EXPECT_LT(auc(truth, clicks), 0.9);
}

TEST(MadeClicks, RefuseOptionsThatMakeNoSense) {
  EXPECT_THAT(error_of(ErrorKind::usage, [] { synthetic_clicks({.ids = 1}); }),
              HasSubstr("ids 2 or more"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { synthetic_clicks({.exponent = -1}); }),
              HasSubstr("exponent"));
}

}  // namespace
}  // namespace trireme::data
