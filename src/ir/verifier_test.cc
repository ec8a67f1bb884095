// verify() on Programs that a faulty transform might leave behind.

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

  void expect_rejected(const std::string& why) {
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

TEST_F(VerifierTest, AcceptsProgramsFromTheBuilder) { EXPECT_NO_THROW(verify(program_)); }

TEST_F(VerifierTest, RejectsUseBeforeDefinition) {
  std::swap(program_.main().ops[0], program_.main().ops[1]);
  expect_rejected("operand x is used where it is not defined");
}

TEST_F(VerifierTest, RejectsUseOfARemovedValue) {
  program_.main().ops.erase(program_.main().ops.begin());
  expect_rejected("matmul: operand x is used where it is not defined");
}

TEST_F(VerifierTest, RejectsAWrongResultType) {
  second_->result()->type.dtype = f64;
  expect_rejected("a result is f64[batch, 3], but its type rule returns f32[batch, 3]");
}

TEST_F(VerifierTest, RejectsAViolatedRuleAfterReplacingAnOperand) {
  second_->operands[0] = weight_;
  expect_rejected("the inner dimensions differ");
}

TEST_F(VerifierTest, ErrorNamesTheOpAndItsLocation) {
  first_->attributes = {{"extra", true}};
  expect_rejected("neg (a.cc:7 neg_0): there is no attribute 'extra'");
}

TEST_F(VerifierTest, RejectsIncompleteAttributes) {
  Op* constant =
      program_.append(program_.main(), "constant", {}, {{"value", 1.0}, {"dtype", f32}}, {});
  constant->attributes.erase(constant->attributes.begin() + 1);
  expect_rejected("not complete and sorted");
}

TEST_F(VerifierTest, RejectsAWrongNumberOfOperands) {
  second_->operands.pop_back();
  expect_rejected("wrong number of operands");
}

TEST_F(VerifierTest, RejectsDuplicateNames) {
  x_->name = "w";
  expect_rejected("used twice");
}

TEST_F(VerifierTest, RejectsWrongLinks) {
  first_->result()->producer = second_;
  expect_rejected("linked wrongly");
}

TEST_F(VerifierTest, RejectsReturnOfAnInnerValue) {
  Op* repeat = program_.append(program_.main(), "repeat", {x_}, {}, {});
  Block& block = program_.add_block(*repeat);
  Op* inner = program_.append(block, "neg", {x_}, {}, {});
  block.results = {inner->result()};
  EXPECT_NO_THROW(verify(program_));
  program_.main().results = {inner->result()};
  expect_rejected("returns a value that is not defined");
}

}  // namespace
}  // namespace trireme::ir
