// Tests of row-sparse gradients (when they are used, and that they equal the dense gradients), of
// parameters that are assigned, and of values that depend on the mode. The conformance suite tests
// the gradients of all ops.

#include "transforms/autodiff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/testing/error.h"
#include "ops/reference.h"
#include "transforms/specialise.h"
#include "trireme/ops.h"

namespace trireme::transforms {
namespace {

constexpr std::int64_t kRows = 6, kWidth = 2;

ops::RefTensor filled(std::vector<std::int64_t> shape, std::vector<double> data) {
  ops::RefTensor tensor(std::move(shape));
  tensor.data = std::move(data);
  return tensor;
}

// A table that is gathered with ids a [2, 2] and b [3].
struct Lookups {
  Program program;
  Value table = program.parameter("table", f64, {kRows, kWidth});
  Value a = program.input("a", i64, {2, 2}), b = program.input("b", i32, {3});

  Value look_up(const Value& ids, bool sparse = true) {
    return gather(table, ids, {.sparse_gradient = sparse});
  }
  Gradient gradient_of(const Value& loss) {
    return gradients_by_rows(loss.get(), {table.get()})[0];
  }
  std::vector<double> value(ir::Value* wanted) {
    const ops::RefTensors inputs = {{"a", filled({2, 2}, {4, 1, 1, 0})},
                                    {"b", filled({3}, {1, 5, 4})}};
    ops::RefTensors parameters;
    parameters["table"] = filled({kRows, kWidth}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    return ops::evaluate(program.ir(), inputs, parameters, {wanted})[0].data;
  }
  // Expects the sparse gradient to equal the dense gradient of the same loss.
  void expect_equals_dense(const Value& loss) {
    const Gradient sparse = gradient_of(loss);
    ASSERT_NE(sparse.rows, nullptr);
    const Value dense(gradients(loss.get(), {table.get()})[0]);
    const Value scattered =
        scatter_add(Value(sparse.rows), Value(sparse.values), {.rows = {kRows}});
    EXPECT_EQ(value(scattered.get()), value(dense.get()));
  }
};

TEST(RowSparseGradients, HoldTheGatheredRows) {
  Lookups l;
  const Value x = l.look_up(l.a);
  const Gradient gradient = l.gradient_of(sum(x * x));
  ASSERT_NE(gradient.rows, nullptr);
  EXPECT_EQ(l.value(gradient.rows), (std::vector<double>{4, 1, 1, 0}));
  EXPECT_EQ(l.value(gradient.values), (std::vector<double>{18, 20, 6, 8, 6, 8, 2, 4}));
  EXPECT_EQ(gradient.rows->type.str(), "i64[4]");
  EXPECT_EQ(gradient.values->type.str(), "f64[4, 2]");
  for (const auto& op : l.program.ir().main().ops) EXPECT_NE(op->name(), "scatter_add");
}

TEST(RowSparseGradients, ConcatenateSeveralLookups) {
  Lookups l;
  const Value x = l.look_up(l.a), y = l.look_up(l.b);
  const Value loss = sum(x * x) + sum(exp(y * 0.1));
  EXPECT_EQ(l.gradient_of(loss).rows->type.str(), "i64[7]");
  l.expect_equals_dense(loss);
}

TEST(RowSparseGradients, OfASingleIdHaveOneRow) {
  Lookups l;
  const Value id = l.program.parameter("id", i64, {}, {.trainable = false});
  const Gradient gradient = l.gradient_of(sum(l.look_up(id)));
  EXPECT_EQ(gradient.values->type.str(), "f64[1, 2]");
}

TEST(RowSparseGradients, BecomeDenseIfTheParameterHasOtherUses) {
  for (const bool by_gather : {false, true}) {
    Lookups l;
    const Value x = l.look_up(l.a);
    const Value other = by_gather ? l.look_up(l.b, false) : l.table;
    const Value loss = sum(x * x) + sum(other * other);
    const Gradient gradient = l.gradient_of(loss);
    EXPECT_EQ(gradient.rows, nullptr);
    EXPECT_EQ(gradient.values->type, l.table.get()->type);
    EXPECT_EQ(l.value(gradient.values), l.value(gradients(loss.get(), {l.table.get()})[0]));
  }
}

TEST(RowSparseGradients, IgnoreNegativeRowsInBothForms) {
  Lookups l;
  const Value masked_ids = trireme::where(equal(l.a, 1.0), -1.0, l.a);  // 4, -1, -1, 0
  const Value x = l.look_up(masked_ids);
  const std::vector<double> dense = l.value(gradients(sum(x * x).get(), {l.table.get()})[0]);
  EXPECT_EQ(dense, (std::vector<double>{2, 4, 0, 0, 0, 0, 0, 0, 18, 20, 0, 0}));
  const Gradient both = l.gradient_of(sum(x * x) + sum(l.table));
  EXPECT_EQ(both.rows, nullptr);
  EXPECT_EQ(l.value(both.values), (std::vector<double>{3, 5, 1, 1, 1, 1, 1, 1, 19, 21, 1, 1}));
}

TEST(RowSparseGradients, ApplyToParametersOnly) {
  Lookups l;
  const Value moved = l.table * 2.0;
  const Value x = gather(moved, l.a, {.sparse_gradient = true});
  EXPECT_EQ(l.gradient_of(sum(x * x)).rows, nullptr);
}

TEST(RowSparseGradients, AreDenseZerosWithoutInfluence) {
  Lookups l;
  const Value x = l.program.parameter("x", f64, {3});
  l.look_up(l.a);
  EXPECT_EQ(l.gradient_of(sum(x)).rows, nullptr);
}

TEST(RowSparseGradients, SupportOnlyTheFirstAxis) {
  Lookups l;
  EXPECT_THROW(gather(l.table, l.a, {.axis = 1, .sparse_gradient = true}), Error);
}

// w * w needs w itself, which is another number after the assign.
TEST(GradientsOfAssignedParameters, AreRefusedIfTheyNeedTheOldValue) {
  Program program;
  const Value w = program.parameter("w", f64, {});
  const Value square = w * w, shifted = w + 3.0;
  assign(w, square);
  const std::string message =
      error_of(ErrorKind::usage, [&] { gradients(square.get(), {w.get()}); });
  EXPECT_THAT(message, ::testing::HasSubstr("needs the value of %w, which is assigned later"));
  EXPECT_THAT(message, ::testing::HasSubstr("autodiff_test.cc"));

  const Value after = w * w;  // of the new value, as is its gradient
  const Value of_shifted(gradients(shifted.get(), {w.get()})[0]);
  const Value of_after(gradients(after.get(), {w.get()})[0]);
  ops::RefTensors parameters{{"w", filled({}, {3})}};
  const auto values =
      ops::evaluate(program.ir(), {}, parameters, {of_shifted.get(), of_after.get()});
  EXPECT_EQ(values[0].data[0], 1);
  EXPECT_EQ(values[1].data[0], 18);
}

// --- when_training

void add_ops_below(const ir::Value* value, std::set<std::string>& names) {
  if (value->producer == nullptr) return;
  names.insert(value->producer->name());
  for (const ir::Value* operand : value->producer->operands) add_ops_below(operand, names);
}

// The ops that compute the gradient of `loss(w)` in one mode.
std::set<std::string> ops_of_gradient(bool training,
                                      const std::function<Value(const Value& w)>& loss) {
  Program program;
  const Value w = program.parameter("w", f64, {4});
  const Value gradient(gradients(loss(w).get(), {w.get()})[0]);
  const Value kept = gradient * 1.0;  // specialise() may remove the gradient's op
  specialise(program.ir(), training);
  std::set<std::string> names;
  add_ops_below(kept.get(), names);
  return names;
}

TEST(GradientsByMode, NeedOnlyTheOpsOfTheMode) {
  const auto loss = [](const Value& w) {
    const Value x = w * 3.0;
    return sum(when_training(tanh(x), exp(x)) * w);
  };
  EXPECT_THAT(ops_of_gradient(true, loss),
              testing::AllOf(testing::Contains("tanh"), testing::Not(testing::Contains("exp"))));
  EXPECT_THAT(ops_of_gradient(false, loss),
              testing::AllOf(testing::Contains("exp"), testing::Not(testing::Contains("tanh"))));
  // One choice inside the branch of another.
  const auto nested = [](const Value& w) {
    const Value inner = when_training(tanh(w), exp(w));
    return sum(when_training(inner * inner, sin(inner)));
  };
  EXPECT_THAT(ops_of_gradient(true, nested),
              testing::AllOf(testing::Contains("tanh"), testing::Not(testing::Contains("exp")),
                             testing::Not(testing::Contains("cos"))));
  EXPECT_THAT(ops_of_gradient(false, nested),
              testing::AllOf(testing::Contains("cos"), testing::Contains("exp"),
                             testing::Not(testing::Contains("tanh"))));
}

// What is not chosen does not count, even if it is NaN or infinite.
TEST(GradientsByMode, IgnoreTheOtherMode) {
  Program program;
  const Value w = program.parameter("w", f64, {3});
  const Value x = w * 2.0;
  const Value y = when_training(x * x, log(x)) + when_training(x, 1.0 / (x - x));
  const Value gradient(gradients(sum(y).get(), {w.get()})[0]);
  ops::RefTensors parameters;
  parameters["w"] = filled({3}, {-1, 0, 3});
  EXPECT_EQ(ops::evaluate(program.ir(), {}, parameters, {gradient.get()})[0].data,
            (std::vector<double>{-6, 2, 26}));
}

TEST(GradientsByMode, OfRowsStaySparse) {
  Lookups l;
  const Value x = l.look_up(l.a);
  const Gradient gradient = l.gradient_of(sum(when_training(x * x, exp(x))));
  ASSERT_NE(gradient.rows, nullptr);
  EXPECT_EQ(l.value(gradient.rows), (std::vector<double>{4, 1, 1, 0}));
  EXPECT_EQ(l.value(gradient.values), (std::vector<double>{18, 20, 6, 8, 6, 8, 2, 4}));
}

}  // namespace
}  // namespace trireme::transforms
