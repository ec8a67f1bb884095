// Sampling, and one decoder for training and generation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/testing/error.h"
#include "base/testing/noise.h"
#include "ir/program.h"
#include "trireme/decoding.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/sequence.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kWords = 5, kSamples = 4000;

// Logits are rows of a table, by the word before; word 0 is where all begin and none ends.
struct Chain {
  Program program;
  Value table = program.input("table", f32, {kWords, kWords});
  Value over = program.input("over", f32, {batch});
  Tensor numbers = noise({kWords, kWords}, 17, -1.5, 1.5);
  nn::Decoder decoder = [this](nn::Step&, const Value& word) { return gather(table, word); };
  Feeds feeds{{"table", numbers}, {"over", Tensor(f32, {1})}};

  nn::SampleOptions options() const {
    return {.samples = kSamples, .start = 0, .end = 4, .limit = 2, .over = over};
  }
  std::vector<double> softmax_of(std::int64_t word, double temperature) const {
    std::vector<double> p;
    for (std::int64_t i = 0; i < kWords; ++i) {
      p.push_back(std::exp(numbers.data<float>()[word * kWords + i] / temperature));
    }
    const double all = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& x : p) x /= all;
    return p;
  }
};

// What top_k and top_p leave of probabilities.
std::vector<double> cut(std::vector<double> p, std::int64_t top_k, double top_p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return p[a] > p[b]; });
  const std::vector<double> whole = p;
  double kept = 0, of_k = 0;
  for (std::int64_t i = 0; i < top_k; ++i) of_k += whole[order[static_cast<std::size_t>(i)]];
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool out = static_cast<std::int64_t>(i) >= top_k || kept / of_k >= top_p;
    kept += whole[order[i]];
    if (out) p[order[i]] = 0;
  }
  const double all = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= all;
  return p;
}

// Pearson's chi-squared over pairs of a first and a second word (a single 4 is an end). Its mean is
// the number of possible cells minus 1.
void expect_distribution(double temperature, std::int64_t top_k, double top_p) {
  Chain chain;
  nn::SampleOptions options = chain.options();
  options.temperature = temperature;
  options.top_k = top_k;
  options.top_p = top_p;
  const nn::Hypotheses made = nn::sample(chain.decoder, options);
  Session session(chain.program, {.threads = 1, .seed = 5});
  const auto fetched = session.run(
      chain.feeds, {made.tokens, sequence::splits(made.tokens), made.scores, made.ended});
  const auto tokens = fetched[0].to_vector<std::int64_t>();
  const auto splits = fetched[1].to_vector<std::int64_t>();
  ASSERT_EQ(splits.size(), kSamples + 1u);
  std::vector<double> counts(kWords * kWords);
  for (std::size_t i = 0; i < kSamples; ++i) {
    Ids words{tokens.begin() + splits[i], tokens.begin() + splits[i + 1]};
    const bool ended = fetched[3].data<bool>()[i];
    if (ended) words.push_back(4);
    ASSERT_EQ(words.size(), words[0] == 4 ? 1u : 2u);
    words.resize(2);
    counts[static_cast<std::size_t>(words[0] * kWords + words[1])] += 1;
    double log_p = std::log(chain.softmax_of(0, 1)[static_cast<std::size_t>(words[0])]);
    if (words[0] != 4) {
      log_p += std::log(chain.softmax_of(words[0], 1)[static_cast<std::size_t>(words[1])]);
    }
    ASSERT_NEAR(fetched[2].data<float>()[i], log_p, 1e-4);
  }
  const std::int64_t most = top_k == 0 ? kWords : top_k;
  const auto first = cut(chain.softmax_of(0, temperature), most, top_p);
  double sum = 0;
  int cells = 0;
  for (std::int64_t a = 0; a < kWords; ++a) {
    const auto second = cut(chain.softmax_of(a, temperature), most, top_p);
    for (std::int64_t b = 0; b < kWords; ++b) {
      const double after = a == 4 ? (b == 0 ? 1 : 0) : second[static_cast<std::size_t>(b)];
      const double expected = kSamples * first[static_cast<std::size_t>(a)] * after;
      const double count = counts[static_cast<std::size_t>(a * kWords + b)];
      if (expected == 0) {
        ASSERT_EQ(count, 0) << a << " " << b;
        continue;
      }
      ++cells;
      sum += (count - expected) * (count - expected) / expected;
    }
  }
  const double freedom = std::max(cells - 1, 1);
  EXPECT_LT(sum, freedom + 3.5 * std::sqrt(2 * freedom));
}

TEST(Sample, DrawsFromTheSoftmax) { expect_distribution(1, 0, 1); }
TEST(Sample, DrawsByTemperature) { expect_distribution(0.6, 0, 1); }
TEST(Sample, DrawsOfTheLikeliest) { expect_distribution(1.3, 3, 1); }
TEST(Sample, DrawsOfTheNucleus) { expect_distribution(1, 0, 0.7); }
TEST(Sample, DrawsOfBoth) { expect_distribution(0.8, 4, 0.8); }

TEST(Sample, OfTheLikeliestAloneIsGreedy) {
  Chain chain;
  nn::SampleOptions options = chain.options();
  options.samples = 3;
  options.limit = 6;
  options.top_k = 1;
  const nn::Hypotheses drawn = nn::sample(chain.decoder, options);
  options.top_k = 0;
  options.top_p = 1e-9;
  const nn::Hypotheses nucleus = nn::sample(chain.decoder, options);
  const nn::Hypotheses greedy =
      nn::greedy_search(chain.decoder, {.start = 0, .end = 4, .limit = 6, .over = chain.over});
  Session session(chain.program, {.threads = 1});
  const auto fetched = session.run(chain.feeds, {drawn.tokens, nucleus.tokens, greedy.tokens});
  const Ids one = fetched[2].to_vector<std::int64_t>();
  Ids three = one;
  for (int i = 0; i < 2; ++i) three.insert(three.end(), one.begin(), one.end());
  EXPECT_EQ(fetched[0].to_vector<std::int64_t>(), three);
  EXPECT_EQ(fetched[1].to_vector<std::int64_t>(), three);
}

TEST(Sample, FollowsTheSeed) {
  Chain chain;
  nn::SampleOptions options = chain.options();
  options.samples = 50;
  const nn::Hypotheses made = nn::sample(chain.decoder, options);
  const nn::Hypotheses others = nn::sample(chain.decoder, options);
  const auto draw = [&](Session& session) {
    const auto fetched = session.run(chain.feeds, {made.tokens, others.tokens});
    return std::pair{fetched[0].to_vector<std::int64_t>(), fetched[1].to_vector<std::int64_t>()};
  };
  Session a(chain.program, {.threads = 1, .seed = 3}), b(chain.program, {.threads = 2, .seed = 3});
  const auto first = draw(a);
  EXPECT_EQ(first, draw(b));
  EXPECT_NE(first.first, first.second);
  EXPECT_NE(first, draw(a));
  a.set_step(0);
  EXPECT_EQ(first, draw(a));
}

// --- One decoder --------------------------------------------------------------------------------

constexpr std::int64_t kUnits = 8;

// A translator whose decoder is built by a function that training and generation call.
struct Translator {
  Program program{"translator"};
  Value source = program.input("source", i64, ragged({batch}));
  Value states = nn::embedding(source, {.num_embeddings = kWords, .dim = kUnits});
  Value summary = sequence::mean(states);

  Value decode(nn::Step& step, const Value& word) {
    const auto scope = program.shared_scope("decoder");
    const Value seen = step.static_input(states);
    const Value h = step.state({.init = summary});
    const Value query = sequence::expand(nn::linear(h, {.units = kUnits}), seen);
    const Value weights = sequence::softmax(sum(seen * query, {.axes = {1}}));
    step.attention(weights);
    const Value context =
        sequence::sum(seen * broadcast(weights, {.shape = seen.shape(), .axes = {0}}));
    const Value x = nn::embedding(word, {.num_embeddings = kWords, .dim = kUnits});
    const Value next =
        nn::linear(concat({x, context, h}, {.axis = 1}), {.units = kUnits, .activation = nn::tanh});
    step.update(h, next);
    return nn::linear(next, {.units = kWords});
  }
  nn::Hypotheses generate() {
    return nn::beam_search([&](nn::Step& step, const Value& word) { return decode(step, word); },
                           {.beam = 3, .start = 1, .end = 2, .limit = 6, .over = summary});
  }

  Feeds feeds() const {
    return {{"source", Tensor::from<std::int64_t>({6}, {0, 3, 4, 4, 3, 1})},
            {"source.splits", splits_of({3, 1, 2})}};
  }
};

Value training_logits(Translator& t) {
  const Value previous = t.program.input("previous", i64, ragged({batch}));
  return nn::rnn([&](nn::Step& step) { step.output(t.decode(step, step.input(previous))); })[0];
}

// What training makes of the words that were found is what the search made of them.
TEST(Generation, SharesItsParametersWithTraining) {
  Translator t;
  const Value logits = training_logits(t);
  const std::size_t parameters = t.program.parameters().size();
  const nn::Hypotheses made = t.generate();
  EXPECT_EQ(t.program.parameters().size(), parameters);
  Session session(t.program, {.threads = 1});
  const auto found =
      session.run(t.feeds(), {made.tokens, sequence::splits(made.tokens), made.scores, made.ended});
  const auto tokens = found[0].to_vector<std::int64_t>();
  const auto splits = found[1].to_vector<std::int64_t>();
  std::vector<Ids> previous, next;
  for (std::size_t i = 0; i < 3; ++i) {
    previous.emplace_back(tokens.begin() + splits[i], tokens.begin() + splits[i + 1]);
    next.push_back(previous[i]);
    previous[i].insert(previous[i].begin(), 1);
    if (found[3].data<bool>()[i]) next[i].push_back(2);
    else previous[i].pop_back();
  }
  Feeds feeds = t.feeds();
  RaggedTensor::from(previous).add_to(feeds, "previous");
  const Tensor log_p = session.run(feeds, {log_softmax(logits)})[0];
  std::int64_t row = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (const std::int64_t word : next[i]) sum += log_p.data<float>()[row++ * kWords + word];
    EXPECT_NEAR(found[2].data<float>()[i], sum, 1e-4);
  }
}

// In a Program of its own the parameters have the same names.
TEST(Generation, TakesParametersByName) {
  Translator trained, alone;
  training_logits(trained);
  const nn::Hypotheses here = trained.generate(), there = alone.generate();
  Session from(trained.program, {.threads = 1, .seed = 9}), to(alone.program, {.threads = 1});
  for (const Value& parameter : alone.program.parameters()) {
    const std::string name = parameter.get()->name;
    to.set_parameter(name, from.parameter(name));
  }
  const auto a = from.run(trained.feeds(), {here.tokens, here.scores});
  const auto b = to.run(alone.feeds(), {there.tokens, there.scores});
  EXPECT_TRUE(equal(a[0], b[0]));
  EXPECT_TRUE(equal(a[1], b[1]));
}

TEST(Generation, IsSavedAsItIs) {
  Translator t;
  const nn::Hypotheses made = t.generate();
  const std::vector<Value> outputs{made.tokens, sequence::splits(made.tokens), made.scores};
  Session session(t.program, {.threads = 1});
  const std::string folder =
      testing::TempDir() + "/trireme_generation_" + std::to_string(::getpid());
  save_model(t.program, session, folder, {.outputs = outputs});
  Model model = load_model(folder, {.threads = 1});
  const auto expected = session.run(t.feeds(), outputs), loaded = model.predict(t.feeds());
  for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_TRUE(equal(expected[i], loaded[i]));
  std::filesystem::remove_all(folder);
}

TEST(Generation, SharedScopes) {
  Program program;
  const Value x = program.input("x", f32, {batch, 3});
  const auto layers = [&](const Value& in, int count) {
    const auto scope = program.shared_scope("both");
    Value y = in;
    for (int i = 0; i < count; ++i) y = nn::linear(y, {.units = 3});
    return y;
  };
  const Value a = layers(x, 2), b = layers(x, 2);
  EXPECT_EQ(program.parameters().size(), 4u);
  const Value outside = nn::linear(x, {.units = 3});
  EXPECT_EQ(program.parameters().size(), 6u);
  Session session(program, {.threads = 1});
  const auto run = session.run({{"x", noise({2, 3}, 1)}}, {a, b, outside});
  EXPECT_TRUE(equal(run[0], run[1]));
  EXPECT_FALSE(equal(run[0], run[2]));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { layers(x, 3); }),
              testing::HasSubstr("there is no parameter both/linear_2.weight to share"));
  EXPECT_THAT(
      error_of(ErrorKind::usage,
               [&] { layers(slice(x, {.starts = {0, 0}, .limits = {batch, 2}}), 1); }),
      testing::HasSubstr("both/linear_0.weight is f32[3, 3], but is requested as f32[2, 3]"));
  nn::linear(x, {.units = 1});  // nothing is shared any more
  EXPECT_EQ(program.parameters().size(), 8u);
}

// Trained for a while, it finds what it was trained to say: the source, word by word.
TEST(Generation, SaysWhatItWasTrainedToSay) {
  Translator t;
  const Value logits = training_logits(t);
  const Value next = t.program.input("next", i64, {logits.dim(0)});
  const nn::Hypotheses made = t.generate();
  Trainer trainer(t.program, {.loss = mean(nn::cross_entropy(logits, next)),
                              .optimizer = Adam{.learning_rate = 0.05},
                              .session = {.threads = 1}});
  Feeds feeds = t.feeds();
  RaggedTensor::from(std::vector<Ids>{{1, 0, 3, 4}, {1, 4}, {1, 3, 1}}).add_to(feeds, "previous");
  feeds["next"] = Tensor::from<std::int64_t>({9}, {0, 3, 4, 2, 4, 2, 3, 1, 2});
  for (int i = 0; i < 60; ++i) {
    trainer.session().run(feeds, {}, {.training = true, .updates = true});
  }
  const auto found = trainer.session().run(t.feeds(), {made.tokens});
  EXPECT_EQ(found[0].to_vector<std::int64_t>(), (Ids{0, 3, 4, 4, 3, 1}));
}

}  // namespace
}  // namespace trireme
