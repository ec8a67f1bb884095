// Tests of attention that the conformance suite, in training and against PyTorch, does not cover.

#include "trireme/attention.h"
#include "ir/builder.h"

#include <gmock/gmock.h>

#include <cmath>

#include "nn/testing/running.h"

namespace trireme::nn {
namespace {

using ops::RefTensor;
using ops::RefTensors;
using ::testing::HasSubstr;

Value sequence(Program& program, const char* name, Dim steps, std::int64_t width) {
  return program.input(name, f64, {batch, steps, width});
}

TEST(Attention, CausalStepsDoNotSeeLaterSteps) {
  Program program;
  const Value x = sequence(program, "x", 4, 6);
  const Value y = multi_head_attention(x, x, x, {.heads = 3, .causal = true});
  RefTensors parameters = first_values(program);
  RefTensor first = noise({1, 4, 6}), second = first;
  for (std::size_t i = 3 * 6; i < 4 * 6; ++i) second.data[i] += 1;
  const RefTensor a = run(program, y, {{"x", first}}, parameters);
  const RefTensor b = run(program, y, {{"x", second}}, parameters);
  for (std::size_t i = 0; i < 3 * 6; ++i) EXPECT_EQ(a.data[i], b.data[i]);
  EXPECT_NE(a.data.back(), b.data.back());
}

TEST(Attention, FullyMaskedQueryGetsTheMeanOfAllValues) {
  Program program;
  const Value q = sequence(program, "q", 2, 3), v = sequence(program, "v", 4, 3);
  const Value allowed = program.input("allowed", boolean, {batch, 4});
  const Value y = scaled_dot_product_attention(q, v, v, {.key_mask = allowed});
  RefTensors none;
  const RefTensor values = noise({2, 4, 3}, 2);
  const RefTensors inputs{{"q", noise({2, 2, 3})},
                          {"v", values},
                          {"allowed", tensor({2, 4}, {0, 0, 0, 0, 0, 0, 1, 0})}};
  const RefTensor result = run(program, y, inputs, none);
  for (std::size_t column = 0; column < 3; ++column) {
    double mean = 0;
    for (std::size_t row = 0; row < 4; ++row) mean += values.data[row * 3 + column] / 4;
    EXPECT_NEAR(result.data[column], mean, 1e-12);
    EXPECT_NEAR(result.data[6 + column], values.data[12 + 2 * 3 + column], 1e-12);
  }
}

TEST(Attention, DropsWeightsInTrainingOnly) {
  Program program;
  const Value q = sequence(program, "q", 1, 2), k = sequence(program, "k", 2000, 2);
  const Value v = sequence(program, "v", 2000, 1);
  const Value y = scaled_dot_product_attention(q, k, v, {.dropout = 0.25});
  RefTensors none;
  const RefTensors inputs{{"q", tensor({1, 1, 2}, {0, 0})},
                          {"k", noise({1, 2000, 2})},
                          {"v", tensor({1, 2000, 1}, std::vector<double>(2000, 1))}};
  EXPECT_NEAR(run(program, y, inputs, none).data[0], 1, 1e-9);
  const double kept = run(program, y, inputs, none, /*training=*/true).data[0] * 0.75 * 2000;
  EXPECT_NEAR(kept, std::round(kept), 1e-6);  // a whole number of equal weights
  EXPECT_NEAR(kept, 1500, 100);
}

TEST(Attention, StepsMayBeSymbols) {
  Program program;
  const Value x = sequence(program, "x", Dim("steps"), 4);
  const Value y =
      transformer_encoder(add_learned_positions(add_sinusoidal_positions(x), {.max_steps = 5}),
                          {.layers = 1, .block = {.heads = 2, .causal = true}});
  EXPECT_EQ(y.shape(), x.shape());
  RefTensors parameters = first_values(program);
  const RefTensor all = run(program, y, {{"x", noise({1, 5, 4})}}, parameters);
  RefTensor part = noise({1, 5, 4});
  part.shape = {1, 3, 4};
  part.data.resize(12);
  const RefTensor prefix = run(program, y, {{"x", part}}, parameters);
  for (std::size_t i = 0; i < prefix.data.size(); ++i)
    EXPECT_NEAR(prefix.data[i], all.data[i], 1e-12);
}

TEST(Attention, NamesItsParameters) {
  Program program;
  const Value x = sequence(program, "x", 5, 8);
  transformer_decoder_block(x, x, {.heads = 2, .name = "block"});
  for (const char* name :
       {"attention/query.weight", "attention/query.bias", "attention/key.weight",
        "attention/out.bias", "memory_attention/value.weight", "memory_attention_norm.weight",
        "feed_forward_in.weight", "feed_forward_out.bias", "feed_forward_norm.bias"}) {
    EXPECT_TRUE(program.find(std::string("block/") + name)) << name;
  }
  EXPECT_FALSE(program.find("block/attention/key.bias"));
  EXPECT_EQ(program.find("block/feed_forward_in.weight").shape(), (Shape{8, 32}));
}

TEST(Attention, ErrorsNameLayerAndLine) {
  Program program;
  const Value x = sequence(program, "x", 5, 8), image = program.input("i", f64, {batch, 3, 8, 8});
  const Value other = sequence(program, "other", 7, 8);
  const Value mask = program.input("mask", boolean, {batch, 4});
  const auto attend = [&](AttentionOptions options) {
    return refusal([&] { multi_head_attention(x, x, x, options); });
  };
  EXPECT_THAT(attend({.heads = 3}), HasSubstr("a width of 8 cannot be divided into 3 heads"));
  EXPECT_THAT(attend({.heads = 3}), HasSubstr("attention_test.cc:"));
  EXPECT_THAT(attend({}), HasSubstr("0 heads"));
  EXPECT_THAT(attend({.heads = 2, .dropout = 1}), HasSubstr("rate must be in [0, 1)"));
  EXPECT_THAT(attend({.heads = 2, .key_mask = mask}),
              HasSubstr("key_mask must be boolean [batch, key steps]"));
  EXPECT_THAT(attend({.heads = 2, .mask = mask}), HasSubstr("the shapes do not match"));
  EXPECT_THAT(attend({.heads = 4, .key_heads = 3}), HasSubstr("cannot share 3 heads of keys"));
  EXPECT_THAT(attend({.heads = 4, .key_heads = -2}), HasSubstr("cannot share -2 heads"));
  EXPECT_THAT(attend({.heads = 2, .dropout = 0.5, .blockwise = true}), HasSubstr("no dropout"));
  EXPECT_THAT(attend({.heads = 2, .blockwise = true, .relative = RelativePositions{}}),
              HasSubstr("no relative positions"));
  EXPECT_THAT(attend({.heads = 8, .rotary = Rotary{}}), HasSubstr("an even width"));
  EXPECT_THAT(attend({.heads = 2, .rotary = Rotary{.base = 0}}), HasSubstr("above 0"));
  EXPECT_THAT(attend({.heads = 2, .relative = RelativePositions{.buckets = 3}}),
              HasSubstr("3 buckets"));
  EXPECT_THAT(attend({.heads = 2, .relative = RelativePositions{.max_distance = 2}}),
              HasSubstr("up to a distance of 2"));
  EXPECT_THAT(
      refusal([&] { scaled_dot_product_attention(x, x, x, {.dropout = 0.5, .blockwise = true}); }),
      HasSubstr("no dropout of weights"));
  EXPECT_THAT(refusal([&] {
                scaled_dot_product_attention(x, x, x, {.key_mask = mask, .blockwise = true});
              }),
              HasSubstr("key_mask must be boolean [batch, key steps]"));
  EXPECT_THAT(refusal([&] { rotary_positions(x, {.positions = mask}); }),
              HasSubstr("one element for each step"));
  EXPECT_THAT(refusal([&] { multi_head_attention(image, x, x, {.heads = 2}); }),
              HasSubstr("sequences are [batch, steps, width]"));
  EXPECT_THAT(refusal([&] { multi_head_attention(x, x, other, {.heads = 2}); }),
              HasSubstr("key and value one number of steps"));
  EXPECT_THAT(refusal([&] { multi_head_attention(x, Value(), x, {.heads = 2}); }),
              HasSubstr("the value is empty"));
  EXPECT_THAT(refusal([&] { add_learned_positions(x, {.max_steps = 4}); }),
              HasSubstr("longer than max_steps = 4"));
  EXPECT_THAT(refusal([&] { add_sinusoidal_positions(sequence(program, "odd", 5, 3)); }),
              HasSubstr("an even width"));
  EXPECT_THAT(refusal([&] { transformer_encoder(x, {.layers = 0, .block = {.heads = 2}}); }),
              HasSubstr("layers must be at least 1"));
  EXPECT_THAT(refusal([&] { transformer_encoder_block(x, {.heads = 2, .memory_key_mask = mask}); }),
              HasSubstr("an encoder has no memory"));
  EXPECT_FALSE(program.ir().builder().has_location());
  EXPECT_EQ(program.ir().builder().layer(), "");
}

}  // namespace
}  // namespace trireme::nn
