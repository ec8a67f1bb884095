#include "transforms/simplify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "trireme/ops.h"

namespace trireme {
namespace {

// No image is transposed or computed only for its number of elements.
TEST(Simplify, DimSizeSkipsOpsThatKeepTheSizes) {
  Program program;
  const Value x = program.input("x", f32, {batch, 3, 5, 7});
  const Value moved = transpose(x, {.permutation = {0, 2, 3, 1}});
  const Value squares = moved * moved;
  const Value size = dim_size(transpose(squares, {.permutation = {3, 0, 1, 2}}), {.axes = {1, -2}});
  program.set_outputs({size});
  transforms::simplify(program.ir());
  const ir::Op& op = *program.outputs()[0].get()->producer;
  EXPECT_EQ(op.name(), "dim_size");
  EXPECT_EQ(op.operands[0], x.get());
  EXPECT_EQ(get_attribute<std::vector<std::int64_t>>(op.attributes, "axes"),
            (std::vector<std::int64_t>{0, 2}));
}

TEST(Simplify, DimSizeKeepsOpsThatChangeTheShape) {
  Program program;
  const Value x = program.input("x", f32, {batch, 3});
  program.set_outputs({dim_size(sum(x, {.axes = {1}}), {.axes = {0}})});
  transforms::simplify(program.ir());
  EXPECT_EQ(program.outputs()[0].get()->producer->operands[0]->producer->name(), "sum");
}

// The value of a folded constant; NaN if the op stays.
double folded(const Value& value) {
  Program program = Program::of(value);
  program.set_outputs({value});
  transforms::simplify(program.ir());
  const ir::Op& op = *program.outputs()[0].get()->producer;
  if (op.name() != "constant") return std::numeric_limits<double>::quiet_NaN();
  return get_attribute<double>(op.attributes, "value");
}

// As C++ computes them.
TEST(Simplify, ConstantIntegersWrap) {
  const auto number = [](Program& program, double value, DType dtype) {
    return constant(program, {.value = value, .dtype = dtype, .shape = {2}});
  };
  const auto product = [&](double a, double b, DType dtype) {
    Program program;
    return folded(number(program, a, dtype) * number(program, b, dtype));
  };
  EXPECT_EQ(product(65537, 65537, u32), 65537u * 65537u);
  EXPECT_EQ(product(65537, 65537, i32), 131073);
  EXPECT_EQ(product(-100, 3, i8), static_cast<std::int8_t>(-300));
  EXPECT_EQ(product(200, 200, u8), static_cast<std::uint8_t>(40000));
  EXPECT_EQ(product(-3, 5, i64), -15);
  EXPECT_EQ(product(0x1p30, 0x1p30, f32), 0x1p60);
  // Beyond doubles that are exact, a kernel computes.
  EXPECT_TRUE(std::isnan(product(0x1p40, 0x1p40, i64)));
  EXPECT_TRUE(std::isnan(product(0x1p40, 0x1p40, u64)));
  Program program;
  EXPECT_EQ(folded(number(program, 3, u8) - number(program, 5, u8)), 254);
}

}  // namespace
}  // namespace trireme
