#include "kernels/test_calls.h"
#include "trireme/error.h"

namespace trireme::kernels {
namespace {

template <class T, class I>
void check(std::int64_t rows, const Sizes& indices_shape, const Sizes& row_shape) {
  Call call;
  Sizes updates_shape = indices_shape;
  updates_shape.insert(updates_shape.end(), row_shape.begin(), row_shape.end());
  Sizes y_shape{rows};
  y_shape.insert(y_shape.end(), row_shape.begin(), row_shape.end());
  call.tensors = {
      {dtype_of<I>, indices_shape}, {dtype_of<T>, updates_shape}, {dtype_of<T>, y_shape}};
  std::mt19937 random(3);
  std::vector<I> indices(static_cast<std::size_t>(elements(indices_shape)));
  for (I& index : indices) index = static_cast<I>(random() % static_cast<unsigned>(rows));
  const auto updates = random_values<T>(elements(updates_shape), 4);
  const auto width = static_cast<std::size_t>(elements(row_shape));
  std::vector<double> expected(static_cast<std::size_t>(rows) * width, 0);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      expected[static_cast<std::size_t>(indices[i]) * width + j] += updates[i * width + j];
    }
  }
  expect_near(run_call<T>("scatter_add", call, {indices.data(), updates.data()}), expected,
              static_cast<std::int64_t>(indices.size()), "scatter_add");
}

TEST(ScatterAdd, AddsRows) {
  check<float, std::int64_t>(5, {9}, {37});
  check<float, std::int32_t>(7, {2, 3}, {5, 2});
  check<double, std::int64_t>(4, {6}, {});
  check<double, std::int32_t>(3, {}, {2});
  check<float, std::int64_t>(3, {0}, {4});
  check<float, std::int64_t>(3, {4}, {0});
  check<float, std::int64_t>(1000, {3000}, {300});
}

TEST(ScatterAdd, NamesAnIndexOutOfRange) {
  for (const std::int64_t wrong : {5, 12}) {
    Call call;
    call.tensors = {{DType::i64, {3}}, {DType::f32, {3, 2}}, {DType::f32, {5, 2}}};
    const std::vector<std::int64_t> indices{0, wrong, 4};
    const std::vector<float> updates(6, 1.0f);
    try {
      run_call<float>("scatter_add", call, {indices.data(), updates.data()});
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      EXPECT_NE(std::string(error.what()).find("index " + std::to_string(wrong) + " at position 1"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace trireme::kernels
