// Sequences and control flow used wrongly: one error that says what, where and what to try.

#include <gmock/gmock.h>

#include "../command.h"
#include "trireme/control.h"
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
  fails(ErrorKind::usage, "its rows are not those of sequences", [&] { sequence::sum(dense); });
  fails(ErrorKind::usage, "not one value for each of the batch sequences",
        [&] { sequence::expand(words, tags); });
  fails(ErrorKind::usage, "its rows are not those of the sequences that the step runs along", [&] {
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
        body(s, x, s.memory({.width = 3}));
      });
    };
  };
  fails(ErrorKind::usage, "the memory changes its shape",
        step([](nn::Step& s, const Value& x, const Value& h) {
          s.update(h, concat({x, h}, {.axis = 1}));
        }));
  fails(ErrorKind::usage, "a memory is never updated",
        step([](nn::Step&, const Value&, const Value&) {}));
  fails(ErrorKind::usage, "the memory is updated twice",
        step([](nn::Step& s, const Value& x, const Value& h) { s.update(h, x), s.update(h, x); }));
  fails(ErrorKind::usage, "it has no row for each sequence",
        step([](nn::Step& s, const Value& x, const Value& h) {
          s.update(h, x);
          s.output(sum(x));
        }));
  fails(ErrorKind::usage, "what the step runs along is not known yet",
        [] { nn::run_rnn([](nn::Step& s) { s.memory({.width = 3}); }); });
  fails(ErrorKind::usage, "the step has 1 outputs, and 2 are taken",
        [&] { nn::rnn<2>([&](nn::Step& s) { s.output(s.input(words)); }); });
  // What failed leaves the Program as it was to build on.
  const auto [good] = nn::rnn([&](nn::Step& s) { s.output(s.input(words) * 2.0); });
  EXPECT_EQ(good.dim(0), words.dim(0));
}

TEST_F(RaggedMisuse, BlocksThatDiffer) {
  const Value flag = program.input("flag", boolean, {});
  const Value x = program.input("x", f32, {3});
  fails(ErrorKind::usage, "the blocks return different types",
        [&] { cond(flag, [&] { return x; }, [&] { return sum(x); }); });
  fails(ErrorKind::usage, "the condition is one boolean",
        [&] { cond(x > 0.0, [&] { return x; }, [&] { return x; }); });
  fails(ErrorKind::usage, "a carried value changes its type", [&] {
    while_values(
        {x}, [&](const Values&) { return flag; },
        [](const Values& v) { return Values{sum(v[0])}; });
  });
}

}  // namespace
}  // namespace trireme::testing
