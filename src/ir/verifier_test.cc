// verify() against Programs that a careless transform might leave.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/program.h"
#include "ir/test_ops.h"

namespace trireme::ir {
namespace {

class VerifierTest : public testing::Test {
 protected:
  VerifierTest() {
    x_ = program_.add_input("x", {f32, {batch, 2}, ""});
    weight_ = program_.add_parameter("w", {f32, {2, 3}, ""}, {}, true, {});
    first_ = program_.append(program_.main(), "neg", {x_}, {}, {"a.cc", 7, "neg_0"});
    second_ = program_.append(program_.main(), "matmul", {first_->result(), weight_}, {}, {});
    program_.main().results = {second_->result()};
  }

  void expect_refused(const std::string& why) {
    try {
      verify(program_);
      ADD_FAILURE() << "accepted; expected: " << why;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::internal);
      EXPECT_THAT(error.what(), testing::HasSubstr(why));
    }
  }

  TestOps ops_;
  Program program_{"test", ops_};
  Value* x_;
  Value* weight_;
  Op* first_;
  Op* second_;
};

TEST_F(VerifierTest, AcceptsWhatTheBuilderMakes) { EXPECT_NO_THROW(verify(program_)); }

TEST_F(VerifierTest, UseBeforeDefinition) {
  std::swap(program_.main().ops[0], program_.main().ops[1]);
  expect_refused("operand x is used where it is not defined");
}

TEST_F(VerifierTest, UseOfARemovedValue) {
  program_.main().ops.erase(program_.main().ops.begin());
  expect_refused("matmul: operand x is used where it is not defined");
}

TEST_F(VerifierTest, WrongResultType) {
  second_->result()->type.dtype = f64;
  expect_refused("a result is f64[batch, 3] where its rule gives f32[batch, 3]");
}

TEST_F(VerifierTest, ViolatedRuleAfterAnOperandWasReplaced) {
  second_->operands[0] = weight_;
  expect_refused("the inner dimensions differ");
}

TEST_F(VerifierTest, NamesTheOpAndItsPlace) {
  first_->attributes = {{"extra", true}};
  expect_refused("neg (a.cc:7 neg_0): there is no attribute 'extra'");
}

TEST_F(VerifierTest, IncompleteAttributes) {
  Op* constant =
      program_.append(program_.main(), "constant", {}, {{"value", 1.0}, {"dtype", f32}}, {});
  constant->attributes.erase(constant->attributes.begin() + 1);
  expect_refused("not complete and sorted");
}

TEST_F(VerifierTest, WrongNumberOfOperands) {
  second_->operands.pop_back();
  expect_refused("wrong number of operands");
}

TEST_F(VerifierTest, NamesUsedTwice) {
  x_->name = "w";
  expect_refused("used twice");
}

TEST_F(VerifierTest, WrongLinks) {
  first_->result()->producer = second_;
  expect_refused("linked wrongly");
}

TEST_F(VerifierTest, ReturnOfAnInnerValue) {
  Op* repeat = program_.append(program_.main(), "repeat", {x_}, {}, {});
  Block& block = program_.add_block(*repeat);
  Op* inner = program_.append(block, "neg", {x_}, {}, {});
  block.results = {inner->result()};
  EXPECT_NO_THROW(verify(program_));
  program_.main().results = {inner->result()};
  expect_refused("returns a value that is not defined");
}

}  // namespace
}  // namespace trireme::ir
