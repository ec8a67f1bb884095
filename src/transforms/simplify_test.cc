#include "transforms/simplify.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace trireme
