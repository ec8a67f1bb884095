#include "trireme/array.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <thread>

#include "trireme/control.h"
#include "trireme/error.h"
#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme {
namespace {

Array floats(const std::vector<float>& values) {
  return Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values);
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Arrays, ComputeWhenAnElementIsNeeded) {
  const Array x = floats({1, 2, 3});
  const Array y = x * 2.0 + 1.0;
  EXPECT_FALSE(y.is_computed());
  EXPECT_EQ(y.dtype(), f32);
  EXPECT_EQ(y.shape(), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{3, 5, 7}));
  EXPECT_TRUE(y.is_computed());
  std::ostringstream text;
  text << y;
  EXPECT_EQ(text.str(), y.tensor().str());
}

TEST(Arrays, OneRunComputesAllThatExist) {
  const Array x = floats({1, 2});
  const Array a = x + 1.0, b = a * a;
  {
    const Array gone = exp(b);
  }
  const auto before = array_statistics();
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{2, 3}));
  EXPECT_TRUE(b.is_computed());
  EXPECT_EQ(array_statistics().runs, before.runs + 1);
  // Computed Arrays are inputs of the next recording.
  const Array c = a + b;
  EXPECT_EQ(c.to_vector<float>(), (std::vector<float>{6, 12}));
}

TEST(Arrays, AChainOfOpsIsOneKernel) {
  Array x = Tensor::from<float>({4}, {0.1f, 0.2f, 0.3f, 0.4f});
  Array y = x;
  for (int i = 0; i < 6; ++i) y = sin(y) * 1.5;
  y.eval();
  EXPECT_EQ(array_statistics().kernels, 1);
  for (int i = 0; i < 4; ++i) {
    double expected = static_cast<double>(x.to_vector<float>()[static_cast<std::size_t>(i)]);
    for (int k = 0; k < 6; ++k) expected = std::sin(expected) * 1.5;
    EXPECT_NEAR(y.to_vector<float>()[static_cast<std::size_t>(i)], expected, 1e-6);
  }
}

TEST(Arrays, ALoopCompilesItsBodyOnce) {
  Array x = floats({1, 2, 3, 4});
  const auto before = array_statistics();
  double expected = 10;
  for (int i = 0; i < 50; ++i) {
    x = x * 0.5 + 1.0;
    const Array total = sum(x);
    expected = expected * 0.5 + 4;
    EXPECT_NEAR(total.item<float>(), expected, 1e-5);
  }
  EXPECT_EQ(array_statistics().compiled, before.compiled + 1);
}

// A number that changes is compiled in once, and is an input from then on.
TEST(Arrays, NumbersThatChangeDoNotCompileAgain) {
  const Array x = Tensor::from<double>({2}, {1, 2});
  const auto before = array_statistics();
  for (int i = 0; i < 20; ++i) {
    const Array y = (x + 1.0) * static_cast<double>(i) - 7.0;
    EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{2.0 * i - 7, 3.0 * i - 7}));
  }
  EXPECT_EQ(array_statistics().compiled, before.compiled + 2);
  const auto later = array_statistics();
  for (int i = 0; i < 5; ++i) {
    const Array y = (x + 1.0) * static_cast<double>(i) - static_cast<double>(i);
    EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{2.0 * i - i, 3.0 * i - i}));
  }
  EXPECT_EQ(array_statistics().compiled, later.compiled + 1);
  // NaN, infinities and -0 are numbers, too.
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double number : {infinity, -infinity, -0.0}) {
    const Array y = (x + 1.0) * number - 0.0;
    EXPECT_EQ(y.to_vector<double>()[0], 2 * number);
  }
  const Array y = (x + 1.0) * std::nan("") - 0.0;
  EXPECT_TRUE(std::isnan(y.to_vector<double>()[0]));
}

// Nothing is read, and the recording does not grow without an end.
TEST(Arrays, ALoopThatReadsNothingIsRunInEqualParts) {
  Array x = floats({1, 2});
  const auto before = array_statistics();
  for (int i = 0; i < 2000; ++i) x = sqrt(x * x + 0.0);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_GT(array_statistics().runs, before.runs + 5);
  EXPECT_LE(array_statistics().compiled, before.compiled + 4);
}

TEST(Arrays, OfNoElementsAndOfOne) {
  EXPECT_EQ(Array().shape(), (std::vector<std::int64_t>{0}));
  const Array empty = Tensor(f32, {0, 3});
  const Array more = exp(empty) + 1.0;
  EXPECT_EQ(more.shape(), (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(more.tensor().elements(), 0);
  EXPECT_EQ(Array(sum(empty)).item<float>(), 0);
  const Array one = Tensor::scalar<float>(2);
  EXPECT_EQ(one.rank(), 0);
  EXPECT_EQ(Array(one * one).item<float>(), 4);
}

TEST(Arrays, AssignInPlace) {
  Array x = floats({1, 2});
  x += 1.0;
  x *= x;
  x -= floats({1, 1});
  x /= 2.0;
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1.5, 4}));
}

TEST(Arrays, RandomNumbersDifferFromRunToRun) {
  const auto draw = [] { return Array(random_normal(array_program(), {.shape = {8}})).eval(); };
  set_array_seed(7);
  const Array a = draw(), b = draw();
  EXPECT_FALSE(equal(a.tensor(), b.tensor()));
  set_array_seed(7);
  EXPECT_TRUE(equal(a.tensor(), draw().tensor()));
}

TEST(Arrays, SayWhatIsWrong) {
  const Array a = floats({1, 2}), b = floats({1, 2, 3});
  EXPECT_NE(message_of([&] { Array c = a + b; }).find("array_test.cc"), std::string::npos);
  EXPECT_NE(message_of([&] {
              nn::linear(Array(Tensor(f32, {2, 3})), {.units = 4});
            }).find("needs a Program"),
            std::string::npos);
  Program program;
  const Value x = program.input("x", f32, {2});
  EXPECT_NE(message_of([&] { Array c = x; }).find("a Session computes it"), std::string::npos);
  EXPECT_NE(message_of([&] { Array c = a + x; }).find("another Program"), std::string::npos);
  EXPECT_NE(message_of([&] { Array c = Value(); }).find("empty"), std::string::npos);
  const Value value = a + 1.0;
  eval_all();
  EXPECT_EQ(Array(value).to_vector<float>(), (std::vector<float>{2, 3}));
}

TEST(Arrays, WhatCannotBeComputedStaysAnError) {
  const Array index = Tensor::from<std::int64_t>({1}, {5});
  const Array bad = check_indices(index, {.size = 3});
  const Array good = index + 1.0;
  const std::string message = message_of([&] { bad.eval(); });
  EXPECT_NE(message.find("5"), std::string::npos) << message;
  EXPECT_EQ(message_of([&] { bad.eval(); }), message);
  EXPECT_EQ(message_of([&] { Array c = bad + 1.0; }), message);
  EXPECT_TRUE(good.is_computed());
  EXPECT_EQ(good.item<std::int64_t>(), 6);
}

TEST(Arrays, AKeptRecordingKeepsItsValues) {
  const Array x = floats({1, 2});
  const KeepRecording kept;
  const Value y = x + 1.0;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Array(y * x).to_vector<float>()[1], 6);
  EXPECT_EQ(Array(y).to_vector<float>()[1], 3);
}

TEST(Arrays, OfAnotherThread) {
  const Array x = floats({1, 2});
  const Array computed = Array(x + 1.0).eval();
  const Array pending = x + 2.0;
  std::string message;
  std::vector<float> found;
  std::thread([&] {
    message = message_of([&] { pending.eval(); });
    found = Array(computed * 2.0).to_vector<float>();
  }).join();
  EXPECT_NE(message.find("another thread"), std::string::npos);
  EXPECT_EQ(found, (std::vector<float>{4, 6}));
  EXPECT_EQ(pending.to_vector<float>(), (std::vector<float>{3, 4}));
}

TEST(ArrayGradients, OfSeveralArguments) {
  const Array x = floats({1, 2}), w = floats({3, 4});
  const auto [loss, gradients] =
      value_and_grad([](const Array& a, const Array& b) { return sum(a * b * b); })(x, w);
  EXPECT_EQ(loss.item<float>(), 9 + 32);
  EXPECT_EQ(gradients[0].to_vector<float>(), (std::vector<float>{9, 16}));
  EXPECT_EQ(gradients[1].to_vector<float>(), (std::vector<float>{6, 16}));
}

TEST(ArrayGradients, OfGradients) {
  const auto cube = [](const Array& x) { return sum(x * x * x); };
  const Array x = floats({2, 3});
  const auto first = [&](const Array& y) { return sum(grad(cube)(y)); };
  EXPECT_EQ(grad(first)(x).to_vector<float>(), (std::vector<float>{12, 18}));
  // What a function uses besides its argument is constant, even if it is the same Array.
  const Array one = Tensor::scalar<float>(3);
  const auto outer = [](const Array& a) {
    return Array(a * grad([&](const Array& b) { return a * b; })(a));
  };
  EXPECT_EQ(grad(outer)(one).item<float>(), 6);  // d(a * a), not d(a * 2a)
}

TEST(ArrayGradients, OfBranchesOfCpp) {
  int reads = 0;
  const auto f = [&](const Array& x) {
    Array y = sum(x);
    ++reads;
    if (y.item<float>() > 0) y = y * 3.0;
    while (y.item<float>() < 100) y = y * 2.0;
    return y;
  };
  EXPECT_EQ(grad(f)(floats({1, 1})).to_vector<float>(), (std::vector<float>{96, 96}));
  EXPECT_EQ(reads, 1);
}

TEST(ArrayGradients, OfPendingArraysAndOfNothing) {
  const Array x = floats({1, 2}) + 1.0;
  EXPECT_EQ(grad([](const Array& y) { return sum(y * y); })(x).to_vector<float>(),
            (std::vector<float>{4, 6}));
  const Array constant = floats({5});
  EXPECT_EQ(grad([&](const Array&) { return sum(constant); })(x).to_vector<float>(),
            (std::vector<float>{0, 0}));
  EXPECT_NE(message_of([&] { grad([](const Array& y) { return y; })(x); }).find("scalar"),
            std::string::npos);
}

TEST(ArrayGradients, ATrainingLoopCompilesOnce) {
  const Array x = Tensor::from<float>({4, 2}, {1, 0, 0, 1, 1, 1, 1, -1});
  const Array y = Tensor::from<float>({4, 1}, {1, 2, 3, -1});  // x * (1, 2)
  Array w = Tensor(f32, {2, 1});
  const auto before = array_statistics();
  for (int step = 0; step < 100; ++step) {
    const auto [loss, gradient] = value_and_grad([&](const Array& now) {
      const Array error = matmul(x, now) - y;
      return mean(error * error);
    })(w);
    w -= gradient[0] * 0.3;
  }
  EXPECT_NEAR(w.to_vector<float>()[0], 1, 1e-3);
  EXPECT_NEAR(w.to_vector<float>()[1], 2, 1e-3);
  EXPECT_LE(array_statistics().compiled, before.compiled + 3);  // first, middle and last
}

TEST(Jits, RecordOncePerShape) {
  int calls = 0;
  auto f = jit([&](const Array& x, const Array& y) {
    ++calls;
    return exp(x) * y;
  });
  const Array two = floats({1, 2});
  for (int i = 0; i < 5; ++i) {
    const Array number = Tensor::scalar<float>(static_cast<float>(i));
    EXPECT_FLOAT_EQ(f(two, number).to_vector<float>()[1], std::exp(2.0f) * static_cast<float>(i));
  }
  EXPECT_EQ(calls, 1);
  EXPECT_FLOAT_EQ(f(floats({3}), two).to_vector<float>()[0], std::exp(3.0f));
  EXPECT_EQ(calls, 2);
}

TEST(Jits, OfGradientsAndInsideOfGradients) {
  const auto cube = [](const Array& x) { return sum(x * x * x); };
  auto slope = jit([&](const Array& x) { return grad(cube)(x); });
  EXPECT_EQ(slope(floats({1, 2})).to_vector<float>(), (std::vector<float>{3, 12}));
  auto jitted = jit(cube);
  EXPECT_EQ(grad([&](const Array& x) { return jitted(x); })(floats({1, 2})).to_vector<float>(),
            (std::vector<float>{3, 12}));
  auto outer = jit([&](const Array& x) { return Array(jitted(x) + 1.0); });
  EXPECT_EQ(outer(floats({1, 2})).item<float>(), 10);
}

TEST(Jits, KeepWhatTheyUsed) {
  const Array captured = floats({1, 2}) + 1.0;  // pending
  auto f = jit([&](const Array& x) { return x + captured; });
  EXPECT_EQ(f(floats({1, 1})).to_vector<float>(), (std::vector<float>{3, 4}));
  auto same =
      Jit([&](const std::vector<Array>& x) { return std::vector<Array>{x[0], x[0], x[0]}; });
  const std::vector<Array> results = same({floats({4})});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[2].item<float>(), 4);
}

TEST(Jits, WithoutArgumentsAndWithoutElements) {
  Jit nothing([](const std::vector<Array>&) { return std::vector<Array>(); });
  EXPECT_TRUE(nothing({}).empty());
  auto f = jit([](const Array& x) { return x * 2.0; });
  EXPECT_EQ(f(Tensor(f32, {0, 2})).shape(), (std::vector<std::int64_t>{0, 2}));
}

TEST(Arrays, OfFunctionsOfControlFlow) {
  Array inside;
  const Array x = floats({1, 2});
  const Array y = cond(
      sum(x) > 0.0,
      [&] {
        inside = x * 2.0;
        EXPECT_NE(message_of([&] { inside.eval(); }).find("control flow"), std::string::npos);
        return inside.value();
      },
      [&] { return Value(x); });
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_NE(message_of([&] { inside.eval(); }).find("control flow"), std::string::npos);
}

TEST(Jits, RefuseToReadElements) {
  Array leaked;
  auto f = jit([&](const Array& x) {
    leaked = x * 2.0;
    return leaked.item<float>() > 0 ? x : Array(x + 1.0);
  });
  EXPECT_NE(message_of([&] { f(Tensor::scalar<float>(1)); }).find("jit() records"),
            std::string::npos);
  EXPECT_NE(message_of([&] { leaked.eval(); }).find("only recorded"), std::string::npos);
  EXPECT_EQ(Array(floats({1}) + 1.0).item<float>(), 2);  // the thread goes on
}

TEST(Jits, RandomNumbersDifferFromCallToCall) {
  auto f = jit([](const Array& x) { return x + random_uniform(array_program(), {.shape = {4}}); });
  EXPECT_FALSE(equal(f(Tensor(f32, {4})).tensor(), f(Tensor(f32, {4})).tensor()));
}

}  // namespace
}  // namespace trireme
