// Tests of the catalog as a whole and of errors of the type rules. The conformance suite tests
// values.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <tuple>

#include "ops/common.h"
#include "ops/reference.h"

namespace trireme::ops {
namespace {

using ::testing::HasSubstr;

TEST(Catalog, FindsEveryOpByItsName) {
  for (const std::string& name : catalog().names()) {
    ASSERT_NE(catalog().find(name), nullptr) << name;
    EXPECT_EQ(catalog().find(name)->name, name);
  }
  EXPECT_EQ(catalog().find("tan_of"), nullptr);
  EXPECT_EQ(catalog().find(""), nullptr);
  EXPECT_EQ(catalog().find("zzz"), nullptr);
}

TEST(Catalog, EveryOpIsComplete) {
  for (const std::string& name : catalog().names()) {
    const Op& op = *catalog().find(name);
    EXPECT_FALSE(op.doc.empty()) << name;
    EXPECT_TRUE(op.type) << name;
    // session/control_test.cc tests ops with blocks, and transforms differentiates them.
    if (op.variadic_results) {
      EXPECT_FALSE(op.no_torch_reason.empty()) << name;
      continue;
    }
    EXPECT_TRUE(op.reference) << name;
    EXPECT_FALSE(op.samples.empty()) << name;
    EXPECT_NE(op.torch_reference.empty(), op.no_torch_reason.empty()) << name;
    const bool computed = op.lower || !op.library_kernel.empty() || op.has(Trait::reduction) ||
                          (op.contraction && op.has(Trait::contraction));
    EXPECT_TRUE(computed || name == "when_training") << name;
    // An op has a gradient, is marked as not differentiable, or says why it has no rule.
    const bool has_gradient_rule =
        op.gradient || op.has(Trait::not_differentiable) || op.operands.empty();
    EXPECT_TRUE(has_gradient_rule || !op.no_gradient_reason.empty()) << name;
  }
}

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

class TypeRules : public ::testing::Test {
 protected:
  Program program;
  Value f = program.input("f", f32, {batch, 3});
  Value d = program.input("d", f64, {batch, 3});
  Value i = program.input("i", i64, {batch, 3});
};

TEST_F(TypeRules, FloatFunctionsRejectIntegers) {
  EXPECT_THAT(message_of([&] { tanh(i); }), HasSubstr("floating-point"));
}

TEST_F(TypeRules, RejectDifferentDtypes) {
  EXPECT_THAT(message_of([&] { f + d; }), HasSubstr("f32[batch, 3] and f64[batch, 3]"));
}

TEST_F(TypeRules, RejectConditionsThatAreNotBoolean) {
  EXPECT_THAT(message_of([&] { trireme::where(f, f, f); }), HasSubstr("must be boolean"));
}

TEST_F(TypeRules, RejectProbabilitiesOutOfRange) {
  EXPECT_THAT(message_of([&] {
                random_bernoulli(program, {.shape = {3}, .probability = 1.5, .stream = 1});
              }),
              HasSubstr("must be in [0, 1]"));
}

TEST_F(TypeRules, RejectDistributionsThatDoNotExist) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto uniform = [&](double low, double high, DType dtype) {
    return message_of([&] {
      random_uniform(program,
                     {.shape = {3}, .stream = 1, .low = low, .high = high, .dtype = dtype});
    });
  };
  EXPECT_EQ(uniform(2, 2, f32), "no error");
  EXPECT_EQ(uniform(-1e38, 2e38, f32), "no error");
  EXPECT_EQ(uniform(-3e38, 3e38, f64), "no error");
  for (const auto& [low, high, dtype] :
       {std::tuple(1.0, 0.0, f32), std::tuple(-3e38, 3e38, f32), std::tuple(-1.5e308, 1.5e308, f64),
        std::tuple(kNan, 1.0, f32), std::tuple(0.0, kNan, f64), std::tuple(0.0, 1e39, f32)}) {
    EXPECT_THAT(uniform(low, high, dtype), HasSubstr("low must not be above high")) << low;
  }
  const auto normal = [&](double mean, double stddev) {
    return message_of([&] {
      random_normal(program, {.shape = {3}, .stream = 1, .mean = mean, .stddev = stddev});
    });
  };
  EXPECT_EQ(normal(-1, 0), "no error");
  EXPECT_THAT(normal(0, -1), HasSubstr("stddev must not be negative"));
  EXPECT_THAT(normal(kNan, 1), HasSubstr("must be finite"));
}

TEST_F(TypeRules, RejectInvalidAxes) {
  EXPECT_THAT(message_of([&] { dim_size(f, {.axes = {2}}); }), HasSubstr("axis 2"));
  EXPECT_THAT(message_of([&] { dim_size(f, {.axes = {0, -2}}); }), HasSubstr("given twice"));
}

// Numbers whose products would overflow.
TEST_F(TypeRules, RejectHugeWindows) {
  constexpr std::int64_t kHuge = 9223372036854774808;
  const Value x = program.input("x", f32, {batch, 1, 8, 8});
  const Value w = program.parameter("kernel", f32, {1, 1, 3, 3});
  const auto refused = [&](const Conv2dAttrs& attributes) {
    return message_of([&] { conv2d(x, w, attributes); });
  };
  EXPECT_THAT(refused({.dilation = {1, kHuge}}), HasSubstr("at most 2147483647"));
  EXPECT_THAT(refused({.stride = {kHuge, 1}}), HasSubstr("at most 2147483647"));
  EXPECT_THAT(refused({.padding = {kHuge, kHuge, 0, 0}}), HasSubstr("at most 2147483647"));
  EXPECT_THAT(refused({.dilation = {2147483647, 1}}), HasSubstr("does not fit"));
  EXPECT_THAT(message_of([&] { max_pool(x, {.kernel = {kHuge, 1}, .stride = {1, 1}}); }),
              HasSubstr("at most 2147483647"));
  EXPECT_THAT(message_of([&] {
                max_pool(x, {.kernel = {20000, 20000},
                             .stride = {1, 1},
                             .padding = {19999, 19999, 19999, 19999}});
              }),
              HasSubstr("more than 16384 places"));
}

TEST_F(TypeRules, SliceWithAHugeStride) {
  const Value x = program.input("x", f32, {10});
  const Value y =
      slice(x, {.starts = {Dim(2)}, .limits = {Dim(9)}, .strides = {9223372036854775807}});
  EXPECT_EQ(y.shape(), Shape{1});
}

TEST_F(TypeRules, RejectAssignedValuesOfAnotherType) {
  const Value w = program.parameter("w", f32, {3});
  EXPECT_THAT(message_of([&] { assign(w, f); }), HasSubstr("f32[batch, 3]"));
}

RefTensor tensor(std::vector<std::int64_t> shape, std::vector<double> data) {
  RefTensor result(std::move(shape));
  result.data = std::move(data);
  return result;
}

TEST(Evaluate, AssignsInOrder) {
  Program program;
  const Value w = program.parameter("w", f32, {2});
  const Value before = w * 1.0;
  assign(w, before + 1.0);
  const Value after = w * 10.0;
  RefTensors parameters{{"w", tensor({2}, {1, 2})}};
  const auto values = evaluate(program.ir(), {}, parameters, {before.get(), after.get(), w.get()});
  EXPECT_EQ(values[0].data, (std::vector<double>{1, 2}));
  EXPECT_EQ(values[1].data, (std::vector<double>{20, 30}));
  EXPECT_EQ(values[2].data, (std::vector<double>{2, 3}));
  EXPECT_EQ(parameters["w"].data, (std::vector<double>{2, 3}));
}

TEST(Evaluate, SelectsOneOperandOfWhenTraining) {
  Program program;
  const Value x = program.input("x", f32, {batch});
  const Value y = when_training(x * 2.0, x * 3.0);
  const RefTensors inputs{{"x", tensor({2}, {1, 2})}};
  RefTensors none;
  EXPECT_EQ(evaluate(program.ir(), inputs, none, {y.get()}, {.training = true})[0].data,
            (std::vector<double>{2, 4}));
  EXPECT_EQ(evaluate(program.ir(), inputs, none, {y.get()}, {.training = false})[0].data,
            (std::vector<double>{3, 6}));
}

TEST(Evaluate, RejectsMissingInputsAndWrongShapes) {
  Program program;
  const Value x = program.input("x", f32, {batch, 2});
  const Value y = tanh(x);
  RefTensors none;
  EXPECT_THAT(message_of([&] { evaluate(program.ir(), {}, none, {y.get()}); }), HasSubstr("x"));
  const RefTensors wrong{{"x", tensor({2, 1}, {1, 2})}};
  EXPECT_THAT(message_of([&] { evaluate(program.ir(), wrong, none, {y.get()}); }),
              HasSubstr("f32[batch, 2]"));
}

}  // namespace
}  // namespace trireme::ops
