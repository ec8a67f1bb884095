// First and final states of recurrent layers over sequences of different lengths, and dense ones:
// two halves with the state between them are one whole. tests/conformance compares with PyTorch.

#include <gmock/gmock.h>

#include <functional>

#include "base/testing/error.h"
#include "trireme/functions.h"
#include "trireme/recurrent.h"
#include "trireme/sequence.h"
#include "trireme/session.h"

namespace trireme::nn {
namespace {

using ::testing::HasSubstr;
using Numbers = std::vector<double>;

Numbers small_numbers(std::size_t count) {
  Numbers x;
  for (std::size_t i = 0; i < count; ++i) {
    x.push_back(static_cast<double>(i * 2654435761u % 1000) / 500 - 1);
  }
  return x;
}

Numbers numbers_of(const Tensor& tensor) { return tensor.cast(f64).to_vector<double>(); }

// Sequences of 3, 0 and 2 rows. The dense layout has the same outputs and, where no sequence is
// shorter, the same states.
TEST(RecurrentStates, OfSequencesWithoutRowsAreTheFirst) {
  Program program;
  const Value x = program.input("x", f64, ragged({batch}, {2}));
  const Value first = program.input("first", f64, {2, batch, 3});
  const RecurrentResult y =
      gru_with_states(x, {.units = 3, .bidirectional = true, .initial = first});
  Session session(program, {.threads = 1});
  const Numbers states = small_numbers(2 * 3 * 3);
  const Feeds feeds{{"x", Tensor::from({5, 2}, small_numbers(10))},
                    {"x.splits", Tensor::from<std::int64_t>({4}, {0, 3, 3, 5})},
                    {"first", Tensor::from({2, 3, 3}, states)}};
  const std::vector<Tensor> results = session.run(feeds, {y.outputs, y.h});
  const Numbers outputs = numbers_of(results[0]), last = numbers_of(results[1]);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(last[3 + i], states[3 + i]);          // of the empty sequence, forward
    EXPECT_EQ(last[9 + 3 + i], states[9 + 3 + i]);  // and backward
    EXPECT_EQ(last[i], outputs[2 * 6 + i]);         // after row 2
    EXPECT_EQ(last[9 + i], outputs[3 + i]);         // after row 0
    EXPECT_EQ(last[6 + i], outputs[4 * 6 + i]);
  }
}

TEST(RecurrentStates, JoinTwoHalves) {
  Program program;
  const Dim steps("steps");
  const Value whole = program.input("whole", f64, {batch, steps, 2});
  const auto run_on = [](const Value& x, const Value& h, const Value& c) {
    LstmOptions options{.units = 3, .layers = 2, .initial_h = h, .initial_c = c};
    options.name = "net";
    return lstm_with_states(x, options);
  };
  const LstmResult all = run_on(whole, {}, {});
  Program halves;
  const Value part = halves.input("part", f64, {batch, Dim("steps"), 2});
  const Value h = halves.input("h", f64, {2, batch, 3}), c = halves.input("c", f64, {2, batch, 3});
  const LstmResult one = run_on(part, h, c);
  Session first(program, {.threads = 1}), second(halves, {}, first);
  const Numbers x = small_numbers(2 * 4 * 2);
  const auto rows = [&](std::size_t from, std::size_t to) {
    Numbers chosen;
    for (const std::size_t sequence : {0u, 8u}) {
      chosen.insert(chosen.end(), x.begin() + static_cast<std::ptrdiff_t>(sequence + 2 * from),
                    x.begin() + static_cast<std::ptrdiff_t>(sequence + 2 * to));
    }
    return Tensor::from({2, static_cast<std::int64_t>(to - from), 2}, chosen);
  };
  const auto expected = first.run({{"whole", rows(0, 4)}}, {all.outputs, all.h, all.c});
  const Tensor zeros = Tensor::from({2, 2, 3}, Numbers(12));
  const auto begin =
      second.run({{"part", rows(0, 3)}, {"h", zeros}, {"c", zeros}}, {one.outputs, one.h, one.c});
  const auto end = second.run({{"part", rows(3, 4)}, {"h", begin[1]}, {"c", begin[2]}},
                              {one.outputs, one.h, one.c});
  EXPECT_EQ(numbers_of(end[1]), numbers_of(expected[1]));
  EXPECT_EQ(numbers_of(end[2]), numbers_of(expected[2]));
  const Numbers last = numbers_of(end[0]), outputs = numbers_of(expected[0]);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(last[i], outputs[9 + i]);
    EXPECT_EQ(last[3 + i], outputs[12 + 9 + i]);
  }
}

TEST(RecurrentStates, Refuse) {
  Program program;
  const Value x = program.input("x", f32, {batch, 5, 2});
  const Value h = program.input("h", f32, {1, batch, 3}), wide = program.input("w", f32, {2, 3});
  const auto refusal = [](const std::function<void()>& f) { return error_of(ErrorKind::usage, f); };
  EXPECT_THAT(refusal([&] { gru(x, {.units = 3, .layers = 2, .initial = h}); }),
              HasSubstr("f32[2, n, 3]"));
  EXPECT_THAT(refusal([&] { lstm(x, {.units = 4, .initial_h = h}); }), HasSubstr("f32[1, n, 4]"));
  EXPECT_THAT(refusal([&] { simple_rnn(x, {.units = 3, .initial = wide}); }),
              HasSubstr("first states"));
  EXPECT_THAT(refusal([&] { simple_rnn_cell(wide, wide, {.units = 2}); }),
              HasSubstr("previous state"));
  EXPECT_THAT(refusal([&] { gru(program.input("v", f32, {batch}), {.units = 3}); }),
              HasSubstr("[n, steps, width]"));
}

}  // namespace
}  // namespace trireme::nn
