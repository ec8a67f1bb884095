#include "trireme/decoding.h"

#include <cstdlib>
#include <iostream>
#include <random>

#include "blocks.h"
#include "plain_decoder.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/ragged.h"
#include "trireme/rnn.h"
#include "trireme/sequence.h"

namespace trireme {
namespace {

constexpr std::int64_t kWidth = 3;

Tensor integers(const Ids& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

// The network of PlainDecoder as a Program.
struct Network {
  explicit Network(std::int64_t word_count) : words(word_count) {
    const auto input = [&](const char* name, std::int64_t rows, std::int64_t columns) {
      return program.input(name, f32, {rows, columns});
    };
    table = input("table", words, kWidth);
    source = program.input("source", f32, ragged({batch}, {kWidth}));
    first = program.input("first", f32, {batch, kWidth});
    look = input("look", kWidth, kWidth);
    of_x = input("of_x", kWidth, 3 * kWidth);
    of_context = input("of_context", kWidth, 3 * kWidth);
    of_h = input("of_h", kWidth, 3 * kWidth);
    out = input("out", kWidth, words);
  }

  Feeds feeds(unsigned seed, const Ids& lengths) const {
    const auto n = static_cast<std::int64_t>(lengths.size());
    Feeds made{{"source.splits", splits_of(lengths)}};
    const std::int64_t rows = made["source.splits"].to_vector<std::int64_t>().back();
    const auto add = [&](const char* name, std::int64_t height, std::int64_t width, double max) {
      made[name] = noise({height, width}, ++seed, -max, max);
    };
    add("table", words, kWidth, 2);
    add("source", rows, kWidth, 1.5);
    add("first", n, kWidth, 1);
    add("look", kWidth, kWidth, 1);
    add("of_x", kWidth, 3 * kWidth, 1);
    add("of_context", kWidth, 3 * kWidth, 1);
    add("of_h", kWidth, 3 * kWidth, 1);
    add("out", kWidth, words, 2);
    return made;
  }

  nn::Decoder decoder() {
    return [this](nn::Step& step, const Value& word) {
      const Value seen = step.static_input(source);
      const Value h = step.state({.init = first});
      const Value query = sequence::expand(matmul(h, look), seen);
      const Value weights = sequence::softmax(sum(seen * query, {.axes = {1}}));
      step.attention(weights);
      const Value by_row = broadcast(weights, {.shape = seen.shape(), .axes = {0}});
      const Value context = sequence::sum(seen * by_row);
      const Value a = matmul(gather(table, word), of_x) + matmul(context, of_context);
      const Value b = matmul(h, of_h);
      const auto part = [&](const Value& x, std::int64_t i) {
        return slice(x, {.starts = {0, i * kWidth}, .limits = {x.dim(0), (i + 1) * kWidth}});
      };
      const Value reset = sigmoid(part(a, 0) + part(b, 0));
      const Value keep = sigmoid(part(a, 1) + part(b, 1));
      const Value candidate = tanh(part(a, 2) + reset * part(b, 2));
      const Value next = candidate + keep * (h - candidate);
      step.update(h, next);
      return matmul(next, out);
    };
  }

  std::int64_t words;
  Program program;
  Value table, source, first, look, of_x, of_context, of_h, out;
};

// Hypotheses as they come out of a run.
struct Found {
  RaggedTensor tokens;
  std::vector<double> scores;
  std::vector<std::uint8_t> ended;
  std::int64_t best = 0;

  Ids words(std::size_t i) const {
    const auto all = tokens.rows().to_vector<std::int64_t>();
    const auto splits = tokens.splits(1).to_vector<std::int64_t>();
    return {all.begin() + splits[i], all.begin() + splits[i + 1]};
  }
};

Found run(Session& session, const Feeds& feeds, const nn::Hypotheses& found) {
  const Value inner = sequence::splits(found.tokens);
  const Value outer(ir::find_splits(found.tokens.get()->program->main(), inner.dim(0) - 1));
  const auto fetched = session.run(feeds, {found.tokens, outer, inner, found.scores, found.ended});
  Found result{RaggedTensor(fetched[0], {fetched[1], fetched[2]}), {}, {}, fetched[3].dim(1)};
  if (fetched[3].elements() == 0) return result;
  result.scores = fetched[3].cast(DType::f64).to_vector<double>();
  result.ended = fetched[4].cast(DType::u8).to_vector<std::uint8_t>();
  return result;
}

Found run(const Program& program, const Feeds& feeds, const nn::Hypotheses& found) {
  Session session(program, {.threads = 1});
  return run(session, feeds, found);
}

void expect_same(const Found& found, std::size_t at, const PlainHypothesis& expected,
                 const Scoring& scoring) {
  Ids words = expected.tokens;
  if (expected.ended) words.pop_back();
  EXPECT_EQ(found.words(at), words) << "hypothesis " << at;
  EXPECT_NEAR(found.scores[at], expected.score(scoring), 1e-4) << "hypothesis " << at;
  EXPECT_EQ(found.ended[at] != 0, expected.ended) << "hypothesis " << at;
}

// A decoder, sources and options, drawn by number.
void compare_with_enumeration(unsigned number) {
  std::mt19937 random(number);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const std::int64_t words = draw(2, 5), limit = draw(1, words > 3 ? 3 : 5);
  const std::int64_t start = draw(0, words - 1), end = draw(0, words - 1);
  const Scoring scoring{0.5 * static_cast<double>(draw(0, 4)),
                        0.25 * static_cast<double>(draw(0, 4))};
  Ids lengths;
  for (std::int64_t i = draw(0, 4); i > 0; --i) lengths.push_back(draw(0, 4));
  std::int64_t all = 0, live = 1;  // hypotheses that ended at each length, and those that never did
  for (std::int64_t t = 0; t < limit; ++t, live *= words - 1) all += live;
  all += live;
  const std::int64_t best = std::min<std::int64_t>(all, draw(1, 12));

  Network network(words);
  const nn::Hypotheses made =
      nn::beam_search(network.decoder(), {.beam = all,
                                          .best = best,
                                          .start = start,
                                          .end = end,
                                          .limit = limit,
                                          .length_penalty = scoring.length_penalty,
                                          .coverage = scoring.coverage,
                                          .over = network.first});
  const Feeds feeds = network.feeds(100 * number, lengths);
  const Found found = run(network.program, feeds, made);
  ASSERT_EQ(found.tokens.size(), static_cast<std::int64_t>(lengths.size()));
  ASSERT_EQ(found.best, best);
  const PlainDecoder plain(feeds);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto expected = enumerate(plain, i, start, end, limit, scoring);
    ASSERT_EQ(expected.size(), static_cast<std::size_t>(all));
    for (std::size_t k = 0; k < static_cast<std::size_t>(best); ++k) {
      expect_same(found, i * static_cast<std::size_t>(best) + k, expected[k], scoring);
    }
  }
}

// With a beam as wide as there are hypotheses. TRIREME_DECODERS says how many decoders are drawn.
TEST(BeamSearch, EqualsEnumeration) {
  const char* many = std::getenv("TRIREME_DECODERS");
  const int count = many == nullptr ? 5 : std::atoi(many);
  for (int i = 1; i <= count; ++i) {
    SCOPED_TRACE("decoder " + std::to_string(i));
    ASSERT_NO_THROW(compare_with_enumeration(static_cast<unsigned>(i)));
    ASSERT_FALSE(HasFailure());
  }
  std::cout << count << " decoders agree with enumeration\n";
}

TEST(BeamSearch, KeepsTheBestOfEachStep) {
  const Ids lengths{2, 4, 0};
  const std::vector<Scoring> scorings{{0, 0}, {0.6, 0.2}, {2, 1}};
  for (unsigned seed = 0; seed < scorings.size(); ++seed) {
    const Scoring& scoring = scorings[seed];
    Network network(7);
    const nn::Hypotheses made =
        nn::beam_search(network.decoder(), {.beam = 3,
                                            .best = 2,
                                            .start = 0,
                                            .end = 0,
                                            .limit = 9,
                                            .length_penalty = scoring.length_penalty,
                                            .coverage = scoring.coverage,
                                            .over = network.first});
    EXPECT_EQ(Program::parse(network.program.str()).str(), network.program.str());
    const Feeds feeds = network.feeds(7 + 10 * seed, lengths);
    const Found found = run(network.program, feeds, made);
    const PlainDecoder plain(feeds);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const auto expected = plain_beam(plain, i, 0, 0, 9, 3, scoring);
      for (std::size_t k = 0; k < 2; ++k) expect_same(found, i * 2 + k, expected[k], scoring);
    }
    EXPECT_EQ(run(network.program, network.feeds(5, {}), made).tokens.size(), 0);
    if (seed == 2) expect_compiled(network.program, feeds, {made.tokens, made.scores});
  }
}

TEST(BeamSearch, FewerHypothesesThanAskedFor) {
  Network network(2);  // "end" and one more: three hypotheses of at most two words
  const nn::Hypotheses made = nn::beam_search(
      network.decoder(),
      {.beam = 4, .best = 4, .start = 1, .end = 0, .limit = 2, .over = network.first});
  const Found found = run(network.program, network.feeds(3, {2}), made);
  EXPECT_TRUE(std::isfinite(found.scores[2]));
  EXPECT_EQ(found.scores[3], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(found.words(3), Ids());
  EXPECT_EQ(found.ended[3], 0);
}

TEST(BeamSearch, OfOneIsGreedy) {
  Network network(6);
  const nn::Hypotheses beam = nn::beam_search(
      network.decoder(), {.beam = 1, .start = 1, .end = 2, .limit = 8, .over = network.first});
  const nn::Hypotheses greedy = nn::greedy_search(
      network.decoder(), {.start = 1, .end = 2, .limit = 8, .over = network.first});
  Session session(network.program, {.threads = 1});
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Feeds feeds = network.feeds(20 * seed, {1, 3, 0, 2, 2});
    const Found a = run(session, feeds, beam), b = run(session, feeds, greedy);
    ASSERT_TRUE(equal(a.tokens, b.tokens));
    EXPECT_EQ(a.ended, b.ended);
    const PlainDecoder plain(feeds);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_NEAR(a.scores[i], b.scores[i], 1e-5);
      expect_same(b, i, plain_beam(plain, i, 1, 2, 8, 1, {})[0], {});
    }
  }
}

TEST(BeamSearch, GivesScoresAGradient) {
  Network network(4);
  const nn::Hypotheses made = nn::beam_search(network.decoder(), {.beam = 2,
                                                                  .best = 2,
                                                                  .start = 1,
                                                                  .end = 2,
                                                                  .limit = 4,
                                                                  .length_penalty = 0.6,
                                                                  .coverage = 0.3,
                                                                  .over = network.first});
  const Value loss = sum(made.scores * made.scores);
  expect_gradients(network.program, network.feeds(11, {2, 1}), loss,
                   {network.source, network.first, network.out});
}

// Word 2 ends a hypothesis. At first it is more likely than word 1, which is nearly always followed
// by another 1. With a length penalty the long hypothesis overtakes after two steps. Without one it
// never can, and the search ends.
TEST(BeamSearch, GoesOnWhileAnotherCanOvertake) {
  for (const double length_penalty : {2.0, 0.0}) {
    Program program;
    const Value table = program.input("table", f32, {3, 3});
    const Value over = program.input("over", f32, {batch});
    const nn::Hypotheses made =
        nn::beam_search([&](nn::Step&, const Value& word) { return gather(table, word); },
                        {.beam = 2,
                         .start = 0,
                         .end = 2,
                         .limit = 6,
                         .length_penalty = length_penalty,
                         .over = over});
    const auto logarithm = [](double p) { return static_cast<float>(std::log(p)); };
    const float never = logarithm(1e-9);
    const Feeds feeds{
        {"over", Tensor(f32, {1})},
        {"table", Tensor::from<float>({3, 3}, {never, logarithm(0.45), logarithm(0.55), never,
                                               logarithm(0.97), logarithm(0.03), 0, 0, 0})}};
    const Found found = run(program, feeds, made);
    if (length_penalty == 0) {
      EXPECT_EQ(found.words(0), Ids());
      EXPECT_NEAR(found.scores[0], std::log(0.55), 1e-5);
    } else {
      EXPECT_EQ(found.words(0), Ids(6, 1));
      EXPECT_NEAR(found.scores[0], (std::log(0.45) + 5 * std::log(0.97)) / std::pow(11.0 / 6, 2),
                  1e-5);
    }
    // How many steps the loop took is the last result of its op.
    const ir::Op* loop = nullptr;
    for (const auto& op : program.ir().main().ops) {
      if (op->name() == "while_loop") loop = op.get();
    }
    Session session(program, {.threads = 1});
    const Tensor steps = session.run(feeds, {Value(loop->results.back().get())})[0];
    EXPECT_EQ(steps.data<std::int64_t>()[0], length_penalty == 0 ? 1 : 6);
  }
}

// Static inputs of two levels, and by example.
TEST(BeamSearch, LaysOutWhatEachExampleHas) {
  Program program;
  const Value documents =
      program.input("documents", f32, ragged({batch, Dim(std::string_view("sentences"))}, {5}));
  const Value bias = program.input("bias", f32, {batch, 5});
  const Value table = program.input("table", f32, {5, 5});
  const nn::Hypotheses made = nn::beam_search(
      [&](nn::Step& step, const Value& word) {
        const Value inner = step.static_input(documents);
        return sequence::sum(sequence::max(inner)) + step.static_input(bias) + gather(table, word);
      },
      {.beam = 3, .best = 3, .start = 1, .end = 0, .limit = 4, .over = bias});
  expect_compiled(program,
                  {{"documents", noise({7, 5}, 2, -1, 1)},
                   {"documents.splits_0", integers({0, 2, 2, 4})},
                   {"documents.splits_1", integers({0, 3, 4, 4, 7})},
                   {"table", noise({5, 5}, 4, -2, 2)},
                   {"bias", noise({3, 5}, 3, -1, 1)}},
                  {made.tokens, made.scores});
}

// A step that runs a network of its own along the source, from the word before.
TEST(BeamSearch, RunsNetworksWithinTheStep) {
  Network network(5);
  const nn::Hypotheses made = nn::beam_search(
      [&](nn::Step& step, const Value& word) {
        const Value seen = step.static_input(network.source);
        const Value h = step.state({.width = kWidth, .value = 0.1});
        const Value first = tanh(gather(network.table, word) + h);
        const nn::RnnResult read = nn::run_rnn([&](nn::Step& inner) {
          const Value x = inner.input(seen);
          const Value state = inner.state({.init = first});
          const Value next = tanh(x + matmul(state, network.look));
          inner.update(state, next);
        });
        step.update(h, read.states[0]);
        return matmul(read.states[0], network.out);
      },
      {.beam = 3, .best = 2, .start = 1, .end = 2, .limit = 5, .over = network.first});
  expect_compiled(network.program, network.feeds(9, {2, 0, 3}), {made.tokens, made.scores});
}

}  // namespace
}  // namespace trireme
