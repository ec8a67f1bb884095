// Weights of few bits at the borders of their domain; tests/conformance compares other numbers and
// gradients with PyTorch.

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "base/testing/error.h"
#include "trireme/compression.h"
#include "trireme/gradients.h"
#include "trireme/session.h"

namespace trireme::nn {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Function = std::function<Value(const Value&)>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Bits {
  std::vector<double> values, slopes;
};

// Runs a function of a parameter [rows, columns]; slopes are those of the sum of results.
Bits bits_of(DType dtype, const Shape& shape, const std::vector<double>& numbers,
             const Function& function) {
  Program program;
  const Value w = program.parameter("w", dtype, shape);
  const Value y = function(w);
  const Value slope = gradients(sum(y), {w})[0];
  Session session(program, {.threads = 1});
  std::vector<std::int64_t> sizes;
  for (const Dim& dim : shape) sizes.push_back(dim.constant());
  session.set_parameter("w", Tensor::from<double>(sizes, numbers).cast(dtype));
  const std::vector<Tensor> results = session.run({}, {y, slope});
  return {results[0].cast(f64).to_vector<double>(), results[1].cast(f64).to_vector<double>()};
}

TEST(Binarize, KnowsSignsOfZeroInfinityAndNan) {
  for (const DType dtype : {f32, f64}) {
    const Bits bits = bits_of(dtype, {8}, {0, -0.0, 1, -1, 1.5, -1e-30, kInfinity, -kInfinity},
                              [](const Value& w) { return binarize(w); });
    EXPECT_THAT(bits.values, ElementsAre(1, 1, 1, -1, 1, -1, 1, -1));
    EXPECT_THAT(bits.slopes, ElementsAre(1, 1, 1, 1, 0, 1, 0, 0));
    const Bits nan =
        bits_of(dtype, {1}, {std::nan("")}, [](const Value& w) { return binarize(w); });
    EXPECT_TRUE(std::isnan(nan.values[0]));
  }
}

TEST(BinaryWeight, OfZerosIsZero) {
  const Bits bits = bits_of(f32, {2, 2}, {0, 3, 0, -1},
                            [](const Value& w) { return binary_weight(w, {.axis = 1}); });
  EXPECT_THAT(bits.values, ElementsAre(0, 2, 0, -2));
}

TEST(TernaryWeight, OfZerosTiesAndSingleNumbers) {
  const Function ternary = [](const Value& w) { return ternary_weight(w, {.axis = 0}); };
  EXPECT_THAT(bits_of(f32, {2, 3}, {0, 0, 0, 2, -2, 2}, ternary).values,
              ElementsAre(0, 0, 0, 2, -2, 2));
  // Mean 1: the limit is 0.7.
  EXPECT_THAT(bits_of(f64, {1, 4}, {0.1, -0.5, 0.9, -2.5}, ternary).values,
              ElementsAre(0, 0, 1.7, -1.7));
  const Bits one = bits_of(f32, {1, 1}, {-3}, ternary);
  EXPECT_THAT(one.values, ElementsAre(-3));
  EXPECT_THAT(one.slopes, ElementsAre(1));
}

TEST(PowerOfTwoWeight, RoundsTheMiddleAwayFromZero) {
  const Function powers = [](const Value& w) { return power_of_two_weight(w, {.bits = 3}); };
  for (const DType dtype : {f32, f64}) {
    // 1.5 rounds to 2, so that the numbers are 0, 0.5, 1 and 2.
    const Bits bits =
        bits_of(dtype, {8}, {1.5, -1.4999, 0.75, -0.7499, 0.25, 0.2499, 0, -0.4}, powers);
    EXPECT_THAT(bits.values, ElementsAre(2, -1, 1, -0.5, 0.5, 0, 0, -0.5));
    EXPECT_THAT(bits.slopes, Each(1));
    EXPECT_THAT(bits_of(dtype, {2}, {0, 0}, powers).values, ElementsAre(0, 0));
    EXPECT_THAT(bits_of(dtype, {2}, {0x1p100, 0x1p98}, powers).values,
                ElementsAre(0x1p100, 0x1p98));
  }
}

TEST(LowBit, RefusesOtherWeights) {
  Program program;
  const Value w = program.parameter("w", f32, {2, 3});
  const Value x = program.input("x", f32, {batch, 3});
  const Value i = program.input("i", i64, {batch});
  const auto refusal = [](const auto& f) { return error_of(ErrorKind::usage, f); };
  EXPECT_THAT(refusal([&] { binarize(i); }), HasSubstr("must be f32 or f64"));
  EXPECT_THAT(refusal([&] { binary_weight(x); }), HasSubstr("constant sizes"));
  EXPECT_THAT(refusal([&] { ternary_weight(w, {.axis = 2}); }), HasSubstr("no axis 2"));
  EXPECT_THAT(refusal([&] { power_of_two_weight(w, {.bits = 7}); }), HasSubstr("from 2 to 6"));
  EXPECT_THAT(refusal([&] { power_of_two_weight(w, {.bits = 1}); }), HasSubstr("low_bit_test.cc"));
}

}  // namespace
}  // namespace trireme::nn
