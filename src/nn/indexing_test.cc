// tests/conformance compares values and gradients with PyTorch. These tests cover symbolic sizes,
// other dtypes, edges and errors.

#include "trireme/indexing.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "nn/testing/running.h"
#include "trireme/functions.h"

namespace trireme::nn {
namespace {

using ops::RefTensor;
using ops::RefTensors;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RefTensor made(const std::function<Value(const Program&)>& function) {
  Program program;
  const Value y = function(program);
  RefTensors none;
  return run(program, y, {}, none);
}

// 0, 1 ... in this shape.
RefTensor counted(std::vector<std::int64_t> shape) {
  RefTensor x(std::move(shape));
  std::iota(x.data.begin(), x.data.end(), 0);
  return x;
}

void expect_rejected(const Shape& shape, const std::function<void(const Value&)>& function,
                     const std::string& message, DType dtype = f32) {
  Program program;
  const Value x = program.input("x", dtype, shape);
  EXPECT_THAT(refusal_here([&] { function(x); }), HasSubstr(message));
}

// Python's rule, written independently: range(start, stop, step) after bounds are adjusted.
std::vector<double> python_slice(std::int64_t n, std::optional<int> start, std::optional<int> stop,
                                 int step) {
  std::vector<double> result;
  const auto adjust = [&](std::int64_t i) {
    if (i < 0) i += n;
    if (i < 0) i = step < 0 ? -1 : 0;
    if (i >= n) i = step < 0 ? n - 1 : n;
    return i;
  };
  const std::int64_t first = start ? adjust(*start) : step < 0 ? n - 1 : 0;
  const std::int64_t end = stop ? adjust(*stop) : step < 0 ? -1 : n;
  for (std::int64_t i = first; step < 0 ? i > end : i < end; i += step) {
    result.push_back(static_cast<double>(i));
  }
  return result;
}

TEST(Indexing, SlicesAsPythonDoes) {
  const auto dim = [](std::optional<int> i) { return i ? std::optional<Dim>(*i) : std::nullopt; };
  std::vector<std::optional<int>> bounds{{}};
  for (int i = -5; i <= 5; ++i) bounds.emplace_back(i);
  for (const std::int64_t n : {0, 1, 4}) {
    for (const auto& start : bounds) {
      for (const auto& stop : bounds) {
        for (const int step : {-7, -2, -1, 1, 2, 7}) {
          const RefTensor y = run_on(counted({n}), f64, {n}, [&](auto& x) {
            return index(x, {slice(dim(start), dim(stop), step)});
          });
          EXPECT_EQ(y.data, python_slice(n, start, stop, step))
              << n << " " << start.value_or(99) << " " << stop.value_or(99) << " " << step;
        }
      }
    }
  }
}

TEST(Indexing, AcceptsSymbolicSizes) {
  const RefTensor x = counted({4, 2});
  const auto at = [&](const std::vector<IndexItem>& items) {
    return run_on(x, f64, {batch, 2}, [&](auto& v) { return index(v, items); });
  };
  EXPECT_THAT(at({-1}).data, ElementsAre(6, 7));
  EXPECT_THAT(at({1, 1}).data, ElementsAre(3));
  EXPECT_THAT(at({ellipsis, 0}).data, ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(at({slice({}, {}, -1), 1}).data, ElementsAre(7, 5, 3, 1));
  EXPECT_THAT(at({slice(0, batch), newaxis, 1}).shape, ElementsAre(4, 1));
  EXPECT_THAT(at({}).shape, ElementsAre(4, 2));
  const RefTensor rolled =
      run_on(x, f64, {batch, 2}, [](auto& v) { return index(roll(v, -5, 0), {ellipsis, 0}); });
  EXPECT_THAT(rolled.data, ElementsAre(2, 4, 6, 0));
  EXPECT_THAT(run_on(counted({3, 3}), f64, {batch, batch}, [](auto& v) { return trace(v); }).data,
              ElementsAre(12));
  EXPECT_THAT(run_on(counted({3, 3}), f64, {batch, batch}, [](auto& v) { return tril(v); }).data,
              ElementsAre(0, 0, 0, 3, 4, 0, 6, 7, 8));
  Program program;
  const Value v = program.input("v", f32, {batch, 6});
  EXPECT_EQ(reshape(v, {-1, 3}).shape(), Shape({batch * 2, 3}));
  EXPECT_EQ(reshape(v, {batch, -1, 2}).shape(), Shape({batch, 3, 2}));
}

TEST(Indexing, AcceptsOtherDtypesAndNoElements) {
  EXPECT_THAT(run_on(counted({2, 2}), i64, {2, 2}, [](auto& v) { return triu(v, 1); }).data,
              ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(
      run_on(tensor({2, 2}, {1, 1, 1, 1}), DType::boolean, {2, 2}, [](auto& v) { return tril(v); })
          .data,
      ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(run_on(tensor({2}, {NAN, 2}), f64, {2}, [](auto& v) { return diag(v); }).data,
              ElementsAre(::testing::NanSensitiveDoubleEq(NAN), 0, 0, 2));
  EXPECT_THAT(run_on(counted({0}), f64, {0}, [](auto& v) { return roll(v, 3); }).data, IsEmpty());
  EXPECT_THAT(run_on(counted({2}), f64, {2}, [](auto& v) { return repeat_interleave(v, 0); }).data,
              IsEmpty());
  EXPECT_THAT(run_on(counted({3, 0}), f64, {3, 0}, [](auto& v) { return diagonal(v); }).data,
              IsEmpty());
  EXPECT_THAT(run_on(counted({}), f64, {}, [](auto& v) { return broadcast_to(v, {2, 1}); }).data,
              ElementsAre(0, 0));
}

TEST(Indexing, MakesMatricesAndRanges) {
  EXPECT_THAT(made([](auto& p) { return eye(p, 2, 3); }).data, ElementsAre(1, 0, 0, 0, 1, 0));
  EXPECT_THAT(made([](auto& p) { return arange(p, 3); }).data, ElementsAre(0, 1, 2));
  EXPECT_THAT(made([](auto& p) { return arange(p, 1.0, 2.0, 0.25, f64); }).data,
              ElementsAre(1, 1.25, 1.5, 1.75));
  EXPECT_THAT(made([](auto& p) { return arange(p, 3.0, 0.0, -2.0); }).data, ElementsAre(3, 1));
  EXPECT_THAT(made([](auto& p) { return arange(p, 1.0, 1.0); }).data, IsEmpty());
  EXPECT_THAT(made([](auto& p) { return linspace(p, -1, 2, 4, f64); }).data,
              ElementsAre(-1, 0, 1, 2));
  EXPECT_THAT(made([](auto& p) { return linspace(p, 0.1, 0.7, 1, f64); }).data, ElementsAre(0.1));
  EXPECT_THAT(made([](auto& p) { return linspace(p, 0, 1, 0); }).data, IsEmpty());
  const RefTensor tenths = made([](auto& p) { return linspace(p, 0.1, 0.7, 7, f64); });
  EXPECT_EQ(tenths.data.front(), 0.1);
  EXPECT_EQ(tenths.data.back(), 0.7);
  const RefTensor huge = made([](auto& p) { return linspace(p, -0x1.8p1023, 0x1.8p1023, 3, f64); });
  EXPECT_THAT(huge.data, ElementsAre(-0x1.8p1023, 0, 0x1.8p1023));
}

TEST(Indexing, RejectsInvalidArguments) {
  expect_rejected({2, 3}, [](auto& x) { index(x, {2}); }, "index 2 is outside of axis 0");
  expect_rejected({2, 3}, [](auto& x) { index(x, {0, -4}); }, "index -4 is outside");
  expect_rejected({2, 3}, [](auto& x) { index(x, {0, 0, 0}); }, "3 items for 2 axes");
  expect_rejected({2}, [](auto& x) { index(x, {ellipsis, ellipsis}); }, "more than one ellipsis");
  expect_rejected({2}, [](auto& x) { index(x, {slice(0, 1, 0)}); }, "the step of a range is 0");
  expect_rejected({2}, [](auto& x) { index(x, {x}); }, "indices must be integers");
  expect_rejected({2, 2}, [](auto& x) { index(x, {x, x}); }, "more than one item is a Value", i64);
  expect_rejected({2}, [](auto& x) { index(x, {Value()}); }, "an item is an empty Value");
  expect_rejected({batch}, [](auto& x) { index(x, {slice(3, 1, -1)}); }, "negative step");
  expect_rejected({batch}, [](auto& x) { index(x, {slice(1)}); }, "not inside the axis");
  expect_rejected({2}, [](auto& x) { roll(x, 1, 1); }, "there is no axis 1");
  expect_rejected({2}, [](auto& x) { repeat_interleave(x, -1); }, "must not be negative");
  expect_rejected({2}, [](auto& x) { broadcast_to(x, {3}); }, "cannot broadcast to [3]");
  expect_rejected({2}, [](auto& x) { broadcast_to(x, {-1, 2}); }, "cannot broadcast");
  expect_rejected({2}, [](auto& x) { tril(x); }, "must be a matrix");
  expect_rejected({batch, 2}, [](auto& x) { diagonal(x); }, "must be square");
  expect_rejected({2, 2, 2}, [](auto& x) { diag(x); }, "a vector or a matrix");
  expect_rejected({batch, 3}, [](auto& x) { reshape(x, {2, -1}); }, "not a multiple of 2");
  expect_rejected({4}, [](auto& x) { reshape(x, {-1, -1}); }, "more than one size");
  expect_rejected({0}, [](auto& x) { reshape(x, {0, -1}); }, "is not known");
  expect_rejected({4}, [](auto& x) { mse(x, unsqueeze(x, 0)); }, "differ");
  Program program;
  EXPECT_THAT(refusal([&] { arange(program, 0.0, 1.0, 0.0); }), HasSubstr("is not finite"));
  EXPECT_THAT(refusal([&] { arange(program, 0.0, NAN); }), HasSubstr("is not finite"));
  EXPECT_THAT(refusal([&] { linspace(program, 0, 1, -1); }), HasSubstr("must not be negative"));
}

}  // namespace
}  // namespace trireme::nn
