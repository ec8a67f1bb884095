// Compiled ops at special values: zeros of both signs, infinity, NaN, ties, and no elements.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "trireme/ops.h"
#include "trireme/session.h"

namespace trireme {
namespace {

template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

// All pairs of special values.
template <class T>
void check_atan2(DType dtype) {
  const std::vector<T> special = {T(0),
                                  -T(0),
                                  T(1),
                                  T(-1),
                                  std::numeric_limits<T>::denorm_min(),
                                  -std::numeric_limits<T>::max(),
                                  std::numeric_limits<T>::max(),
                                  kInfinity<T>,
                                  -kInfinity<T>,
                                  kNan<T>};
  std::vector<T> ys, xs;
  for (const T y : special) {
    for (const T x : special) ys.push_back(y), xs.push_back(x);
  }
  const auto count = static_cast<std::int64_t>(ys.size());
  Program program("atan2");
  const Value y = program.input("y", dtype, {batch}), x = program.input("x", dtype, {batch});
  Session session(program);
  const std::vector<Tensor> results = session.run(
      {{"y", Tensor::from<T>({count}, ys)}, {"x", Tensor::from<T>({count}, xs)}}, {atan2(y, x)});
  for (std::size_t i = 0; i < ys.size(); ++i) {
    const T expected = std::atan2(ys[i], xs[i]), got = results[0].data<T>()[i];
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(got)) << ys[i] << ", " << xs[i];
    } else {
      EXPECT_NEAR(got, expected, 4 * std::numeric_limits<T>::epsilon()) << ys[i] << ", " << xs[i];
      EXPECT_EQ(std::signbit(got), std::signbit(expected)) << ys[i] << ", " << xs[i];
    }
  }
}

TEST(Edges, Atan2AsInC) {
  check_atan2<float>(f32);
  check_atan2<double>(f64);
}

TEST(Edges, CummaxTakesTheLastOfEqualElementsAndKeepsNan) {
  Program program("cummax");
  const Value x = program.input("x", f32, {batch, 7});
  const std::vector<Value> results = cummax(x, {.axis = 1});
  Session session(program);
  const std::vector<float> input = {1,
                                    1,
                                    -2,
                                    3,
                                    3,
                                    2,
                                    3,  //
                                    -kInfinity<float>,
                                    0,
                                    -0.0f,
                                    kNan<float>,
                                    5,
                                    kNan<float>,
                                    9,  //
                                    2,
                                    1,
                                    0,
                                    -1,
                                    -2,
                                    -3,
                                    kInfinity<float>};
  const std::vector<Tensor> got =
      session.run({{"x", Tensor::from<float>({3, 7}, input)}}, {results[0], results[1]});
  const std::vector<std::int64_t> indices = {0, 1, 1, 3, 4, 4, 6, 0, 1, 2, 3,
                                             3, 5, 5, 0, 0, 0, 0, 0, 0, 6};
  EXPECT_EQ(got[1].to_vector<std::int64_t>(), indices);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const float expected = input[i / 7 * 7 + static_cast<std::size_t>(indices[i])];
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got[0].data<float>()[i]),
              std::bit_cast<std::uint32_t>(expected))
        << i;
  }
  const std::vector<Tensor> none =
      session.run({{"x", Tensor::from<float>({0, 7}, {})}}, {results[0], results[1]});
  EXPECT_EQ(none[0].elements(), 0);
  EXPECT_EQ(none[1].elements(), 0);
}

}  // namespace
}  // namespace trireme
