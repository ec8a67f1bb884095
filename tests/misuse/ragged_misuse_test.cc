// Sequences and control flow used wrongly: one error that says what, where and what to try.

#include <gmock/gmock.h>

#include "../command.h"
#include "trireme/control.h"
#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/rnn.h"
#include "trireme/sequence.h"
#include "trireme/session.h"

namespace trireme::testing {
namespace {

Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

class RaggedMisuse : public ::testing::Test {
 protected:
  Program program{"net"};
  Value words = program.input("words", f32, ragged({batch}, {3}));
  Value tags = program.input("tags", f32, ragged({batch}, {3}));
};

TEST_F(RaggedMisuse, StructuresThatDiffer) {
  fails(ErrorKind::usage, "ragged_misuse_test.cc", [&] { words + tags; });
  fails(ErrorKind::usage, "[tags, 3] has tags where another operand has words",
        [&] { words + tags; });
  const Value dense = program.input("dense", f32, {7, 3});
  fails(ErrorKind::usage, "its rows are not rows of sequences", [&] { sequence::sum(dense); });
  fails(ErrorKind::usage, "does not have one row for each of the batch sequences",
        [&] { sequence::expand(words, tags); });
  fails(ErrorKind::usage, "its rows are not rows of the sequences that the step runs along", [&] {
    nn::rnn([&](nn::Step& step) {
      step.input(words);
      step.output(step.input(dense));
    });
  });
}

TEST_F(RaggedMisuse, SplitsThatCannotBe) {
  const Value mean = sequence::mean(words);
  Session session(program);
  const auto run = [&](const std::vector<std::int64_t>& splits) {
    session.run({{"words", Tensor(f32, {4, 3})}, {"words.splits", integers(splits)}}, {mean});
  };
  fails(ErrorKind::usage, "words.splits", [&] { run({1, 2, 4}); });
  fails(ErrorKind::usage, "words.splits", [&] { run({0, 3, 2, 4}); });
  fails(ErrorKind::usage, "words.splits", [&] { run({0, -1, 4}); });
  fails(ErrorKind::usage, "words.splits", [&] { run({0, 2, 5}); });
  run({0, 0, 4});
}

TEST_F(RaggedMisuse, LengthsThatTheRunFindsNegative) {
  const Value lengths = program.input("lengths", i64, {batch});
  const Value made = row_splits(lengths, {.rows = {Dim(std::string_view("made"))}});
  Session session(program);
  fails(ErrorKind::data, "sequence 1 cannot have length -2",
        [&] { session.run({{"lengths", integers({3, -2})}}, {made}); });
}

TEST_F(RaggedMisuse, ALoopThatNeverEnds) {
  const Value x = program.input("x", f32, {});
  const Values end = while_values(
      {x}, [](const Values& v) { return v[0] < 1.0; },
      [](const Values& v) { return Values{v[0] * 0.5}; }, {.limit = 20});
  Session session(program);
  fails(ErrorKind::data, "its condition still holds after 20 steps",
        [&] { session.run({{"x", Tensor::scalar(0.5f)}}, end); });
  session.run({{"x", Tensor::scalar(2.0f)}}, end);
}

TEST_F(RaggedMisuse, StepsThatCannotBe) {
  const auto step = [&](const std::function<void(nn::Step&, Value, Value)>& body) {
    return [this, body] {
      nn::run_rnn([&](nn::Step& s) {
        const Value x = s.input(words);
        body(s, x, s.state({.width = 3}));
      });
    };
  };
  fails(ErrorKind::usage, "the state changes its shape",
        step([](nn::Step& s, const Value& x, const Value& h) {
          s.update(h, concat({x, h}, {.axis = 1}));
        }));
  fails(ErrorKind::usage, "a state is never updated",
        step([](nn::Step&, const Value&, const Value&) {}));
  fails(ErrorKind::usage, "the state is updated twice",
        step([](nn::Step& s, const Value& x, const Value& h) { s.update(h, x), s.update(h, x); }));
  fails(ErrorKind::usage, "the value does not have a row for each sequence",
        step([](nn::Step& s, const Value& x, const Value& h) {
          s.update(h, x);
          s.output(sum(x));
        }));
  fails(ErrorKind::usage, "the sequences that the step runs along are not known yet",
        [] { nn::run_rnn([](nn::Step& s) { s.state({.width = 3}); }); });
  fails(ErrorKind::usage, "the step has 1 outputs, but 2 are requested",
        [&] { nn::rnn<2>([&](nn::Step& s) { s.output(s.input(words)); }); });
  // What failed leaves the Program as it was to build on.
  const auto [good] = nn::rnn([&](nn::Step& s) { s.output(s.input(words) * 2.0); });
  EXPECT_EQ(good.dim(0), words.dim(0));
}

// Rows of a step belong to different sequences: nothing may be made of several of them.
TEST_F(RaggedMisuse, StepsThatMixRows) {
  const Value square = program.input("square", f32, {3, 3});
  const auto step = [&](const std::function<Value(const Value& x, const Value& h)>& body) {
    return [this, body] {
      nn::rnn([&](nn::Step& s) {
        const Value x = s.input(words), h = s.state({.width = 3});
        const Value y = body(x, h);
        s.update(h, x + h);
        s.output(x * y);
      });
    };
  };
  const auto refused = [&](const std::string& op, const auto& body) {
    const std::string text = error_of(ErrorKind::usage, step(body));
    EXPECT_THAT(text,
                ::testing::StartsWith(op + ": it mixes rows of different sequences in a step"));
    EXPECT_THAT(text, ::testing::HasSubstr("ragged_misuse_test.cc:"));
    EXPECT_THAT(text, ::testing::HasSubstr("hint   work along other axes"));
    EXPECT_THAT(text, ::testing::HasSubstr("active"));
  };
  refused("sum", [](const Value& x, const Value&) { return sum(x, {.axes = {0}}); });
  refused("mean", [](const Value& x, const Value&) { return mean(x); });
  refused("reduce_max",
          [](const Value& x, const Value&) { return reduce_max(x, {.axes = {-2}, .keep = true}); });
  refused("matmul", [](const Value& x, const Value& h) {
    return sum(matmul(x, h, {.transpose_a = true}), {.axes = {0}});
  });
  refused("matmul", [](const Value& x, const Value& h) {
    return matmul(matmul(x, h, {.transpose_b = true}), h);
  });
  refused("cumsum", [](const Value& x, const Value&) { return cumsum(x, {.axis = 0}); });
  refused("flip", [](const Value& x, const Value&) { return flip(x, {.axes = {0}}); });
  refused("gather", [&](const Value& x, const Value&) {
    return sum(gather(x, cast(square, {.dtype = i64})), {.axes = {0, 1}});
  });
  refused("sum", [](const Value& x, const Value& h) {  // two halves of each row, then all of these
    return sum(reshape(concat({x, h}, {.axis = 1}), {.shape = {x.dim(0) * 2, 3}}), {.axes = {0}});
  });

  const auto allowed = [&](const auto& body) { EXPECT_NO_THROW(step(body)()); };
  allowed([&](const Value& x, const Value& h) { return nn::tanh(matmul(x + h, square)); });
  allowed([](const Value& x, const Value&) { return sum(x, {.axes = {1}, .keep = true}); });
  allowed([](const Value& x, const Value& h) {
    return slice(concat({x, softmax(h)}, {.axis = 1}), {.starts = {0, 1}, .limits = {x.dim(0), 4}});
  });
  allowed([](const Value& x, const Value& h) {
    const Value pairs = reshape(x, {.shape = {x.dim(0), 3, 1}});
    const Value all = matmul(pairs, reshape(h, {.shape = {x.dim(0), 1, 3}}));
    return sum(all, {.axes = {2}});
  });
  // A further level, and another sequence for each: sums by sequence.
  nn::rnn([&](nn::Step& s) {
    const Value x = s.input(words), seen = s.static_input(tags);
    const Value score = sum(seen * sequence::expand(x, seen), {.axes = {1}});
    s.output(sequence::sum(
        seen * broadcast(sequence::softmax(score), {.shape = seen.shape(), .axes = {0}})));
  });
  nn::rnn([&](nn::Step& s) {  // functions that sort and count rows themselves
    const Value x = s.input(words), seen = s.static_input(tags);
    s.output(x + sum(sequence::top_k(seen, {.k = 2}), {.axes = {1}}));
  });
}

TEST_F(RaggedMisuse, PlacesAndLengthsThatDoNotFit) {
  const Value places = program.input("places", i64, {tags.dim(0)});
  const Value written = sequence::scatter(words, places, tags);
  const Value lengths = program.input("lengths", i64, {Dim(std::string_view("groups"))});
  const Value grouped = sequence::group(words, lengths);
  const Value reshaped = sequence::reshape(words, 2);
  fails(ErrorKind::usage, "the places do not match the updates",
        [&] { sequence::scatter(words, places, sum(tags, {.axes = {1}})); });
  fails(ErrorKind::usage, "k must be at least 1", [&] { sequence::top_k(words, {.k = 0}); });
  fails(ErrorKind::usage, "the lengths are", [&] { sequence::group(words, words); });
  Session session(program);
  Feeds feeds{{"words", Tensor(f32, {3, 3})}, {"words.splits", integers({0, 2, 3})},
              {"tags", Tensor(f32, {2, 3})},  {"tags.splits", integers({0, 1, 2})},
              {"places", integers({1, 1})},   {"lengths", integers({1, 1})}};
  fails(ErrorKind::data, "sequence::scatter: a place is outside its sequence, at [1]",
        [&] { session.run(feeds, {written}); });
  fails(ErrorKind::data, "ragged_misuse_test.cc", [&] { session.run(feeds, {written}); });
  fails(ErrorKind::data, "the lengths do not add up to the rows",
        [&] { session.run(feeds, {grouped}); });
  fails(ErrorKind::data, "the elements of a sequence cannot be divided into rows of 2, at [1]",
        [&] { session.run(feeds, {reshaped}); });
  feeds["places"] = integers({1, 0});
  feeds["lengths"] = integers({0, 3});
  session.run(feeds, {written, grouped});
}

TEST_F(RaggedMisuse, TokensOutOfTheVocabulary) {
  const Value ids = program.input("ids", i64, ragged({batch}));
  const Value x = nn::embedding(ids, {.num_embeddings = 10, .dim = 2});
  Session session(program);
  const auto run = [&](std::int64_t id) {
    session.run({{"ids", integers({1, 2, id})}, {"ids.splits", integers({0, 1, 3})}},
                {sequence::sum(x)});
  };
  fails(ErrorKind::data, "index 10 at [2] is outside [0, 10)", [&] { run(10); });
  fails(ErrorKind::data, "index -1 at [2] is outside [0, 10)", [&] { run(-1); });
}

// What only a block makes has a size that nothing outside knows.
TEST_F(RaggedMisuse, BlocksThatMakeSequences) {
  const Value flag = program.input("flag", boolean, {});
  const Value keep = sum(words, {.axes = {1}}) > 0.0;
  const auto some = [&] { return sequence::filter(words, keep); };
  fails(ErrorKind::usage, "the blocks return different types: f32[words_1, 3] and f32[words_2, 3]",
        [&] { cond(flag, some, some); });
  EXPECT_NO_THROW(
      cond(flag, [&] { return sequence::sum(some()); }, [&] { return sequence::sum(words); }));
}

TEST_F(RaggedMisuse, BlocksThatDiffer) {
  const Value flag = program.input("flag", boolean, {});
  const Value x = program.input("x", f32, {3});
  fails(ErrorKind::usage, "the blocks return different types",
        [&] { cond(flag, [&] { return x; }, [&] { return sum(x); }); });
  fails(ErrorKind::usage, "the condition must be one boolean",
        [&] { cond(x > 0.0, [&] { return x; }, [&] { return x; }); });
  fails(ErrorKind::usage, "a carried value changes its type", [&] {
    while_values(
        {x}, [&](const Values&) { return flag; },
        [](const Values& v) { return Values{sum(v[0])}; });
  });
}

}  // namespace
}  // namespace trireme::testing
