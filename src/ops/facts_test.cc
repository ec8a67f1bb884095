// Tests of the facts that ops state: that they are complete, and true.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unordered_set>

#include "base/testing/error.h"
#include "ir/program.h"
#include "ops/common.h"

namespace trireme::ops {
namespace {

using testing::HasSubstr;

Op complete_op() {
  Op op("made(x)");
  op.doc = "x.";
  op.traits = bits(Trait::elementwise);
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::neg);
  op.reference = pointwise_reference([](double x) { return -x; });
  op.gradient = [](GradientContext& c) { c.accumulate(0, -c.gradient()); };
  op.flops = [](const ir::Op&) { return Dim(1); };
  op.torch_reference = "-x[0]";
  op.samples = elementwise_samples(1);
  return op;
}

template <class Change>
std::string missing_after(Change change) {
  Op op = complete_op();
  change(op);
  return missing_fact(op);
}

TEST(Facts, NothingIsMissingInACompleteOp) { EXPECT_EQ(missing_fact(complete_op()), ""); }

TEST(Facts, AMissingFactIsNamed) {
  EXPECT_THAT(missing_after([](Op& op) { op.doc.clear(); }), HasSubstr("`doc`"));
  EXPECT_THAT(missing_after([](Op& op) { op.type = nullptr; }), HasSubstr("`type`"));
  EXPECT_THAT(missing_after([](Op& op) { op.lower = nullptr; }), HasSubstr("exactly one of"));
  EXPECT_THAT(missing_after([](Op& op) { op.flops = nullptr; }), HasSubstr("`flops`"));
  EXPECT_THAT(missing_after([](Op& op) { op.reference = nullptr; }), HasSubstr("`reference`"));
  EXPECT_THAT(missing_after([](Op& op) { op.samples.clear(); }), HasSubstr("`samples`"));
  EXPECT_THAT(missing_after([](Op& op) { op.torch_reference.clear(); }),
              HasSubstr("`torch_reference`"));
  EXPECT_THAT(missing_after([](Op& op) { op.gradient = nullptr; }), HasSubstr("`gradient`"));
}

TEST(Facts, ContradictionsAreNamed) {
  EXPECT_THAT(missing_after([](Op& op) { op.library_kernel = "gemm"; }),
              HasSubstr("Trait::library"));
  EXPECT_THAT(missing_after([](Op& op) { op.traits |= bits(Trait::reduction); }),
              HasSubstr("exactly one of"));
  EXPECT_THAT(missing_after([](Op& op) { op.traits |= bits(Trait::contraction); }),
              HasSubstr("Trait::contraction"));
  EXPECT_THAT(missing_after([](Op& op) { op.no_gradient_reason = "of a test"; }),
              HasSubstr("exactly one of `gradient`"));
  EXPECT_THAT(missing_after([](Op& op) { op.no_torch_reason = "of a test"; }), HasSubstr("either"));
}

// Collects the gradients that a rule passes.
class Recorder final : public GradientContext {
 public:
  Recorder(const ir::Op& op, Value gradient) : op_(op), gradient_(gradient) {}
  const ir::Op& op() const override { return op_; }
  Value operand(int i) const override { return Value(op_.operands[static_cast<std::size_t>(i)]); }
  Value result(int i) const override { return Value(op_.result(i)); }
  Value gradient(int) const override { return gradient_; }
  bool has_gradient(int) const override { return true; }
  bool needs_gradient(int) const override { return true; }
  void accumulate(int, Value gradient) override { given.push_back(gradient.get()); }
  void accumulate_when(bool, int, Value gradient) override { given.push_back(gradient.get()); }
  void accumulate_rows(int, Value rows, Value values) override {
    given.push_back(rows.get());
    given.push_back(values.get());
  }
  std::vector<const ir::Value*> given;

 private:
  const ir::Op& op_;
  Value gradient_;
};

// Whether one of `values` is computed from an operand of `op`, other than through `op`.
bool reads_operands(const ir::Op& op, std::vector<const ir::Value*> values) {
  std::unordered_set<const ir::Value*> seen;
  while (!values.empty()) {
    const ir::Value* value = values.back();
    values.pop_back();
    if (std::find(op.operands.begin(), op.operands.end(), value) != op.operands.end()) return true;
    if (value->producer == nullptr || value->producer == &op || !seen.insert(value).second)
      continue;
    values.insert(values.end(), value->producer->operands.begin(), value->producer->operands.end());
  }
  return false;
}

TEST(Facts, GradientsIgnoreOperandsWhereOpsSaySo) {
  int checked = 0;
  for (const std::string& name : catalog().names()) {
    const Op& def = *catalog().find(name);
    if (!def.gradient_ignores_operands) continue;
    ++checked;
    for (const Sample& sample : def.samples) {
      Program program;
      std::vector<ir::Value*> operands;
      for (const ir::Type& type : sample.operands) {
        operands.push_back(program.ir().add_input("x" + std::to_string(operands.size()), type));
      }
      const ir::Op& op =
          *program.ir().append(program.ir().main(), name, operands, sample.attributes, {});
      Recorder recorder(op, Value(program.ir().add_input("dy", op.result()->type)));
      def.gradient(recorder);
      EXPECT_FALSE(recorder.given.empty()) << name;
      EXPECT_FALSE(reads_operands(op, recorder.given)) << name;
    }
  }
  EXPECT_GE(checked, 4);
}

TEST(Facts, FlopsFollowTheDefinition) {
  Program program;
  const Value x = program.input("x", f32, {batch, 3, 8, 8});
  const Value w = program.input("w", f32, {5, 3, 3, 3});
  const auto flops = [](const Value& value) {
    return Catalog::of(*value.get()->producer).flops(*value.get()->producer).str();
  };
  EXPECT_EQ(flops(x * 2.0), (Dim(192) * batch).str());
  EXPECT_EQ(flops(sum(x, {.axes = {1, 2, 3}})), (Dim(192) * batch).str());
  EXPECT_EQ(flops(transpose(x, {.permutation = {0, 2, 3, 1}})), "0");
  // 27 products and sums for each of 5 * 6 * 6 elements.
  EXPECT_EQ(flops(conv2d(x, w)), (Dim(54 * 180) * batch).str());
  const Value a = program.input("a", f32, {batch, 7}), b = program.input("b", f32, {7, 4});
  EXPECT_EQ(flops(matmul(a, b)), (Dim(56) * batch).str());
  EXPECT_EQ(flops(cumsum(a, {.axis = 1})), (Dim(7) * batch).str());
}

TEST(InternalOps, AreRefusedInTextOfUsersAndInExpressions) {
  const std::string text = R"(program p v1
block 0 (%x : f32[8]) {
    %0 = block_sum(%x) {size = 4} : f32[2]
    return %0
}
)";
  EXPECT_EQ(ir::parse(text, catalog())->main().ops.front()->name(), "block_sum");
  EXPECT_THAT(error_of(ErrorKind::data, [&] { Program::parse(text); }),
              HasSubstr("the op 'block_sum' is internal: only the compiler makes it"));
  Program program("p");
  const Value x = program.input("x", f32, {8});
  EXPECT_THAT(
      error_of(ErrorKind::usage, [&] { emit("block_sum", {x}, {}, SourceLocation::current()); }),
      HasSubstr("block_sum: the op is internal"));
  // Not even a suggestion names one.
  EXPECT_THAT(
      error_of(ErrorKind::usage, [&] { emit("block_summ", {x}, {}, SourceLocation::current()); }),
      testing::Not(HasSubstr("block_sum'")));
}

TEST(InternalOps, AreThoseThatTransformsMake) {
  for (const std::string& name : catalog().names()) {
    const bool expected = name.starts_with("direct_") || name.starts_with("packed_") ||
                          name.starts_with("word_") || name == "block_sum" || name == "copy" ||
                          name == "pack_words" || name == "rnn_schedule" ||
                          name == "winograd_conv2d";
    EXPECT_EQ(catalog().find(name)->has(ir::Trait::internal), expected) << name;
  }
}

}  // namespace
}  // namespace trireme::ops
