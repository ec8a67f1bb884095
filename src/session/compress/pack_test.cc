// Packed weights: the codes of a weight, and whole Programs against the same without packing.

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "base/testing/error.h"
#include "session/compress/packed_weight.h"
#include "trireme/compression.h"
#include "trireme/packing.h"
#include "trireme/saved_model.h"

namespace trireme {
namespace {

using compression::packed;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor normal_tensor(std::vector<std::int64_t> shape, unsigned seed) {
  Tensor made(f32, std::move(shape));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < made.elements(); ++i) made.data<float>()[i] = normal(random);
  return made;
}

TEST(PackedWeight, HasScalesCodesAndTables) {
  const Tensor binary = Tensor::from<float>({3, 2}, {0.5f, -2, 0.5f, 2, -0.5f, 2});
  EXPECT_FALSE(packed(binary, 1, 5));  // not smaller
  Tensor large(f32, {64, 2});
  for (int i = 0; i < 64; ++i) {
    large.data<float>()[2 * i] = i % 3 == 0 ? 0.5f : -0.5f;
    large.data<float>()[2 * i + 1] = i == 40 ? -3.0f : 3.0f;
  }
  const auto p = packed(large, 1, 5);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->bits, 1);
  EXPECT_THAT(p->table, ElementsAre(-1, 1));
  EXPECT_THAT(p->scales.to_vector<float>(), ElementsAre(0.5f, 3.0f));
  EXPECT_THAT(p->words.to_vector<std::uint32_t>(),
              ElementsAre(0x49249249u, 0x92492492u, 0xffffffffu, 0xfffffeffu));
}

TEST(PackedWeight, NeedsFewDifferentFiniteNumbers) {
  EXPECT_FALSE(packed(normal_tensor({64, 4}, 1), 1, 8));
  Tensor ones(f32, {64});
  for (int i = 0; i < 64; ++i) ones.data<float>()[i] = 1;
  EXPECT_TRUE(packed(ones, -1, 1));
  EXPECT_TRUE(packed(Tensor(f32, {64}), -1, 1));  // zeros
  ones.data<float>()[9] = INFINITY;
  EXPECT_FALSE(packed(ones, -1, 8));
  ones.data<float>()[9] = NAN;
  EXPECT_FALSE(packed(ones, -1, 8));
  for (int i = 0; i < 64; ++i) ones.data<float>()[i] = 0.1f + 0.3f * static_cast<float>(i % 9);
  EXPECT_FALSE(packed(ones, -1, 3));
  EXPECT_EQ(packed(ones, -1, 4)->bits, 4);  // 9 numbers without a common factor
  EXPECT_FALSE(packed(Tensor(f32, {0}), -1, 4));
}

struct Network {
  Program program{"small"};
  Value image, output;
  explicit Network(nn::WeightForm form, bool binary_inputs = false) {
    image = program.input("image", f32, {batch, 1, 12, 12});
    Value x = nn::conv2d(image, {.channels = 8, .kernel = 3, .weight_form = form});
    x = nn::batch_norm(nn::max_pool(x, {}));
    x = binary_inputs ? nn::binarize(x) : nn::relu(x);
    x = nn::linear(nn::flatten(x), {.units = 40, .weight_form = form});
    output = nn::linear(nn::relu(x), {.units = 10});
  }
};

TEST(PackWeights, ComputesTheSame) {
  using nn::WeightForm;
  const Feeds feeds{{"image", normal_tensor({5, 1, 12, 12}, 3)}};
  for (const auto& [form, bits] : {std::pair{WeightForm::binary, 1},
                                   {WeightForm::ternary, 2},
                                   {WeightForm::log3, 3},
                                   {WeightForm::log4, 4},
                                   {WeightForm::log5, 5}}) {
    const Network network(form);
    Session session(network.program, {.threads = 1, .seed = 4});
    const Tensor expected = session.run(feeds, {network.output})[0];
    PackedModel small = pack_weights(network.program, session, {network.output});
    ASSERT_EQ(small.weights.size(), 2u) << bits;
    EXPECT_EQ(small.weights[0].name, "conv2d_0.weight");
    for (const PackedWeight& weight : small.weights) EXPECT_LE(weight.bits, bits);
    EXPECT_TRUE(small.program.find("linear_1.weight"));
    EXPECT_FALSE(small.program.find("linear_0.weight"));
    const Tensor result = small.session.run(feeds, small.program.outputs())[0];
    for (std::int64_t i = 0; i < result.elements(); ++i) {
      EXPECT_NEAR(result.data<float>()[i], expected.data<float>()[i], 1e-5) << bits;
    }
  }
}

TEST(PackWeights, IsExactInSessionsOfLessPrecision) {
  Program program;
  const Value x = program.input("x", f32, {batch, 20});
  const Value y = matmul(x, nn::binary_weight(program.parameter("w", f32, {20, 16}), {.axis = 1}));
  Session session(program, {.threads = 1, .precision = Precision::bf16});
  session.set_parameter("w", normal_tensor({20, 16}, 8));
  PackedModel small = pack_weights(program, session, {y});
  Session wide(program, {.threads = 1});
  wide.set_parameter("w", session.parameter("w"));
  EXPECT_EQ(small.session.parameter("w.scales").to_vector<float>(),
            pack_weights(program, wide, {y}).session.parameter("w.scales").to_vector<float>());
}

TEST(PackWeights, CountsBitsOfBinaryInputs) {
  const Network network(nn::WeightForm::binary, true);
  Session session(network.program, {.threads = 1, .seed = 5});
  const Feeds feeds{{"image", normal_tensor({7, 1, 12, 12}, 6)}};
  const Tensor expected = session.run(feeds, {network.output})[0];
  for (const bool counts : {false, true}) {
    PackedModel small =
        pack_weights(network.program, session, {network.output}, {.count_bits = counts});
    ASSERT_EQ(small.weights.size(), 2u);
    EXPECT_EQ(small.weights[1].counts_bits, counts);
    const Tensor result = small.session.run(feeds, small.program.outputs())[0];
    for (std::int64_t i = 0; i < result.elements(); ++i) {
      EXPECT_NEAR(result.data<float>()[i], expected.data<float>()[i], 1e-4) << counts;
    }
  }
}

TEST(PackWeights, FoldsOtherComputedWeightsAndSaves) {
  Program program;
  const Value x = program.input("x", f32, {batch, 20});
  const Value w =
      nn::weight_norm(program.parameter("w", f32, {20, 16}, {.initializer = nn::normal()}));
  const Value y = matmul(x, w);
  Session session(program, {.threads = 1});
  const Feeds feeds{{"x", normal_tensor({3, 20}, 9)}};
  const Tensor expected = session.run(feeds, {y})[0];
  PackedModel small = pack_weights(program, session, {y});
  EXPECT_TRUE(small.weights.empty());
  EXPECT_EQ(small.bytes, 20 * 16 * 4);
  const std::string folder = testing::TempDir() + "/packed_model";
  save_model(small.program, small.session, folder, {.outputs = small.program.outputs()});
  EXPECT_EQ(load_model(folder).predict(feeds)[0].to_vector<float>(), expected.to_vector<float>());
}

TEST(PackWeights, KeepsWeightsOfNestedBlocksAndRefusesOthers) {
  Program program, other;
  const Value x = program.input("x", f32, {batch, 20});
  const Value y = nn::linear(x, {.units = 4});
  Session session(program, {.threads = 1});
  const auto refusal = [](const auto& f) { return error_of(ErrorKind::usage, f); };
  EXPECT_THAT(refusal([&] { pack_weights(program, session, {}); }), HasSubstr("no outputs"));
  EXPECT_THAT(refusal([&] { pack_weights(program, session, {y}, {.max_bits = 9}); }),
              HasSubstr("from 1 to 8"));
  EXPECT_THAT(refusal([&] { pack_weights(other, session, {y}); }), HasSubstr("another Program"));
  const PackedModel same = pack_weights(program, session, {y});
  EXPECT_TRUE(same.weights.empty());
  EXPECT_EQ(same.bytes, (20 * 4 + 4) * 4);
}

}  // namespace
}  // namespace trireme
