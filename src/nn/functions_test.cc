// tests/conformance compares values and gradients of trireme/functions.h with PyTorch. These tests
// cover symbolic sizes, integers and errors.

#include "trireme/functions.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <utility>

#include "nn/testing/running.h"

namespace trireme::nn {
namespace {

using ops::RefTensor;
using ops::RefTensors;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void expect_rejected(const Shape& shape, const std::function<void(const Value&)>& function,
                     const std::string& message, DType dtype = f32) {
  Program program;
  const Value x = program.input("x", dtype, shape);
  EXPECT_THAT(refusal_here([&] { function(x); }), HasSubstr(message));
}

TEST(Functions, AcceptSymbolicSizes) {
  const RefTensor x = tensor({2, 1}, {1, 2});
  EXPECT_THAT(run_on(x, f64, {batch, 1}, [](auto& v) { return tile(v, {2, 3}); }).data,
              ElementsAre(1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2));
  EXPECT_THAT(run_on(x, f64, {batch, 1}, [](auto& v) { return squeeze(v); }).shape, ElementsAre(2));
  EXPECT_THAT(run_on(x, f64, {batch, 1}, [](auto& v) { return stack({v, v}, -1); }).data,
              ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(
      run_on(tensor({3}, {2, 0, 5}), i64, {batch}, [](auto& v) { return one_hot(v, 3); }).data,
      ElementsAre(0, 0, 1, 1, 0, 0, 0, 0, 0));
  EXPECT_THAT(run_on(tensor({1, 2}, {1, 2}), f64, {batch, 2},
                     [](auto& v) { return pad_edge(v, {0, 1}, {0, 2}); })
                  .data,
              ElementsAre(1, 1, 2, 2, 2));
}

TEST(Functions, AcceptIntegers) {
  const RefTensor x = tensor({4}, {1, 2, 3, 4});
  EXPECT_THAT(run_on(x, i64, {4}, [](auto& v) { return clamp(v, 2, 3); }).data,
              ElementsAre(2, 2, 3, 3));
  EXPECT_THAT(run_on(x, i64, {4}, [](auto& v) { return clamp(v, 3); }).data,
              ElementsAre(3, 3, 3, 4));
  EXPECT_THAT(run_on(x, i32, {4}, [](auto& v) { return pad_reflect(v, {3}, {1}); }).data,
              ElementsAre(4, 3, 2, 1, 2, 3, 4, 3));
  EXPECT_THAT(run_on(x, i32, {4}, [](auto& v) { return pad_circular(v, {4}, {1}); }).data,
              ElementsAre(1, 2, 3, 4, 1, 2, 3, 4, 1));
  EXPECT_THAT(run_on(tensor({1, 1, 1, 2}, {7, 9}), u8, {1, 1, 1, 2},
                     [](auto& v) { return resize_nearest(v, 1, 4); })
                  .data,
              ElementsAre(7, 7, 9, 9));
}

TEST(Functions, ResizeInfiniteAndHugeNumbers) {
  const auto resized = [](std::vector<double> row) {
    return run_on(tensor({1, 1, 1, 2}, std::move(row)), f64, {1, 1, 1, 2},
                  [](auto& v) { return resize_bilinear(v, 1, 4); })
        .data;
  };
  EXPECT_THAT(resized({INFINITY, INFINITY}), Each(INFINITY));
  EXPECT_THAT(resized({0x1.8p1023, -0x1.8p1023}),
              ElementsAre(0x1.8p1023, 0x1.8p1022, -0x1.8p1022, -0x1.8p1023));
}

TEST(Functions, RejectInvalidArguments) {
  expect_rejected({2, 3}, [](auto& x) { unsqueeze(x, 3); }, "there is no axis 3");
  expect_rejected({2, 1}, [](auto& x) { squeeze(x, {0}); }, "axis 0 does not have size 1");
  expect_rejected({batch, 1}, [](auto& x) { squeeze(x, {0}); }, "axis 0 does not have size 1");
  expect_rejected({2, 3}, [](auto& x) { tile(x, {2}); }, "one number of repetitions");
  expect_rejected({2, 3}, [](auto& x) { stack({x, unsqueeze(x, 0)}); }, "the values differ");
  expect_rejected({2, 3}, [](auto& x) { split(x, {1, 1}, 1); }, "the sizes add up to 2");
  expect_rejected({batch, 3}, [](auto& x) { split(x, {1, 1}); }, "has size batch");
  expect_rejected(
      {2, 3}, [](auto& x) { split_evenly(x, 2, 1); }, "cannot be split into 2 equal parts");
  expect_rejected({2}, [](auto& x) { clamp(x, 2, 1); }, "low must not be above high");
  expect_rejected({2}, [](auto& x) { one_hot(x, 3); }, "labels must be integers");
  expect_rejected({2}, [](auto& x) { one_hot(x, 0); }, "depth must be at least 1", i64);
  expect_rejected({3}, [](auto& x) { pad_reflect(x, {3}, {0}); }, "3 on one side are too many");
  expect_rejected({3}, [](auto& x) { pad_circular(x, {0}, {4}); }, "4 on one side are too many");
  expect_rejected({3}, [](auto& x) { pad_edge(x, {-1}, {0}); }, "must not be negative");
  expect_rejected({batch}, [](auto& x) { pad_edge(x, {1}, {0}); }, "must have a constant size");
  expect_rejected({3}, [](auto& x) { resize_nearest(x, 2, 2); }, "images must be [batch");
  expect_rejected({1, 1, 2, 2}, [](auto& x) { resize_bilinear(x, 0, 2); }, "must be at least 1");
  expect_rejected({1, 1, 2, 2}, [](auto& x) { resize_bilinear(x, 3, 3); }, "a float dtype", u8);
  EXPECT_THROW(stack({}), Error);
}

}  // namespace
}  // namespace trireme::nn
