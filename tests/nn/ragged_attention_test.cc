// Attention and transformers over sequences of different lengths, and in steps.

#include <gmock/gmock.h>

#include "base/testing/error.h"
#include "blocks.h"
#include "plain_attention.h"
#include "trireme/attention.h"
#include "trireme/decoding.h"
#include "trireme/ops.h"
#include "trireme/ragged.h"
#include "trireme/sequence.h"

namespace trireme {
namespace {

using Lengths = std::vector<std::int64_t>;

constexpr std::int64_t kWidth = 6;

// Two values of sequences, "x" and "y", of the same number.
struct Pair {
  Program program;
  Value x = program.input("x", f32, ragged({batch}, {kWidth}));
  Value y = program.input("y", f32, ragged({batch}, {kWidth}));

  static Feeds feeds(const Lengths& of_x, const Lengths& of_y) {
    Feeds feeds;
    feeds["x.splits"] = splits_of(of_x);
    feeds["y.splits"] = splits_of(of_y);
    const auto rows = [](const Tensor& splits) {
      return splits.data<std::int64_t>()[splits.elements() - 1];
    };
    feeds["x"] = noise({rows(feeds["x.splits"]), kWidth}, 3, -2, 2);
    feeds["y"] = noise({rows(feeds["y.splits"]), kWidth}, 4, -2, 2);
    return feeds;
  }
};

struct Structure {
  Lengths x, y;
};
const std::vector<Structure> kStructures = {
    {{3, 0, 1, 5, 2}, {2, 4, 0, 1, 7}}, {{0, 0}, {3, 0}}, {{4, 1}, {0, 0}}, {{}, {}}, {{1}, {1}}};

// All parameters are noise, so that no bias is zero.
std::map<std::string, Tensor> set_noise(const Program& program, Session& session) {
  std::map<std::string, Tensor> parameters;
  unsigned seed = 7;
  for (const Value& parameter : program.parameters()) {
    const std::string name = parameter.get()->name;
    parameters[name] = noise(session.parameter(name).shape(), ++seed);
    session.set_parameter(name, parameters[name]);
  }
  return parameters;
}

// Compares `found`, rows by sequence of queries, with the oracle on the rows that `queries` gives.
template <class Queries>
void expect_plain(const Pair& pair, const Value& attended, bool of_itself, bool causal,
                  const Queries& queries) {
  for (const int threads : {1, 2}) {
    Session session(pair.program, {.threads = threads});
    const PlainAttention plain(set_noise(pair.program, session), "attend", 2);
    for (const Structure& structure : kStructures) {
      const Feeds feeds = Pair::feeds(structure.x, structure.y);
      const Tensor found = session.run(feeds, {attended})[0].cast(f64);
      std::int64_t row = 0, x = 0, y = 0;
      for (std::size_t i = 0; i < structure.x.size(); ++i) {
        const PlainRows own = queries(plain_rows(feeds.at("x"), x, x + structure.x[i]));
        const PlainRows memory = of_itself ? own : plain_rows(feeds.at("y"), y, y + structure.y[i]);
        for (const std::vector<double>& expected : plain(own, memory, causal)) {
          for (std::size_t c = 0; c < expected.size(); ++c) {
            ASSERT_NEAR(found.data<double>()[row * kWidth + static_cast<std::int64_t>(c)],
                        expected[c], 1e-4)
                << "row " << row;
          }
          ++row;
        }
        x += structure.x[i];
        y += structure.y[i];
      }
      ASSERT_EQ(row, found.dim(0));
    }
  }
}

const auto kAll = [](const PlainRows& rows) { return rows; };

TEST(RaggedAttention, OfSequencesOfThemselves) {
  for (const bool causal : {false, true}) {
    Pair pair;
    const Value seen = nn::multi_head_attention(pair.x, pair.x, pair.x,
                                                {.heads = 2, .causal = causal, .name = "attend"});
    EXPECT_EQ(seen.shape(), pair.x.shape());
    expect_plain(pair, seen, true, causal, kAll);
  }
}

TEST(RaggedAttention, OfOtherSequences) {
  for (const bool causal : {false, true}) {
    Pair pair;
    const Value seen = nn::multi_head_attention(
        pair.x, pair.y, pair.y, {.heads = 2, .width = 8, .causal = causal, .name = "attend"});
    expect_plain(pair, seen, false, causal, kAll);
  }
}

TEST(RaggedAttention, OfOneQueryForEachSequence) {
  Pair pair;
  const Value seen = nn::multi_head_attention(sequence::sum(pair.x), pair.y, pair.y,
                                              {.heads = 2, .name = "attend"});
  EXPECT_EQ(seen.dim(0), batch);
  expect_plain(pair, seen, false, false, [](const PlainRows& rows) {
    PlainRows sum(1, std::vector<double>(kWidth));
    for (const auto& row : rows) {
      for (std::size_t c = 0; c < row.size(); ++c) sum[0][c] += row[c];
    }
    return sum;
  });
}

TEST(RaggedAttention, Gradients) {
  Pair pair;
  const auto attend = [&](const Value& query, const Value& key, bool causal) {
    const auto scope = pair.program.shared_scope("all");
    return nn::multi_head_attention(query, key, key, {.heads = 3, .causal = causal});
  };
  const Value loss = sum(tanh(attend(pair.x, pair.x, false))) +
                     sum(tanh(attend(pair.x, pair.x, true))) +
                     sum(tanh(attend(pair.x, pair.y, false))) +
                     sum(tanh(attend(sequence::mean(pair.x), pair.y, false)));
  std::vector<Value> wanted = pair.program.parameters();
  wanted.push_back(pair.x);
  wanted.push_back(pair.y);
  expect_gradients(pair.program, Pair::feeds({2, 0, 3}, {1, 2, 0}), loss, wanted);
}

// What attention has besides heads. Dense tensors are compared with PyTorch by the conformance
// suite.
struct Variant {
  const char* name;
  nn::AttentionOptions options;
};
const std::vector<Variant>& variants() {
  static const std::vector<Variant> kVariants = {
      {"plain", {.heads = 3}},
      {"grouped", {.heads = 3, .key_heads = 1}},
      {"rotary", {.heads = 3, .rotary = nn::Rotary{}}},
      {"rotary halves", {.heads = 1, .rotary = nn::Rotary{.interleaved = false}}},
      {"buckets", {.heads = 2, .relative = nn::RelativePositions{.buckets = 4, .max_distance = 3}}},
      {"linear",
       {.heads = 3, .relative = nn::RelativePositions{.kind = nn::RelativeKind::linear}}}};
  return kVariants;
}

// As step by step: nothing of what follows is seen.
void expect_step_by_step(const nn::AttentionOptions& variant) {
  Pair pair;
  const auto attend = [&](const Value& x, nn::Step* step) {
    const auto scope = pair.program.shared_scope("both");
    nn::AttentionOptions options = variant;
    options.causal = step == nullptr;
    options.step = step;
    options.limit = step == nullptr ? 0 : 5;
    return nn::multi_head_attention(x, x, x, options);
  };
  const Value whole = attend(pair.x, nullptr);
  const auto [steps] =
      nn::rnn([&](nn::Step& step) { step.output(attend(step.input(pair.x), &step)); });
  const Value loss = sum(tanh(steps - whole)) + sum(tanh(steps));
  Session session(pair.program, {.threads = 1});
  set_noise(pair.program, session);
  const auto made = session.run(Pair::feeds({3, 0, 1, 5}, {0, 0, 0, 0}), {whole, steps});
  for (std::int64_t i = 0; i < made[0].elements(); ++i) {
    ASSERT_NEAR(made[0].data<float>()[i], made[1].data<float>()[i], 1e-5) << i;
  }
  EXPECT_THAT(error_of(ErrorKind::data, [&] { session.run(Pair::feeds({6, 1}, {0, 0}), {steps}); }),
              testing::HasSubstr("there are more steps than its limit of 5"));
  expect_gradients(pair.program, Pair::feeds({2, 0, 3}, {0, 0, 0}), loss, {pair.x});
}

TEST(RaggedAttention, InAStepIsThatOfTheWholeSequence) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name);
    expect_step_by_step(variant.options);
  }
}

// The scores of all sequences are those of each alone, padded or in blocks.
void expect_each_alone(const nn::AttentionOptions& variant) {
  Pair pair;
  Program single;
  const Value x = single.input("x", f32, {batch, Dim("steps"), kWidth});
  std::vector<Value> of_all, of_each;
  const auto attend = [](Program& program, const Value& of, const nn::AttentionOptions& options) {
    const auto scope = program.shared_scope("both");
    return nn::multi_head_attention(of, of, of, options);
  };
  for (const bool causal : {false, true}) {
    for (const bool blockwise : {false, true}) {
      if (blockwise && variant.relative) continue;
      nn::AttentionOptions options = variant;
      options.causal = causal;
      of_each.push_back(attend(single, x, options));
      options.blockwise = blockwise;
      of_all.push_back(attend(pair.program, pair.x, options));
    }
  }
  Session session(pair.program, {.threads = 2}), alone(single, {.threads = 1});
  for (const auto& [name, value] : set_noise(pair.program, session)) {
    alone.set_parameter(name, value);
  }
  const Lengths lengths{3, 0, 1, 7};
  const Feeds feeds = Pair::feeds(lengths, {0, 0, 0, 0});
  const std::vector<Tensor> found = session.run(feeds, of_all);
  std::int64_t row = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] == 0) continue;
    const Tensor rows = RaggedTensor::from_feeds(feeds, "x").sequence(static_cast<std::int64_t>(i));
    const auto expected = alone.run({{"x", rows.reshaped({1, rows.dim(0), kWidth})}}, of_each);
    for (std::size_t form = 0; form < expected.size(); ++form) {
      for (std::int64_t k = 0; k < expected[form].elements(); ++k) {
        ASSERT_NEAR(found[form].data<float>()[row * kWidth + k], expected[form].data<float>()[k],
                    1e-5)
            << "form " << form;
      }
    }
    row += lengths[i];
  }
  Value loss = sum(tanh(of_all[0]));
  for (std::size_t form = 1; form < of_all.size(); ++form) loss = loss + sum(tanh(of_all[form]));
  expect_gradients(pair.program, Pair::feeds({0, 2, 1}, {0, 0, 0}), loss, {pair.x});
}

TEST(RaggedAttention, VariantsOfSequencesAreThoseOfEachAlone) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name);
    expect_each_alone(variant.options);
  }
}

TEST(RaggedAttention, OneQueryHasNoRelativePosition) {
  Pair pair;
  const Value query = sequence::sum(pair.x);
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         nn::multi_head_attention(
                             query, pair.y, pair.y,
                             {.heads = 2, .relative = nn::RelativePositions{}});
                       }),
              testing::HasSubstr("no position relative to the keys"));
}

TEST(RaggedAttention, InBlocksOfOtherSequences) {
  Pair pair;
  const Value seen = nn::multi_head_attention(
      pair.x, pair.y, pair.y, {.heads = 2, .width = 8, .blockwise = true, .name = "attend"});
  expect_plain(pair, seen, false, false, kAll);
}

// --- Transformers -------------------------------------------------------------------------------

// What two stacks make of sequences, and what the same, padded nowhere, make of each alone.
TEST(RaggedAttention, ATransformerOfSequencesIsThatOfEachAlone) {
  const nn::TransformerOptions options{.layers = 2, .block = {.heads = 2, .dropout = 0}};
  const auto build = [&](const Value& x, const Value& y) {
    const Value seen = nn::transformer_encoder(nn::add_sinusoidal_positions(y), options);
    return nn::transformer_decoder(nn::add_learned_positions(x, {.max_steps = 4}), seen, options);
  };
  Pair pair;
  const Value all = build(pair.x, pair.y);
  Program single;
  const Value one = build(single.input("x", f32, {batch, Dim("steps"), kWidth}),
                          single.input("y", f32, {batch, Dim("others"), kWidth}));
  Session session(pair.program, {.threads = 1}), alone(single, {.threads = 1});
  for (const auto& [name, value] : set_noise(pair.program, session)) {
    alone.set_parameter(name, value);
  }
  const Lengths of_x{3, 1, 0, 6}, of_y{2, 5, 3, 1};
  const Feeds feeds = Pair::feeds(of_x, of_y);
  const Tensor found = session.run(feeds, {all})[0];
  const auto part = [&](const char* name, std::size_t i) {
    const Tensor rows =
        RaggedTensor::from_feeds(feeds, name).sequence(static_cast<std::int64_t>(i));
    return rows.reshaped({1, rows.dim(0), kWidth});
  };
  std::int64_t row = 0;
  for (std::size_t i = 0; i < of_x.size(); ++i) {
    if (of_x[i] == 0) continue;
    const Tensor expected = alone.run({{"x", part("x", i)}, {"y", part("y", i)}}, {one})[0];
    for (std::int64_t k = 0; k < expected.elements(); ++k) {
      ASSERT_NEAR(found.data<float>()[row * kWidth + k], expected.data<float>()[k], 1e-4) << i;
    }
    row += of_x[i];
  }
}

constexpr std::int64_t kWords = 5, kStart = 1, kEnd = 2, kLimit = 6;

// A small translator: one function for whole sentences and for the step that generates.
struct Transformer {
  Program program;
  Value source = program.input("source", i64, ragged({batch}));
  Value previous = program.input("previous", i64, ragged({batch}));
  Value seen = nn::transformer_encoder(embed(source, sequence::positions(source)),
                                       {.layers = 1, .block = {.heads = 2}});

  static Value embed(const Value& words, const Value& positions) {
    return nn::add_sinusoidal_positions(
        nn::embedding(words, {.num_embeddings = kWords, .dim = 8, .weight_init = nn::normal()}),
        positions);
  }
  Value decode(const Value& words, const Value& memory, nn::Step* step) {
    const auto scope = program.shared_scope("decoder");
    Value positions;
    if (step == nullptr) {
      positions = sequence::positions(words);
    } else {
      positions = step->state({.dtype = i64});
      step->update(positions, positions + 1.0);
    }
    const Value x = nn::transformer_decoder(
        embed(words, positions), memory,
        {.layers = 2, .block = {.heads = 2, .step = step, .limit = kLimit}});
    return nn::linear(x, {.units = kWords, .weight_init = nn::normal()});
  }
  Value logits() { return decode(previous, seen, nullptr); }
  nn::Decoder decoder() {
    return [this](nn::Step& step, const Value& word) {
      return decode(word, step.static_input(seen), &step);
    };
  }

  static Feeds feeds(const std::vector<Lengths>& previous) {
    Feeds feeds{{"source", Tensor::from<std::int64_t>({6}, {0, 3, 4, 4, 3, 1})},
                {"source.splits", splits_of({3, 0, 1, 2})}};
    RaggedTensor::from(previous).add_to(feeds, "previous");
    return feeds;
  }
};

TEST(RaggedAttention, StepByStepTheLogitsAreThoseOfTheWhole) {
  Transformer t;
  const Value whole = t.logits();
  const std::size_t parameters = t.program.parameters().size();
  const auto [steps] =
      nn::rnn([&](nn::Step& step) { step.output(t.decoder()(step, step.input(t.previous))); });
  EXPECT_EQ(t.program.parameters().size(), parameters);
  Session session(t.program, {.threads = 1});
  const auto made =
      session.run(Transformer::feeds({{1, 0, 3, 4, 4, 3}, {1, 4}, {}, {1, 3, 1}}), {whole, steps});
  ASSERT_EQ(made[0].dim(0), 11);
  for (std::int64_t i = 0; i < made[0].elements(); ++i) {
    ASSERT_NEAR(made[0].data<float>()[i], made[1].data<float>()[i], 1e-4) << i;
  }
}

// All hypotheses of beam search have the probability that the whole network gives to their words.
TEST(RaggedAttention, WhatBeamSearchFindsIsScoredAsByTheWhole) {
  Transformer t;
  const Value log_p = log_softmax(t.logits());
  const nn::Hypotheses made = nn::beam_search(t.decoder(), {.beam = 3,
                                                            .best = 3,
                                                            .start = kStart,
                                                            .end = kEnd,
                                                            .limit = kLimit,
                                                            .over = sequence::lengths(t.source)});
  Session session(t.program, {.threads = 2});
  const auto found =
      session.run(Transformer::feeds({{}, {}, {}, {}}),
                  {made.tokens, sequence::splits(made.tokens), made.scores, made.ended});
  const RaggedTensor hypotheses(found[0], found[1]);
  for (std::int64_t best = 0; best < 3; ++best) {
    std::vector<Lengths> previous, next;
    for (std::int64_t i = 0; i < 4; ++i) {
      Lengths words = hypotheses.sequence(i * 3 + best).to_vector<std::int64_t>();
      previous.push_back(words);
      if (found[3].data<bool>()[i * 3 + best]) words.push_back(kEnd);
      else previous.back().pop_back();
      previous.back().insert(previous.back().begin(), kStart);
      next.push_back(words);
    }
    const Tensor p = session.run(Transformer::feeds(previous), {log_p})[0];
    std::int64_t row = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      double score = 0;
      for (const std::int64_t word : next[i]) score += p.data<float>()[row++ * kWords + word];
      EXPECT_NEAR(found[2].data<float>()[static_cast<std::int64_t>(i) * 3 + best], score, 1e-4);
    }
    ASSERT_EQ(row, p.dim(0));
  }
}

}  // namespace
}  // namespace trireme
