#include "transforms/take_assigns.h"

#include <gtest/gtest.h>

#include "trireme/control.h"
#include "trireme/ops.h"

namespace trireme {
namespace {

Value state(Program& program, const char* name) {
  return program.parameter(name, f32, {3}, {.trainable = false});
}

// Reads of a parameter after its assign read the assigned value, also if it is assigned again.
TEST(TakeAssigns, LaterReadsUseTheAssignedValue) {
  Program program;
  const Value x = program.input("x", f32, {3});
  const Value p = state(program, "p"), q = state(program, "q");
  const Value before = p + x;
  assign(p, before);
  const Value after = p * 2.0;
  assign(q, p);
  assign(p, after);
  const Value last = p - x;
  program.set_outputs({last});
  const auto taken = transforms::take_assigns(program.ir(), [](const auto&) { return true; });
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].parameter, p.get());
  EXPECT_EQ(taken[0].value, after.get());
  EXPECT_EQ(taken[1].parameter, q.get());
  EXPECT_EQ(taken[1].value, before.get());
  EXPECT_EQ(before.get()->producer->operands[0], p.get());
  EXPECT_EQ(after.get()->producer->operands[0], before.get());
  EXPECT_EQ(last.get()->producer->operands[0], after.get());
  for (const auto& op : program.ir().main().ops) EXPECT_NE(op->name(), "assign");
}

TEST(TakeAssigns, OtherParametersStayUnchanged) {
  Program program;
  const Value x = program.input("x", f32, {3}), rows = program.input("rows", i64, {1});
  const Value p = state(program, "p"), q = state(program, "q"), r = state(program, "r");
  assign(p, x);
  assign(q, x);
  assign(r, x);
  assign_rows(r, rows, slice(x, {.starts = {0}, .limits = {1}}));
  const Value sum = p + q + r;
  program.set_outputs({sum});
  const std::string whole = program.str();
  EXPECT_TRUE(transforms::take_assigns(program.ir(), [](const auto&) { return false; }).empty());
  EXPECT_EQ(program.str(), whole);
  const auto taken = transforms::take_assigns(
      program.ir(), [](const ir::Parameter& parameter) { return parameter.name() != "q"; });
  ASSERT_EQ(taken.size(), 1u) << "r is assigned by rows";
  EXPECT_EQ(taken[0].parameter, p.get());
  const ir::Op& first = *sum.get()->producer->operands[0]->producer;
  EXPECT_EQ(first.operands[0], x.get());
  EXPECT_EQ(first.operands[1], q.get());
  EXPECT_EQ(sum.get()->producer->operands[1], r.get());
}

// The same inside blocks.
TEST(TakeAssigns, ReadsInBlocksUseTheAssignedValue) {
  Program program;
  const Value x = program.input("x", f32, {3}), given = program.input("given", boolean, {});
  const Value p = state(program, "p");
  const Value next = p + x;
  assign(p, next);
  const Value chosen = cond(given, [&] { return p * 2.0; }, [&] { return x; });
  program.set_outputs({chosen});
  ASSERT_EQ(transforms::take_assigns(program.ir(), [](const auto&) { return true; }).size(), 1u);
  EXPECT_EQ(program.str().find("%p *"), std::string::npos);
  const std::string text = program.str();
  const Program again = Program::parse(text);
  EXPECT_EQ(again.str(), text);
  // The parameter is read once, in the addition.
  const std::size_t use = text.find("(%p");
  EXPECT_NE(use, std::string::npos);
  EXPECT_EQ(text.find("%p,", use + 3), std::string::npos) << text;
}

}  // namespace
}  // namespace trireme
