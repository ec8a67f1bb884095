// Attention of sequences that do not belong together: one error that says what, where and what to
// try.

#include <gmock/gmock.h>

#include "../command.h"
#include "trireme/attention.h"
#include "trireme/decoding.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/sequence.h"

namespace trireme::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class AttentionMisuse : public ::testing::Test {
 protected:
  Program program{"net"};
  Value x = program.input("x", f32, ragged({batch}, {8}));
  Value y = program.input("y", f32, ragged({Dim("others")}, {8}));
  Value dense = program.input("dense", f32, {batch, 5, 8});
  Value rows = program.input("rows", f32, {Dim("n"), 8});
  Value flags = program.input("flags", boolean, {batch, 5});

  std::string refused(const Value& query, const Value& key, nn::AttentionOptions options = {}) {
    options.heads = 2;
    return error_of(ErrorKind::usage, [&] { nn::multi_head_attention(query, key, key, options); });
  }
};

TEST_F(AttentionMisuse, OtherSequences) {
  EXPECT_THAT(refused(x, y), AllOf(HasSubstr("the queries are batch sequences, split by %x.splits"),
                                   HasSubstr("the keys are others sequences, split by %y.splits"),
                                   HasSubstr("is %x, f32[x, 8]"), HasSubstr("is %y, f32[y, 8]"),
                                   HasSubstr("attention_misuse_test.cc:")));
  EXPECT_THAT(refused(rows, x), HasSubstr("the queries are n rows that are not rows of sequences"));
  EXPECT_THAT(refused(x, rows), HasSubstr("the rows of the keys are not rows of sequences"));
  EXPECT_THAT(refused(rows, rows), HasSubstr("ragged({batch}, {width})"));
  EXPECT_THAT(refused(nn::linear(y, {.units = 8}), x), HasSubstr("from linear_0 at"));
}

TEST_F(AttentionMisuse, DenseAndRagged) {
  EXPECT_THAT(refused(x, dense), HasSubstr("keys and values must be [rows, width]"));
  EXPECT_THAT(refused(dense, x), HasSubstr("queries are [batch, steps, width], but keys"));
  EXPECT_THAT(refused(x, x, {.key_mask = flags}),
              HasSubstr("masks are not supported for rows of sequences"));
  EXPECT_THAT(refused(x, x, {.mask = flags}),
              HasSubstr("masks are not supported for rows of sequences"));
  EXPECT_THAT(refused(sequence::sum(x), x, {.causal = true}),
              HasSubstr("causal is not supported with one query for each sequence"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { nn::multi_head_attention(x, x, y, {.heads = 2}); }),
              HasSubstr("or have different rows"));
}

TEST_F(AttentionMisuse, Positions) {
  const auto positions = [&](const Value& at) {
    return error_of(ErrorKind::usage, [&] { nn::add_sinusoidal_positions(x, at); });
  };
  EXPECT_THAT(positions(sequence::lengths(x)),
              HasSubstr("the positions do not have one element for each row"));
  EXPECT_THAT(positions(cast(sequence::positions(x), {.dtype = f32})),
              HasSubstr("positions must be integers [rows]"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { nn::add_sinusoidal_positions(rows); }),
              HasSubstr("its rows are not rows of sequences"));
  EXPECT_THAT(
      error_of(ErrorKind::usage, [&] { nn::add_learned_positions(rows, {.max_steps = 4}); }),
      HasSubstr("its rows are not rows of sequences"));
}

// In a step that generates.
TEST_F(AttentionMisuse, Steps) {
  const auto generate = [&](const std::function<Value(nn::Step&, const Value&)>& f) {
    return error_of(ErrorKind::usage, [&] {
      nn::beam_search(
          [&](nn::Step& step, const Value& word) {
            const Value row = nn::embedding(word, {.num_embeddings = 4, .dim = 8});
            return nn::linear(f(step, row), {.units = 4});
          },
          {.beam = 2, .start = 1, .end = 2, .limit = 5, .over = sequence::lengths(x)});
    });
  };
  EXPECT_THAT(generate([](nn::Step& step, const Value& row) {
                return nn::multi_head_attention(row, row, row, {.heads = 2, .step = &step});
              }),
              HasSubstr("attention in a step needs the maximum number of steps"));
  EXPECT_THAT(generate([&](nn::Step& step, const Value& row) {
                const Value seen = step.static_input(x);
                return nn::multi_head_attention(row, seen, seen,
                                                {.heads = 2, .step = &step, .limit = 5});
              }),
              HasSubstr("a step supports only self-attention to earlier steps"));
  EXPECT_THAT(generate([](nn::Step& step, const Value& row) {
                return nn::transformer_encoder(
                    row, {.layers = 1, .block = {.heads = 2, .step = &step, .limit = 5}});
              }),
              HasSubstr("set {.causal = true}, also in training"));
  EXPECT_THAT(generate([&](nn::Step& step, const Value& row) {
                return nn::transformer_decoder(
                    row, x, {.layers = 1, .block = {.heads = 2, .step = &step, .limit = 5}});
              }),
              HasSubstr("the queries are 2*batch rows that are not rows of sequences, but the keys "
                        "are batch sequences, split by %x.splits"));
  const auto whole = [&] {
    nn::greedy_search(
        [&](nn::Step& step, const Value&) {
          nn::multi_head_attention(dense, dense, dense, {.heads = 2, .step = &step, .limit = 5});
          return rows;
        },
        {.start = 1, .end = 2, .limit = 5, .over = sequence::lengths(x)});
  };
  EXPECT_THAT(error_of(ErrorKind::usage, whole), HasSubstr("attention in a step works row by row"));
}

}  // namespace
}  // namespace trireme::testing
