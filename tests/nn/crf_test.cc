// Compares conditional random fields with an enumeration of all paths, and long ones with plain
// loops in double precision.

#include <algorithm>
#include <functional>
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

// A chain with its scores as inputs, and what is fed.
struct Chains {
  std::int64_t tags;
  Program program;
  Value x = program.input("x", f32, ragged({batch}, {tags}));
  Value labels = program.input("labels", i64, {x.dim(0)});
  nn::CrfScores scores{program.input("start", f32, {tags}),
                       program.input("transition", f32, {tags, tags}),
                       program.input("end", f32, {tags})};
  Feeds feeds = {};
  Ids splits = {};

  explicit Chains(std::int64_t tags_) : tags(tags_) {}

  // Random scores, whole numbers times `step` so that some are equal, in [-size, size].
  void draw(const Ids& lengths, double size, double step, unsigned seed) {
    std::mt19937 random(seed);
    const auto numbers = [&](const std::vector<std::int64_t>& shape) {
      Tensor tensor(f32, shape);
      std::uniform_real_distribution<double> in_size(-size, size);
      for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        const double number = in_size(random);
        tensor.data<float>()[i] =
            static_cast<float>(step > 0 ? std::round(number / step) * step : number);
      }
      return tensor;
    };
    splits = {0};
    for (const std::int64_t length : lengths) splits.push_back(splits.back() + length);
    Ids right;
    for (std::int64_t i = 0; i < splits.back(); ++i) {
      right.push_back(static_cast<std::int64_t>(random() % static_cast<unsigned>(tags)));
    }
    feeds = {{"x", numbers({splits.back(), tags})}, {"x.splits", integers(splits)},
             {"labels", integers(right)},           {"start", numbers({tags})},
             {"transition", numbers({tags, tags})}, {"end", numbers({tags})}};
  }

  double at(const char* name, std::int64_t i) const { return feeds.at(name).data<float>()[i]; }
  double moved(std::int64_t i, std::int64_t j) const { return at("transition", i * tags + j); }
  double emitted(std::int64_t row, std::int64_t tag) const { return at("x", row * tags + tag); }
  std::size_t count() const { return splits.size() - 1; }

  double score(std::size_t sequence, const Ids& path) const {
    if (path.empty()) return 0;
    double total = at("start", path.front()) + at("end", path.back());
    for (std::size_t t = 0; t < path.size(); ++t) {
      total += emitted(splits[sequence] + static_cast<std::int64_t>(t), path[t]);
      if (t > 0) total += moved(path[t - 1], path[t]);
    }
    return total;
  }
  Ids right(std::size_t sequence) const {
    const auto* all = feeds.at("labels").data<std::int64_t>();
    return {all + splits[sequence], all + splits[sequence + 1]};
  }
  void for_each_path(std::size_t sequence, const std::function<void(const Ids&)>& visit) const {
    Ids path(static_cast<std::size_t>(splits[sequence + 1] - splits[sequence]), 0);
    for (;;) {
      visit(path);
      std::size_t t = 0;
      while (t < path.size() && ++path[t] == tags) path[t++] = 0;
      if (t == path.size()) return;
    }
  }
};

// Several forms of a number: the reference in double, and compiled.
double reference_of(const Chains& chains, const Value& value, std::size_t i) {
  ops::RefTensors none;
  return ops::evaluate(chains.program.ir(), as_reference(chains.feeds), none, {value.get()},
                       {.training = false})[0]
      .data[i];
}

TEST(Crf, TheLossIsThatOfAllPaths) {
  Chains chains(3);
  const Value loss = nn::crf_loss(chains.x, chains.labels, chains.scores);
  EXPECT_EQ(loss.str(), loss.name() + " : f32[batch]");
  for (const Ids& lengths : {Ids{4, 0, 1, 6}, Ids{0, 0}, Ids{1}, Ids{}}) {
    chains.draw(lengths, 3, 0, 5);
    for (std::size_t i = 0; i < chains.count(); ++i) {
      double all = 0;
      chains.for_each_path(i, [&](const Ids& path) { all += std::exp(chains.score(i, path)); });
      EXPECT_NEAR(reference_of(chains, loss, i), std::log(all) - chains.score(i, chains.right(i)),
                  1e-9);
    }
    expect_compiled(chains.program, chains.feeds, {loss});
  }
}

TEST(Crf, GradientsAgreeWithDifferences) {
  Chains chains(3);
  const Value loss = sum(nn::crf_loss(chains.x, chains.labels, chains.scores));
  chains.draw({3, 0, 1, 4}, 2, 0, 11);
  expect_gradients(chains.program, chains.feeds, loss,
                   {chains.x, chains.scores.start, chains.scores.transition, chains.scores.end});
}

// Of all paths the best; of equal ones that whose last tag is the smallest, then the last but one.
Ids best_path(const Chains& chains, std::size_t sequence) {
  Ids best;
  double largest = 0;
  bool found = false;
  chains.for_each_path(sequence, [&](const Ids& path) {
    const double score = chains.score(sequence, path);
    const bool first =
        std::lexicographical_compare(path.rbegin(), path.rend(), best.rbegin(), best.rend());
    if (found && (score < largest || (score == largest && !first))) return;
    found = true;
    largest = score;
    best = path;
  });
  return best;
}

TEST(Crf, ViterbiFindsTheBestOfAllPathsAndAmongEqualsTheFirst) {
  Chains chains(3);
  const nn::CrfPath found = nn::crf_decode(chains.x, chains.scores);
  int ties = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    chains.draw({5, 0, 1, 4}, 2, seed % 2 == 0 ? 1 : 0, seed);  // every other time with ties
    Session session(chains.program, {.threads = 1});
    const std::vector<Tensor> results = session.run(chains.feeds, {found.tags, found.score});
    for (std::size_t i = 0; i < chains.count(); ++i) {
      const Ids expected = best_path(chains, i);
      const auto* tags = results[0].data<std::int64_t>();
      EXPECT_EQ(Ids(tags + chains.splits[i], tags + chains.splits[i + 1]), expected) << seed;
      const double score = chains.score(i, expected);
      EXPECT_NEAR(results[1].data<float>()[i], score, 1e-5);
      chains.for_each_path(
          i, [&](const Ids& path) { ties += path != expected && chains.score(i, path) == score; });
    }
  }
  EXPECT_GT(ties, 5);
  for (const Ids& lengths : {Ids{4, 0, 2}, Ids{0}, Ids{}}) {
    chains.draw(lengths, 2, 1, 3);
    expect_compiled(chains.program, chains.feeds, {found.tags, found.score});
  }
}

// The loss by plain loops over rows.
double plain_loss(const Chains& chains, std::size_t sequence) {
  std::vector<double> before;
  const auto log_sum = [](const std::vector<double>& xs) {
    const double top = *std::max_element(xs.begin(), xs.end());
    double total = 0;
    for (const double x : xs) total += std::exp(x - top);
    return top + std::log(total);
  };
  for (std::int64_t row = chains.splits[sequence]; row < chains.splits[sequence + 1]; ++row) {
    std::vector<double> now;
    for (std::int64_t j = 0; j < chains.tags; ++j) {
      std::vector<double> ways;
      for (std::int64_t i = 0; i < chains.tags; ++i) {
        ways.push_back(before.empty() ? chains.at("start", j)
                                      : before[static_cast<std::size_t>(i)] + chains.moved(i, j));
        if (before.empty()) break;
      }
      now.push_back(log_sum(ways) + chains.emitted(row, j));
    }
    before = now;
  }
  for (std::int64_t j = 0; j < chains.tags; ++j) {
    before[static_cast<std::size_t>(j)] += chains.at("end", j);
  }
  return log_sum(before) - chains.score(sequence, chains.right(sequence));
}

std::vector<Tensor> with_gradient(const Chains& chains, const Value& loss) {
  const ir::Value* gradient = transforms::gradients(sum(loss).get(), {chains.x.get()})[0];
  Session session(chains.program, {.threads = 2});
  return session.run(chains.feeds, {loss, Value(const_cast<ir::Value*>(gradient))});
}

TEST(Crf, LongSequencesOfLargeScoresWithForbiddenPairs) {
  Chains chains(5);
  const Value loss = nn::crf_loss(chains.x, chains.labels, chains.scores);
  chains.draw({200, 7, 200}, 1000, 0, 2);
  float* transition = chains.feeds.at("transition").data<float>();
  for (const std::int64_t pair : {1, 7, 13, 24}) transition[pair] = -1e4F;
  const std::vector<Tensor> results = with_gradient(chains, loss);
  for (std::size_t i = 0; i < chains.count(); ++i) {
    const double expected = plain_loss(chains, i);
    EXPECT_GT(expected, 1000);
    EXPECT_NEAR(results[0].data<float>()[i] / expected, 1, 1e-5);
  }
  for (std::int64_t i = 0; i < results[1].elements(); ++i) {
    ASSERT_LE(std::abs(results[1].data<float>()[i]), 1.001);  // differences of probabilities
  }
}

// Scores of 200,000 in all, and a loss of about 1: it is not lost in their difference.
TEST(Crf, AGoodLossIsExactWhateverTheScores) {
  Chains chains(4);
  const Value loss = nn::crf_loss(chains.x, chains.labels, chains.scores);
  chains.draw({200}, 1, 0, 9);
  float* x = chains.feeds.at("x").data<float>();
  const Ids right = chains.right(0);
  for (std::size_t t = 0; t < right.size(); ++t) {
    for (int k = 0; k < 4; ++k) x[4 * t + static_cast<std::size_t>(k)] += 1000;
    x[4 * t + static_cast<std::size_t>(right[t])] += 6.5F;
  }
  const double expected = plain_loss(chains, 0);
  EXPECT_LT(expected, 5);
  EXPECT_NEAR(with_gradient(chains, loss)[0].data<float>()[0], expected, 2e-3 * expected);
}

// Training and decoding in one Program, and decoding in another by name.
TEST(Crf, ScoresAreSharedByHandAndByName) {
  const auto tags = [](const Program& program) {
    std::vector<std::string> names;
    for (const Value& parameter : program.parameters()) names.push_back(parameter.name());
    return names;
  };
  Chains chains(3);
  const nn::CrfScores scores = nn::crf_scores(chains.x, {.name = "tags"});
  nn::crf_loss(chains.x, chains.labels, scores);
  const Value here = nn::crf_decode(chains.x, scores).tags;
  EXPECT_EQ(tags(chains.program),
            (std::vector<std::string>{"%tags.start", "%tags.transition", "%tags.end"}));

  Chains other(3);
  const Value there = nn::crf_decode(other.x, nn::crf_scores(other.x, {.name = "tags"})).tags;
  EXPECT_EQ(tags(other.program), tags(chains.program));
  chains.draw({6, 2}, 2, 0, 4);
  Session training(chains.program), decoding(other.program);
  training.set_parameter("tags.transition", chains.feeds.at("transition"));
  training.set_parameter("tags.end", chains.feeds.at("end"));
  for (const char* name : {"tags.start", "tags.transition", "tags.end"}) {
    decoding.set_parameter(name, training.parameter(name));
  }
  const Tensor expected = training.run(chains.feeds, {here})[0];
  const Feeds feeds{{"x", chains.feeds.at("x")}, {"x.splits", chains.feeds.at("x.splits")}};
  EXPECT_EQ(decoding.run(feeds, {there})[0].to_vector<std::int64_t>(),
            expected.to_vector<std::int64_t>());
}

}  // namespace
}  // namespace trireme
