// The kernels that work along an axis: cumsum, argsort, sort, scatter_add_along_axis and, by
// tuples, scatter_add_nd.

#include <limits>

#include "base/attributes.h"
#include "kernels/test_calls.h"
#include "trireme/error.h"

namespace trireme::kernels {
namespace {

using Indices = std::vector<std::int64_t>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Call call_of(std::vector<TensorDescription> tensors, std::int64_t axis) {
  Call call;
  call.tensors = std::move(tensors);
  set_attribute(call.attributes, "axis", axis);
  return call;
}

Indices argsort(const std::vector<float>& x, bool descending, std::int64_t count = -1) {
  const auto n = static_cast<std::int64_t>(x.size());
  Call call = call_of({{DType::f32, {n}}, {DType::i64, {count < 0 ? n : count}}}, 0);
  set_attribute(call.attributes, "descending", descending);
  return run_call<std::int64_t>("argsort", call, {x.data()});
}

TEST(Argsort, KeepsTheOrderOfEqualElements) {
  const std::vector<float> x{2, 1, 2, 1, 0.5f, 2};
  EXPECT_EQ(argsort(x, false), (Indices{4, 1, 3, 0, 2, 5}));
  EXPECT_EQ(argsort(x, true), (Indices{0, 2, 5, 1, 3, 4}));
  EXPECT_EQ(argsort({0.0f, -0.0f, 0.0f}, false), (Indices{0, 1, 2}));
  EXPECT_EQ(argsort(std::vector<float>(300, 7.0f), true, 3), (Indices{0, 1, 2}));
}

TEST(Argsort, CountsNanAsTheLargest) {
  const std::vector<float> x{1, kNan, kInfinity, -kInfinity, kNan};
  EXPECT_EQ(argsort(x, false), (Indices{3, 0, 2, 1, 4}));
  EXPECT_EQ(argsort(x, true), (Indices{1, 4, 2, 0, 3}));
  EXPECT_EQ(argsort(x, true, 2), (Indices{1, 4}));
  EXPECT_EQ(argsort(x, false, 0), Indices{});
}

TEST(Argsort, GivesManyLinesTheSameAtAnyNumberOfThreads) {
  const auto x = random_values<float>(Indices::value_type{70} * 90 * 3, 5);
  const Call call = call_of({{DType::f32, {70, 90, 3}}, {DType::i64, {70, 90, 3}}}, 1);
  const Indices y = run_call<std::int64_t>("argsort", call, {x.data()});
  for (std::size_t i = 3; i < y.size(); ++i) {
    if (i / 3 % 90 == 0) continue;
    const std::size_t line = i / 270 * 270 + i % 3;
    EXPECT_LE(x[line + 3 * static_cast<std::size_t>(y[i - 3])],
              x[line + 3 * static_cast<std::size_t>(y[i])]);
  }
}

TEST(Cumsum, AddsFloatsInDoubleAndWrapsIntegers) {
  const std::vector<float> ones(17'000'000, 1.0f);
  const auto n = static_cast<std::int64_t>(ones.size());
  const Call floats = call_of({{DType::f32, {n}}, {DType::f32, {n}}}, 0);
  EXPECT_EQ(run_call<float>("cumsum", floats, {ones.data()}).back(), 1.7e7f);
  const std::vector<std::uint8_t> bytes{200, 100, 1};
  const Call wrapping = call_of({{DType::u8, {3}}, {DType::u8, {3}}}, 0);
  EXPECT_EQ(run_call<std::uint8_t>("cumsum", wrapping, {bytes.data()}),
            (std::vector<std::uint8_t>{200, 44, 45}));
  const std::vector<std::int32_t> large{2147483647, 1};
  const Call signed_ones = call_of({{DType::i32, {2}}, {DType::i32, {2}}}, 0);
  EXPECT_EQ(run_call<std::int32_t>("cumsum", signed_ones, {large.data()})[1], -2147483647 - 1);
}

TEST(Cumsum, IsTheSameAtAnyNumberOfThreads) {
  const auto x = random_values<float>(Indices::value_type{300} * 400, 9);
  for (const std::int64_t axis : {0, 1}) {
    run_call<float>("cumsum", call_of({{DType::f32, {300, 400}}, {DType::f32, {300, 400}}}, axis),
                    {x.data()});
  }
}

TEST(ScatterAddAlongAxis, NamesAnIndexOutOfRange) {
  const auto updates = random_values<float>(6, 1);
  for (const std::int64_t wrong : {-1, 4}) {
    const Indices indices{0, 1, 2, 3, wrong, 0};
    const Call call =
        call_of({{DType::i64, {2, 3}}, {DType::f32, {2, 3}}, {DType::f32, {2, 4}}}, 1);
    try {
      run_call<float>("scatter_add_along_axis", call, {indices.data(), updates.data()});
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      EXPECT_NE(std::string(error.what()).find("index " + std::to_string(wrong)),
                std::string::npos);
    }
  }
}

// Each index is checked by its own axis: [0, 3] of [2, 3] is not [1, 0].
TEST(ScatterAddNd, ChecksEachIndexOfATuple) {
  const std::vector<float> updates{1, 2, 4};
  Call call;
  call.tensors = {{DType::i64, {3, 2}}, {DType::f32, {3}}, {DType::f32, {2, 3}}};
  const Indices right{1, 0, 0, 2, 1, 0};
  EXPECT_EQ(run_call<float>("scatter_add_nd", call, {right.data(), updates.data()}),
            (std::vector<float>{0, 0, 2, 5, 0, 0}));
  const Indices wrong{1, 0, 0, 3, 1, 0};
  EXPECT_THROW(run_call<float>("scatter_add_nd", call, {wrong.data(), updates.data()}), Error);
}

}  // namespace
}  // namespace trireme::kernels
