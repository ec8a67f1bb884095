// Connectionist temporal classification: compares losses with an enumeration of all alignments and
// with plain loops, and decoders with an enumeration of all labels.

#include <functional>
#include <map>
#include <random>

#include "blocks.h"
#include "trireme/nn.h"
#include "trireme/sequence.h"
#include "trireme/structured.h"

namespace trireme {
namespace {

using Ids = std::vector<std::int64_t>;

Tensor integers(const Ids& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

Tensor numbers(const std::vector<std::int64_t>& shape, unsigned seed, double size = 2,
               DType dtype = f32) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> in_size(-size, size);
  Tensor tensor(f64, shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.data<double>()[i] = in_size(random);
  return tensor.cast(dtype);
}

struct Speech {
  std::int64_t classes;
  DType dtype = f32;
  Program program{"speech"};
  Value x = program.input("x", dtype, ragged({batch}, {classes}));
  Value labels = program.input("labels", i64, ragged({batch}));

  Feeds feeds(const Ids& splits, const std::vector<Ids>& right, unsigned seed) const {
    Feeds all{{"x", numbers({splits.back(), classes}, seed, 2, dtype)},
              {"x.splits", integers(splits)}};
    RaggedTensor::from(right).add_to(all, "labels");
    return all;
  }
};

TEST(Ctc, LossAndGradients) {
  Speech speech{3};
  const Value loss = nn::ctc_loss(speech.x, speech.labels, {.zero_infinity = true});
  EXPECT_EQ(loss.str(), loss.name() + " : f32[batch]");
  // One without labels, one with a single row, one with a repeated label, an empty one, an
  // impossible one.
  const Feeds feeds =
      speech.feeds({0, 5, 7, 8, 12, 12, 14}, {{1, 2}, {}, {2}, {1, 1}, {}, {2, 2}}, 3);
  expect_gradients(speech.program, feeds, sum(loss), {speech.x});
  expect_compiled(speech.program, feeds, {loss});
  expect_compiled(speech.program, speech.feeds({0}, {}, 1), {loss});
}

// All labels that can be read are one certainty.
TEST(Ctc, ProbabilitiesOfAllLabelsAddUpToOne) {
  Speech speech{4};
  const Value loss = nn::ctc_loss(speech.x, speech.labels, {.blank = 2});
  std::vector<Ids> all{{}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const std::int64_t label : {0, 1, 3}) {
      if (all[i].size() == 3) break;
      all.push_back(all[i]);
      all.back().push_back(label);
    }
  }
  Ids splits{0};
  for (std::size_t i = 0; i < all.size(); ++i) splits.push_back(splits.back() + 3);
  Feeds feeds = speech.feeds(splits, all, 8);
  float* x = feeds.at("x").data<float>();
  for (std::size_t i = 12; i < 12 * all.size(); ++i) x[i] = x[i % 12];  // the same rows for all
  const Tensor losses = Session(speech.program).run(feeds, {loss})[0];
  double total = 0;
  for (std::int64_t i = 0; i < losses.elements(); ++i) total += std::exp(-losses.data<float>()[i]);
  EXPECT_NEAR(total, 1, 1e-5);
}

// By sums of probabilities themselves, which a long double's range allows for.
double plain_loss(const Tensor& x, std::int64_t from, std::int64_t to, const Ids& labels,
                  std::int64_t blank) {
  Ids states{blank};
  for (const std::int64_t label : labels) states.insert(states.end(), {label, blank});
  std::vector<long double> alpha(states.size(), 0);
  const std::int64_t classes = x.dim(1);
  for (std::int64_t row = from; row < to; ++row) {
    const double* logits = x.data<double>() + row * classes;
    long double total = 0;
    for (std::int64_t k = 0; k < classes; ++k)
      total += std::exp(static_cast<long double>(logits[k]));
    std::vector<long double> next(states.size(), 0);
    for (std::size_t s = 0; s < states.size(); ++s) {
      long double ways = alpha[s] + (s > 0 ? alpha[s - 1] : 0);
      if (s > 1 && states[s] != blank && states[s] != states[s - 2]) ways += alpha[s - 2];
      if (row == from) ways = s < 2 ? 1 : 0;
      next[s] = ways * std::exp(static_cast<long double>(logits[states[s]])) / total;
    }
    alpha = next;
  }
  long double all = alpha.back();
  if (alpha.size() > 1) all += alpha[alpha.size() - 2];
  return static_cast<double>(-std::log(all));
}

TEST(Ctc, LongSequencesAtAnyNumberOfThreads) {
  Speech speech{6, f64};
  const Value loss = nn::ctc_loss(speech.x, speech.labels);
  const Value gradient(transforms::gradients(sum(loss).get(), {speech.x.get()})[0]);
  std::mt19937 random(5);
  std::vector<Ids> right(3);
  for (std::size_t i = 0; i < right.size(); ++i) {
    for (int k = 0; k < 40; ++k) right[i].push_back(1 + static_cast<std::int64_t>(random() % 5));
  }
  Feeds feeds = speech.feeds({0, 200, 320, 500}, right, 6);
  Session one(speech.program, {.threads = 1}), two(speech.program, {.threads = 2});
  const std::vector<Tensor> results = one.run(feeds, {loss, gradient});
  const std::vector<Tensor> again = two.run(feeds, {loss, gradient});
  EXPECT_EQ(again[0].to_vector<double>(), results[0].to_vector<double>());
  EXPECT_EQ(again[1].to_vector<double>(), results[1].to_vector<double>());
  const Ids splits{0, 200, 320, 500};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(results[0].data<double>()[i],
                plain_loss(feeds.at("x"), splits[i], splits[i + 1], right[i], 0), 1e-9);
  }
  // Along one direction, by differences.
  Tensor& x = feeds.at("x");
  const Tensor direction = numbers(x.shape(), 77, 1, f64);
  double expected = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    expected += results[1].data<double>()[i] * direction.data<double>()[i];
  }
  const auto moved = [&](double step) {
    Feeds other = feeds;
    other["x"] = numbers(x.shape(), 6, 2, f64);
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      other["x"].data<double>()[i] += step * direction.data<double>()[i];
    }
    const Tensor losses = one.run(other, {loss})[0];
    return losses.data<double>()[0] + losses.data<double>()[1] + losses.data<double>()[2];
  };
  EXPECT_NEAR((moved(1e-5) - moved(-1e-5)) / 2e-5, expected, 1e-6 * std::abs(expected));
}

TEST(Ctc, TooFewRowsAreInfiniteOrNothing) {
  Speech speech{3};
  const Value loss = nn::ctc_loss(speech.x, speech.labels);
  const Value kept = nn::ctc_loss(speech.x, speech.labels, {.zero_infinity = true});
  const Value gradient(transforms::gradients(sum(loss).get(), {speech.x.get()})[0]);
  // Two equal labels need three rows; labels without rows; enough.
  const Feeds feeds = speech.feeds({0, 2, 2, 4}, {{1, 1}, {1}, {1, 2}}, 2);
  const auto results = Session(speech.program).run(feeds, {loss, kept, gradient});
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(results[0].data<float>()[0], infinity);
  EXPECT_EQ(results[0].data<float>()[1], infinity);
  EXPECT_TRUE(std::isfinite(results[0].data<float>()[2]));
  EXPECT_EQ(results[1].data<float>()[0], 0);
  EXPECT_EQ(results[1].data<float>()[1], 0);
  EXPECT_EQ(results[1].data<float>()[2], results[0].data<float>()[2]);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(results[2].data<float>()[i], 0);
  EXPECT_NE(results[2].data<float>()[6], 0);
}

TEST(Ctc, GreedyReadsTheLargestClasses) {
  Speech speech{3};
  const Value read = nn::ctc_greedy(speech.x);
  const Value splits = sequence::splits(read);
  const auto run = [&](const Ids& best, const Ids& rows) {
    Tensor x(f32, {static_cast<std::int64_t>(best.size()), 3});
    for (std::size_t t = 0; t < best.size(); ++t) {
      x.data<float>()[3 * t + static_cast<std::size_t>(best[t])] = 1;
    }
    const auto results =
        Session(speech.program).run({{"x", x}, {"x.splits", integers(rows)}}, {read, splits});
    return std::pair(results[0].to_vector<std::int64_t>(), results[1].to_vector<std::int64_t>());
  };
  // 1 1 - 1 2, nothing, a blank, and the 2 of the next sequence is a new one.
  EXPECT_EQ(run({1, 1, 0, 1, 2, 0, 2, 2}, {0, 5, 5, 6, 8}),
            std::pair(Ids({1, 1, 2, 2}), Ids({0, 3, 3, 3, 4})));
  EXPECT_EQ(run({2, 2}, {0, 1, 2}), std::pair(Ids({2, 2}), Ids({0, 1, 2})));
  EXPECT_EQ(run({}, {0}), std::pair(Ids{}, Ids{0}));
  Speech other{3};
  expect_compiled(other.program, other.feeds({0, 4, 4, 9}, {{}, {}, {}}, 5),
                  {nn::ctc_greedy(other.x, {.blank = 2})});
}

// The probability of each string of labels, over all alignments.
std::map<Ids, double> all_readings(const Tensor& x, std::int64_t from, std::int64_t to,
                                   std::int64_t blank) {
  std::map<Ids, double> readings;
  const std::int64_t classes = x.dim(1);
  Ids alignment;
  const std::function<void(double)> go_on = [&](double probability) {
    const std::int64_t row = from + static_cast<std::int64_t>(alignment.size());
    if (row == to) {
      Ids labels;
      for (std::size_t t = 0; t < alignment.size(); ++t) {
        if (alignment[t] != blank && (t == 0 || alignment[t] != alignment[t - 1])) {
          labels.push_back(alignment[t]);
        }
      }
      readings[labels] += probability;
      return;
    }
    double total = 0;
    for (std::int64_t k = 0; k < classes; ++k)
      total += std::exp(double{x.data<float>()[row * classes + k]});
    for (std::int64_t k = 0; k < classes; ++k) {
      alignment.push_back(k);
      go_on(probability * std::exp(double{x.data<float>()[row * classes + k]}) / total);
      alignment.pop_back();
    }
  };
  go_on(1);
  return readings;
}

TEST(Ctc, AWideBeamFindsAllLabelsByTheirProbability) {
  const RaggedTensor logits(numbers({11, 4}, 21), integers({0, 5, 5, 11}));
  const auto found = nn::ctc_beam_search(logits, {.width = 4096, .best = 20, .blank = 1});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[1].size(), 1u);
  EXPECT_TRUE(found[1][0].labels.empty());
  EXPECT_EQ(found[1][0].log_probability, 0);
  for (const std::size_t i : {0u, 2u}) {
    auto readings = all_readings(logits.rows(), logits.row_begin(static_cast<std::int64_t>(i)),
                                 logits.row_begin(static_cast<std::int64_t>(i) + 1), 1);
    ASSERT_EQ(found[i].size(), 20u);
    for (const nn::CtcHypothesis& hypothesis : found[i]) {
      const auto best = std::max_element(readings.begin(), readings.end(),
                                         [](auto& a, auto& b) { return a.second < b.second; });
      EXPECT_EQ(hypothesis.labels, best->first);
      EXPECT_NEAR(hypothesis.log_probability, std::log(best->second), 1e-9);
      readings.erase(best);
    }
  }
}

// Where greedy reads nothing, since the blank is the largest class of each row.
TEST(Ctc, ABeamAddsUpAlignments) {
  Tensor x(f32, {2, 2});
  for (const int row : {0, 1}) {
    x.data<float>()[2 * row] = std::log(0.6F);
    x.data<float>()[2 * row + 1] = std::log(0.4F);
  }
  const RaggedTensor logits(x, integers({0, 2}));
  for (const std::int64_t width : {2, 16}) {
    const auto best = nn::ctc_beam_search(logits, {.width = width})[0][0];
    EXPECT_EQ(best.labels, Ids{1});
    EXPECT_NEAR(best.log_probability, std::log(0.64), 1e-6);
  }
  const auto narrow = nn::ctc_beam_search(logits, {.width = 1})[0];
  ASSERT_EQ(narrow.size(), 1u);
  EXPECT_TRUE(narrow[0].labels.empty());
}

}  // namespace
}  // namespace trireme
