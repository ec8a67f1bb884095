// Generation asked for what cannot be: one error that says what, where and what to try.

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>

#include "../command.h"
#include "trireme/decoding.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/ragged.h"
#include "trireme/sequence.h"
#include "trireme/session.h"

namespace trireme::testing {
namespace {

class DecodingMisuse : public ::testing::Test {
 protected:
  Program program{"net"};
  Value source = program.input("source", f32, ragged({batch}, {4}));
  Value over = sequence::mean(source);
  Value table = program.input("table", f32, {4, 4});

  using Change = std::function<void(nn::BeamOptions&)>;

  nn::BeamOptions options() const { return {.start = 1, .end = 2, .limit = 5, .over = over}; }
  void refused(const std::string& what, const Change& change) {
    nn::BeamOptions wrong = options();
    change(wrong);
    fails(ErrorKind::usage, what, [&] {
      nn::beam_search([&](nn::Step&, const Value& word) { return gather(table, word); }, wrong);
    });
  }
  void refused_step(const std::string& what, const nn::Decoder& decoder) {
    fails(ErrorKind::usage, what, [&] { nn::beam_search(decoder, options()); });
    fails(ErrorKind::usage, "decoding_misuse_test.cc",
          [&] { nn::beam_search(decoder, options()); });
  }
};

TEST_F(DecodingMisuse, AbsurdBeams) {
  for (const std::int64_t beam : {std::int64_t{0}, std::int64_t{-3}, std::int64_t{1000000000},
                                  std::numeric_limits<std::int64_t>::min()}) {
    refused("beam_search: .beam is " + std::to_string(beam),
            [&](nn::BeamOptions& o) { o.beam = beam; });
  }
  refused("3 steps with 4 words yield at most 64 hypotheses", [](nn::BeamOptions& o) {
    o.beam = 65;
    o.limit = 3;
  });
  refused(".best is 0 for a beam of 4", [](nn::BeamOptions& o) { o.best = 0; });
  refused(".best is 5 for a beam of 4", [](nn::BeamOptions& o) { o.best = 5; });
}

TEST_F(DecodingMisuse, NumbersOutOfRange) {
  refused(".limit is 0", [](nn::BeamOptions& o) { o.limit = 0; });
  refused(".limit is -7", [](nn::BeamOptions& o) { o.limit = -7; });
  refused(".limit is 2000000", [](nn::BeamOptions& o) { o.limit = 2000000; });
  refused(".start is 4, but the logits have 4 words", [](nn::BeamOptions& o) { o.start = 4; });
  refused(".end is -1", [](nn::BeamOptions& o) { o.end = -1; });
  refused(".length_penalty is -0.5", [](nn::BeamOptions& o) { o.length_penalty = -0.5; });
  refused(".coverage is nan", [](nn::BeamOptions& o) { o.coverage = std::nan(""); });
  refused("set .over to a value with a row for each example",
          [](nn::BeamOptions& o) { o.over = {}; });
  refused(".over has no rows", [&](nn::BeamOptions& o) { o.over = sum(table); });
  refused("call Step::attention() in the decoder", [](nn::BeamOptions& o) { o.coverage = 0.2; });
}

TEST_F(DecodingMisuse, StepsThatAreNone) {
  refused_step("the decoder returns an empty Value",
               [](nn::Step&, const Value&) { return Value(); });
  refused_step("does not return logits for each hypothesis",
               [&](nn::Step&, const Value&) { return table; });
  refused_step("does not return logits for each hypothesis",
               [&](nn::Step&, const Value& word) { return cast(word, {.dtype = f32}); });
  refused_step("does not return logits for each hypothesis", [&](nn::Step&, const Value& word) {
    return cast(gather(table, word), {.dtype = i64});
  });
  refused_step("beam_search does not run along a sequence", [&](nn::Step& step, const Value& word) {
    step.input(source);
    return gather(table, word);
  });
  refused_step("beam_search has no outputs per step", [&](nn::Step& step, const Value& word) {
    step.output(gather(table, word));
    return gather(table, word);
  });
  refused_step("a state is never updated", [&](nn::Step& step, const Value& word) {
    step.state({.init = over});
    return gather(table, word);
  });
  refused_step("the state changes its shape", [&](nn::Step& step, const Value& word) {
    step.update(step.state({.width = 3}), gather(table, word));
    return gather(table, word);
  });
  refused_step("does not have a row for each of the batch sequences",
               [&](nn::Step& step, const Value& word) {
                 step.state({.init = table});
                 return gather(table, word);
               });
  refused_step("the value does not have a row, or a sequence, for each of the batch examples",
               [&](nn::Step& step, const Value& word) {
                 step.static_input(table);
                 return gather(table, word);
               });
  refused_step("the rows of the weights are not those of a ragged static input",
               [&](nn::Step& step, const Value& word) {
                 step.attention(cast(word, {.dtype = f32}));
                 return gather(table, word);
               });
}

TEST_F(DecodingMisuse, Attention) {
  refused_step("the weights do not have one element for each row",
               [&](nn::Step& step, const Value& word) {
                 step.attention(gather(table, word));
                 return gather(table, word);
               });
  refused_step("attention() is called twice in a step", [&](nn::Step& step, const Value& word) {
    const Value weights = sequence::softmax(sum(step.static_input(source), {.axes = {1}}));
    step.attention(weights);
    step.attention(weights);
    return gather(table, word);
  });
}

// An error in the decoder has the line of the decoder.
TEST_F(DecodingMisuse, MistakesInTheDecoder) {
  int line = 0;
  const nn::Decoder decoder = [&](nn::Step&, const Value& word) {
    line = __LINE__ + 1;
    return matmul(gather(table, word), over);
  };
  const std::string said = error_of(ErrorKind::usage, [&] { nn::beam_search(decoder, options()); });
  EXPECT_THAT(said, ::testing::HasSubstr("decoding_misuse_test.cc:" + std::to_string(line)));
}

TEST_F(DecodingMisuse, Samples) {
  const nn::Decoder decoder = [&](nn::Step&, const Value& word) { return gather(table, word); };
  const nn::SampleOptions good{.start = 1, .end = 2, .limit = 5, .over = over};
  const auto wrong = [&](const std::string& what, auto change) {
    nn::SampleOptions options = good;
    change(options);
    fails(ErrorKind::usage, what, [&] { nn::sample(decoder, options); });
  };
  wrong("sample: .samples is 0", [](auto& o) { o.samples = 0; });
  wrong(".temperature is 0", [](auto& o) { o.temperature = 0; });
  wrong(".temperature is nan", [](auto& o) { o.temperature = std::nan(""); });
  wrong(".top_k is -1", [](auto& o) { o.top_k = -1; });
  wrong(".top_p is 0", [](auto& o) { o.top_p = 0; });
  wrong(".top_p is 1.5", [](auto& o) { o.top_p = 1.5; });
  wrong(".limit is 0", [](auto& o) { o.limit = 0; });
  fails(ErrorKind::usage, "greedy_search: .end is 9",
        [&] { nn::greedy_search(decoder, {.start = 1, .end = 9, .limit = 5, .over = over}); });
  // A Program that a mistake was made in can still be built on and run.
  const nn::Hypotheses made =
      nn::greedy_search(decoder, {.start = 1, .end = 2, .limit = 5, .over = over});
  Session session(program);
  session.run({{"source", Tensor(f32, {3, 4})},
               {"source.splits", splits_of({2, 1})},
               {"table", Tensor(f32, {4, 4})}},
              {made.tokens});
}

}  // namespace
}  // namespace trireme::testing
