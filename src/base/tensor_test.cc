#include "trireme/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "base/number_text.h"
#include "base/testing/error.h"
#include "trireme/shape.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

TEST(Tensor, StartsAtZeroAndIsAligned) {
  for (DType dtype : {boolean, u8, i32, i64, f32, f64, bf16, f16}) {
    const Tensor tensor(dtype, {3, 5});
    EXPECT_EQ(tensor.elements(), 15);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes()) % 64, 0u);
    for (std::size_t i = 0; i < tensor.size_bytes(); ++i) {
      EXPECT_EQ(tensor.bytes()[i], std::byte{0});
    }
  }
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  Tensor a = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
  Tensor shared = a;
  const Tensor cloned = a.clone();
  a.data<float>()[0] = 9;
  EXPECT_EQ(shared.data<float>()[0], 9);
  EXPECT_EQ(cloned.data<float>()[0], 1);
  EXPECT_TRUE(equal(a, shared));
  EXPECT_FALSE(equal(a, cloned));
}

TEST(Tensor, RowsAreViews) {
  Tensor a = Tensor::from<std::int64_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor middle = a.rows(1, 2);
  EXPECT_EQ(middle.to_vector<std::int64_t>(), (std::vector<std::int64_t>{3, 4}));
  middle.data<std::int64_t>()[0] = 7;
  EXPECT_EQ(a.data<std::int64_t>()[2], 7);
  EXPECT_EQ(a.rows(3, 3).elements(), 0);
  EXPECT_THROW(a.rows(2, 4), Error);
  EXPECT_THROW(a.rows(2, 1), Error);
  EXPECT_THROW(a.rows(-1, 1), Error);
}

TEST(Tensor, ReshapeInfersOneSize) {
  const Tensor a(f32, {4, 6});
  EXPECT_EQ(a.reshaped({-1, 8}).shape(), (std::vector<std::int64_t>{3, 8}));
  EXPECT_THROW(a.reshaped({5, -1}), Error);
  EXPECT_THROW(a.reshaped({-1, -1}), Error);
  EXPECT_THROW(a.reshaped({-2, -12}), Error);
}

TEST(Tensor, RefusesWrongTypesCountsAndSizes) {
  Tensor a(f32, {2});
  EXPECT_THROW(a.data<double>(), Error);
  EXPECT_THROW(a.item<float>(), Error);
  EXPECT_THROW(Tensor::from<float>({3}, {1, 2}), Error);
  EXPECT_THROW(Tensor(f32, {-1}), Error);
  EXPECT_THROW(Tensor(f32, {std::int64_t{1} << 40, std::int64_t{1} << 40}), Error);
  EXPECT_EQ(Tensor::scalar(2.5).item<double>(), 2.5);
}

TEST(Tensor, CastTruncatesAndSaturates) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor a = Tensor::from<float>({6}, {1.9f, -1.9f, 300, -5, nan, 1e20f});
  EXPECT_EQ(a.cast(u8).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{1, 0, 255, 0, 0, 255}));
  EXPECT_EQ(a.cast(i32).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{1, -1, 300, -5, 0, 2147483647}));
  EXPECT_EQ(a.cast(i64).data<std::int64_t>()[5], std::numeric_limits<std::int64_t>::max());
}

TEST(Tensor, UsesExternalMemoryInPlace) {
  auto memory = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4, 5, 6});
  const std::weak_ptr<std::vector<float>> watch = memory;
  Tensor part;
  {
    Tensor tensor = Tensor::from_external(DType::f32, {3, 2}, memory->data(), memory);
    EXPECT_EQ(tensor.data<float>(), memory->data());
    EXPECT_EQ(tensor.type_str(), "f32[3, 2]");
    tensor.data<float>()[5] = 7;
    EXPECT_EQ((*memory)[5], 7);
    EXPECT_EQ(tensor.clone().to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 7}));
    part = tensor.rows(1, 2);
  }
  memory.reset();
  EXPECT_FALSE(watch.expired()) << "a view keeps the owner";
  EXPECT_EQ(part.to_vector<float>(), (std::vector<float>{3, 4}));
  part = Tensor();
  EXPECT_TRUE(watch.expired());
}

TEST(Tensor, RefusesBadExternalMemory) {
  alignas(8) char bytes[16] = {};
  const auto error = [&](std::vector<std::int64_t> shape, void* data) {
    return error_of(ErrorKind::usage,
                    [&] { Tensor::from_external(DType::f32, std::move(shape), data, nullptr); });
  };
  EXPECT_THAT(error({2}, nullptr), HasSubstr("no memory for f32[2]"));
  EXPECT_THAT(error({2}, bytes + 1), HasSubstr("is not a multiple of the size of an element, 4"));
  EXPECT_THAT(error({-1}, bytes), HasSubstr("-1"));
  EXPECT_THAT(error({INT64_MAX, 8}, bytes), HasSubstr("is too large"));
  EXPECT_EQ(Tensor::from_external(DType::f32, {0, 3}, nullptr, nullptr).elements(), 0);
  EXPECT_EQ(Tensor::from_external(DType::i64, {}, bytes, nullptr).item<std::int64_t>(), 0);
}

TEST(Tensor, GoesToStreams) {
  std::ostringstream out;
  out << Tensor::from<float>({2}, {1, 2}) << ' ' << Shape{batch, 3} << ' ' << batch * 2;
  EXPECT_EQ(out.str(), Tensor::from<float>({2}, {1, 2}).str() + " [batch, 3] 2*batch");
}

TEST(Tensor, PrintsForPeople) {
  EXPECT_EQ(Tensor::from<float>({2, 2}, {1, -2.5f, 3, 4}).str(), "[[   1, -2.5],\n [   3,    4]]");
  EXPECT_EQ(Tensor::scalar(std::int64_t{7}).str(), "7");
  EXPECT_EQ(Tensor(u8, {100}).str(2), "[0, 0, ..., 0, 0]");
  EXPECT_EQ(Tensor(f32, {0, 3}).str(), "[]");
  EXPECT_EQ(Tensor(f32, {2, 3}).type_str(), "f32[2, 3]");
}

TEST(FloatText, IsExactAndNeverLooksLikeAnInteger) {
  EXPECT_EQ(float_text(1.0), "1.0");
  EXPECT_EQ(float_text(0.1f), "0.1");
  EXPECT_EQ(float_text(-0.0), "-0.0");
  EXPECT_EQ(float_text(1e300), "1e+300");
  std::uint64_t state = 1;
  for (int i = 0; i < 10000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    double value;
    std::memcpy(&value, &state, sizeof value);
    if (std::isnan(value)) continue;
    EXPECT_EQ(parse_float(float_text(value)), value);
  }
}

TEST(FloatText, ParsesOnlyWholeNumbers) {
  EXPECT_EQ(parse_float("+1.5e2"), 150.0);
  EXPECT_FALSE(parse_float("1.5x"));
  EXPECT_FALSE(parse_float(""));
  EXPECT_FALSE(parse_float("+-1"));
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_FALSE(parse_integer("99999999999999999999"));
}

}  // namespace
}  // namespace trireme
