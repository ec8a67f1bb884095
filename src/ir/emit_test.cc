// The public handles Value and Program: operators, numbers, broadcasting, scopes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/program.h"
#include "ir/test_ops.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

class EmitTest : public testing::Test {
 protected:
  std::vector<std::string> ops() const {
    std::vector<std::string> names;
    for (const auto& op : program_.ir().main().ops) names.push_back(op->name());
    return names;
  }
  std::string message_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }
  ir::TestOps ops_;
  Program program_{std::make_unique<ir::Program>("test", ops_)};
};

TEST_F(EmitTest, OperatorsAppendOps) {
  const Value a = program_.input("a", f32, {batch, 3});
  const Value b = program_.input("b", f32, {batch, 3});
  for (const Value& value : {a + b, a - b, a * b, a / b, -a, a < b, a <= b}) {
    EXPECT_NE(value.get()->producer, nullptr);
  }
  EXPECT_THAT(ops(), testing::ElementsAre("add", "sub", "mul", "div", "neg", "less", "less_equal"));
  const Value greater = a > b;
  EXPECT_EQ(greater.dtype(), boolean);
  const ir::Op* op = greater.get()->producer;
  EXPECT_EQ(op->name(), "less");
  EXPECT_EQ(op->operands[0], b.get());
  EXPECT_EQ((a >= b).get()->producer->operands[0], b.get());
}

TEST_F(EmitTest, RecordsTheCallersLine) {
  const Value a = program_.input("a", f32, {});
  const auto scope = program_.scope("layer_0");
  const auto line = std::to_string(SourceLocation::current().line() + 1);
  const Value sum = a + 1;
  EXPECT_EQ(sum.get()->producer->location.str(), "emit_test.cc:" + line + " layer_0");
}

TEST_F(EmitTest, NumbersTakeTheDtypeOfTheValue) {
  const Value x = program_.input("x", f64, {});
  const Value n = program_.input("n", i64, {});
  const Value flag = program_.input("flag", boolean, {});
  const ir::Op& half = *(0.5 * x).get()->producer->operands[0]->producer;
  EXPECT_EQ(half.name(), "constant");
  EXPECT_EQ(get_attribute<DType>(half.attributes, "dtype"), f64);
  EXPECT_EQ(get_attribute<double>(half.attributes, "value"), 0.5);
  EXPECT_EQ((n + 2).dtype(), i64);
  EXPECT_EQ(emit("where", {flag, x, 0.0}, {}, SourceLocation::current())[0].dtype(), f64);
  EXPECT_THAT(message_of([&] { n + 0.5; }), HasSubstr("0.5 does not fit i64"));
  EXPECT_THAT(message_of([&] { n * 1e30; }), HasSubstr("does not fit i64"));
  EXPECT_THAT(message_of([&] { emit("add", {1.0, 2.0}, {}, SourceLocation::current()); }),
              HasSubstr("at least one operand must be a Value"));
}

TEST_F(EmitTest, BroadcastsLikeNumPy) {
  struct Case {
    Shape a, b, expected;
  };
  const Dim width{std::string_view("width")};
  const Case cases[] = {
      {{2, 3}, {2, 3}, {2, 3}},       {{batch, 3}, {3}, {batch, 3}},
      {{batch, 3}, {}, {batch, 3}},   {{batch, 1}, {1, width}, {batch, width}},
      {{4, 1, 5}, {3, 1}, {4, 3, 5}}, {{1}, {0}, {0}},
      {{1, 1}, {1}, {1, 1}},          {{batch + 1}, {1}, {batch + 1}},
  };
  int names = 0;
  for (const Case& c : cases) {
    const Value a = program_.input("i" + std::to_string(names++), f32, c.a);
    const Value b = program_.input("i" + std::to_string(names++), f32, c.b);
    EXPECT_EQ((a + b).shape(), c.expected) << str(c.a) << " + " << str(c.b);
    EXPECT_EQ((b + a).shape(), c.expected);
  }
  ir::verify(program_.ir());
}

TEST_F(EmitTest, ReshapesStretchedDimensionsBeforeBroadcast) {
  const Value a = program_.input("a", f32, {4, 1, 5});
  const Value b = program_.input("b", f32, {4, 3, 5});
  const Value sum = a + b;
  EXPECT_THAT(ops(), testing::ElementsAre("reshape", "broadcast", "add"));
  const ir::Op* broadcast = sum.get()->producer->operands[0]->producer;
  EXPECT_THAT(get_attribute<std::vector<std::int64_t>>(broadcast->attributes, "axes"),
              testing::ElementsAre(0, 2));
}

TEST_F(EmitTest, AnErrorLeavesTheProgramUnchanged) {
  const Value a = program_.input("a", f32, {batch, 3});
  const Value b = program_.input("b", f32, {Dim(std::string_view("width")), 3});
  const std::string before = program_.str();
  EXPECT_THAT(message_of([&] { a + b; }), HasSubstr("add: the shapes do not match"));
  Program other(std::make_unique<ir::Program>("other", ops_));
  const Value foreign = other.input("c", f32, {batch, 3});
  EXPECT_THAT(message_of([&] { a + foreign; }), HasSubstr("another Program"));
  EXPECT_THAT(message_of([&] { a + Value(); }), HasSubstr("empty"));
  EXPECT_EQ(program_.str(), before);
}

TEST_F(EmitTest, ScopesNestAndEnd) {
  {
    const auto encoder = program_.scope("encoder");
    const auto ffn = program_.scope("ffn");
    EXPECT_EQ(program_.unique_name("linear"), "linear_0");
    const Value weight = program_.parameter("weight", f32, {2, 2});
    EXPECT_EQ(weight.name(), "%encoder/ffn.weight");
    EXPECT_EQ(program_.find("encoder/ffn.weight"), weight);
  }
  EXPECT_EQ(program_.parameter("weight", f32, {}).name(), "%weight");
  EXPECT_THROW(static_cast<void>(program_.scope("a b")), Error);
  EXPECT_THROW(static_cast<void>(program_.scope("")), Error);
}

TEST_F(EmitTest, HandlesReportNameTypeAndDimensions) {
  const Value x = program_.input("x", f32, {batch, 3});
  const Value y = -x;
  EXPECT_EQ(y.str(), "%0 : f32[batch, 3]");
  EXPECT_EQ(y.dim(-1), Dim(3));
  EXPECT_EQ(y.rank(), 2);
  EXPECT_THAT(message_of([&] { y.dim(2); }), HasSubstr("there is no dimension 2"));
  EXPECT_THAT(message_of([&] { Value().shape(); }), HasSubstr("empty Value"));
  program_.set_outputs({y, x});
  EXPECT_THAT(program_.outputs(), testing::ElementsAre(y, x));
  EXPECT_THAT(program_.inputs(), testing::ElementsAre(x));
  const Program copy = program_.clone();
  EXPECT_EQ(copy.str(), program_.str());
  EXPECT_THAT(message_of([&] { program_.set_outputs(copy.outputs()); }), HasSubstr("another"));
  EXPECT_FALSE(program_.find("nothing"));
}

}  // namespace
}  // namespace trireme
