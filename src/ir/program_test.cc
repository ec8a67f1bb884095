// Building Programs: checks, error messages, unique names and clones.

#include "ir/program.h"
#include "ir/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/test_ops.h"

namespace trireme::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string message_of(const std::function<void()>& action, ErrorKind kind = ErrorKind::usage) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

class ProgramTest : public testing::Test {
 protected:
  Value* input(const char* name, Shape shape, DType dtype = f32) {
    return program_.add_input(name, {dtype, std::move(shape), ""});
  }
  Op* append(const char* op, std::vector<Value*> operands, Attributes attributes = {}) {
    return program_.append(program_.main(), op, std::move(operands), std::move(attributes),
                           {"digits.cc", 12, "linear_0"});
  }
  TestOps ops_;
  Program program_{"test", ops_};
};

TEST_F(ProgramTest, AnErrorNamesLayerLineShapesAndHint) {
  Value* image = input("image", {batch, 784});
  Op* flat = program_.append(program_.main(), "neg", {image}, {}, {"digits.cc", 9, "flatten_0"});
  Value* weight = program_.add_parameter("linear_0.weight", {f32, {800, 128}, ""}, {}, true,
                                         {"digits.cc", 12, "linear_0"});
  EXPECT_EQ(message_of([&] { append("matmul", {flat->result(), weight}); }),
            "matmul: the inner dimensions differ: x f32[batch, 784], weight f32[800, 128]\n"
            "  layer  linear_0          at digits.cc:12\n"
            "  input  x                 from flatten_0 at digits.cc:9, f32[batch, 784]\n"
            "  input  weight            is %linear_0.weight at digits.cc:12, f32[800, 128]\n"
            "  hint   transpose one of them");
  EXPECT_EQ(program_.main().ops.size(), 1u);
}

TEST_F(ProgramTest, ChecksNumberAndOriginOfOperands) {
  Value* x = input("x", {2});
  Program other("other", ops_);
  Value* other_value = other.add_input("y", {f32, {2}, ""});
  EXPECT_THAT(message_of([&] { append("add", {x}); }), HasSubstr("takes 2 operands, got 1"));
  EXPECT_THAT(message_of([&] { append("gather_all", {}); }),
              HasSubstr("takes at least 1 operands, got 0"));
  EXPECT_THAT(message_of([&] { append("add", {x, nullptr}); }), HasSubstr("b is an empty Value"));
  EXPECT_THAT(message_of([&] { append("add", {x, other_value}); }), HasSubstr("another Program"));
  EXPECT_NO_THROW(append("gather_all", {x}));
}

TEST_F(ProgramTest, SuggestsTheNearestOp) {
  EXPECT_THAT(message_of([&] { append("matmull", {}); }), HasSubstr("did you mean 'matmul'?"));
}

TEST_F(ProgramTest, FillsAndChecksAttributes) {
  const Op* op = append("constant", {}, {{"value", std::int64_t{3}}, {"dtype", f64}});
  EXPECT_EQ(get_attribute<double>(op->attributes, "value"), 3.0);
  EXPECT_TRUE(get_attribute<Shape>(op->attributes, "shape").empty());
  std::vector<std::string> names;
  for (const auto& attribute : op->attributes) names.push_back(attribute.name);
  EXPECT_THAT(names, ElementsAre("dtype", "shape", "value"));

  EXPECT_THAT(message_of([&] { append("constant", {}, {{"value", 1.0}}); }),
              HasSubstr("attribute 'dtype' is missing"));
  EXPECT_THAT(message_of([&] { append("constant", {}, {{"valeu", 1.0}}); }),
              HasSubstr("did you mean 'value'?"));
  EXPECT_THAT(message_of([&] { append("constant", {}, {{"value", true}}); }),
              HasSubstr("'value' must be a float, not true"));
  EXPECT_THAT(message_of([&] { append("constant", {}, {{"value", 1.0}, {"value", 2.0}}); }),
              HasSubstr("set twice"));
  EXPECT_THROW(get_attribute<bool>(op->attributes, "value"), Error);
  EXPECT_THROW(get_attribute<double>(op->attributes, "missing"), Error);
}

TEST_F(ProgramTest, RejectsTakenAndInvalidNames) {
  input("x", {2});
  program_.add_parameter("w", {f32, {2}, ""}, {}, true, {});
  EXPECT_THAT(message_of([&] { input("x", {}); }), HasSubstr("is taken"));
  EXPECT_THAT(message_of([&] { input("w", {}); }), HasSubstr("is taken"));
  EXPECT_THAT(message_of([&] { program_.add_parameter("x", {}, {}, true, {}); }),
              HasSubstr("is taken"));
  for (const char* name : {"", "0", "a b", "%x", "x\n", "-"}) {
    EXPECT_THAT(message_of([&] { input(name, {}); }), HasSubstr("is not a valid name"));
  }
  EXPECT_THAT(message_of([&] { input("n", {-1}); }), HasSubstr("negative"));
  EXPECT_THAT(message_of([&] { program_.add_parameter("p", {f32, {batch}, ""}, {}, true, {}); }),
              HasSubstr("shape without symbols"));
}

TEST_F(ProgramTest, UniqueNamesCountWithinTheLayer) {
  EXPECT_EQ(program_.builder().unique_name("linear"), "linear_0");
  EXPECT_EQ(program_.builder().unique_name("linear"), "linear_1");
  program_.builder().set_layer("encoder");
  EXPECT_EQ(program_.builder().unique_name("linear"), "linear_0");
  program_.builder().reserve_names("encoder/linear_4/x");
  EXPECT_EQ(program_.builder().unique_name("linear"), "linear_5");
  program_.builder().reserve_names("decoder_2/linear_1");
  program_.builder().set_layer("");
  EXPECT_EQ(program_.builder().unique_name("decoder"), "decoder_3");
  EXPECT_EQ(program_.builder().unique_name("linear"), "linear_2");
}

TEST_F(ProgramTest, RemoveParametersKeepsTheOthersConsistent) {
  for (const char* name : {"a", "b", "c"}) program_.add_parameter(name, {}, {}, true, {});
  program_.remove_parameters([](const Parameter& p) { return p.name() == "b"; });
  EXPECT_EQ(program_.find_parameter("b"), nullptr);
  Parameter* c = program_.find_parameter("c");
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(&program_.parameter_of(c->value.get()), c);
  EXPECT_NO_THROW(program_.add_parameter("b", {}, {}, true, {}));
  EXPECT_NO_THROW(verify(program_));
}

TEST_F(ProgramTest, ValuesOfANestedBlockAreNotVisibleOutside) {
  Value* x = input("x", {2});
  Op* repeat = append("repeat", {x});
  Block& block = program_.add_block(*repeat);
  Value* inner = program_.append(block, "neg", {x}, {}, {})->result();
  EXPECT_THAT(message_of([&] { append("neg", {inner}); }), HasSubstr("nested block"));
}

TEST_F(ProgramTest, CloneIsADeepCopy) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::unique_ptr<Program> original = random_program(ops_, seed);
    original->builder().unique_name("linear");
    const std::string text = print(*original);
    const std::unique_ptr<Program> copy = original->clone();
    EXPECT_EQ(copy->builder().unique_name("linear"), original->builder().unique_name("linear"));
    original.reset();
    verify(*copy);
    EXPECT_EQ(print(*copy), text);
  }
}

TEST_F(ProgramTest, LocationsHoldTheBaseNameAndLayer) {
  program_.builder().set_layer("encoder/linear_0");
  const SourceLocation here = SourceLocation::current();
  EXPECT_EQ(program_.builder().locate(here).str(),
            "program_test.cc:" + std::to_string(here.line()) + " encoder/linear_0");
  const Location instead{"other.cc", 3, ""};
  const Builder::LocationGuard guard(program_.builder(), instead);
  EXPECT_EQ(program_.builder().locate(here).str(), "other.cc:3 encoder/linear_0");
}

TEST_F(ProgramTest, NameInTextAgreesWithPrint) {
  Value* x = input("x", {2});
  append("pair", {x});
  Value* last = append("neg", {x})->result();
  EXPECT_EQ(name_in_text(last), "%2");
  EXPECT_EQ(name_in_text(x), "%x");
  EXPECT_THAT(print(program_), HasSubstr("%2 = neg(%x)"));
}

TEST(Signature, ParsesOperandsAttributesAndResults) {
  const TestOps ops;
  const OpDef& def = *ops.find("everything");
  ASSERT_EQ(def.attributes.size(), 8u);
  EXPECT_EQ(std::get<std::string>(def.attributes[3].default_value), "a, b");
  EXPECT_EQ(std::get<Shape>(def.attributes[7].default_value), (Shape{2 * batch + 1, 3}));
  EXPECT_THAT(ops.find("gather_all")->operands, ElementsAre("first", "xs"));
  EXPECT_TRUE(ops.find("gather_all")->variadic);
  EXPECT_TRUE(ops.find("constant")->attributes[0].required);
  EXPECT_EQ(ops.find("assign")->result_count, 0);
  EXPECT_EQ(ops.find("pair")->result_count, 2);
}

TEST(Signature, RejectsInvalidSignatures) {
  for (const char* text : {"", "f", "f(", "f(x;)x", "f(x y)", "f(xs..., y)", "f(;a)", "f(;a: what)",
                           "f(;a: int = x)", "f(;a: ints = 1)", "f(;a: bool = 1)", "2f()"}) {
    OpDef def;
    def.signature = text;
    EXPECT_THROW(parse_signature(def), Error) << text;
  }
}

}  // namespace
}  // namespace trireme::ir
