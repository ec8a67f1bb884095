#include "transforms/copy_old_values.h"

#include <gtest/gtest.h>

#include "ops/reference.h"
#include "trireme/control.h"
#include "trireme/ops.h"

namespace trireme {
namespace {

// Two views of a parameter and a function of one operand; the parameter is assigned.
struct Reads {
  Program program;
  Value w = program.parameter("w", f32, {2, 2}), y = program.input("y", f32, {2, 2});
  Value flat = reshape(w, {.shape = {4}}), negative = -w;

  int copies() {
    transforms::copy_old_values(program.ir());
    int count = 0;
    for (const auto& op : program.ir().main().ops) count += op->name() == "copy" ? 1 : 0;
    return count;
  }
};

TEST(CopyOldValues, NothingIsCopiedIfAllUsesComeBeforeTheAssign) {
  Reads r;
  const Value used = r.flat * 2.0, difference = r.y - r.negative;
  assign(r.w, difference);
  r.program.set_outputs({used, -r.w});
  EXPECT_EQ(r.copies(), 0);
}

TEST(CopyOldValues, NothingIsCopiedWithoutAnAssign) {
  Reads r;
  r.program.set_outputs({r.flat, r.negative});
  EXPECT_EQ(r.copies(), 0);
}

TEST(CopyOldValues, ReadsThatAreUsedAfterTheAssignAreCopied) {
  Reads r;
  const Value again = reshape(r.flat, {.shape = {1, 4}});  // a view of a view
  assign(r.w, r.y);
  r.program.set_outputs({again, r.negative});
  EXPECT_EQ(r.copies(), 2);
  ops::RefTensor w({2, 2}), y({2, 2});
  w.data = {1, 2, 3, 4};
  y.data = {5, 6, 7, 8};
  ops::RefTensors parameters{{"w", w}};
  const auto values = ops::evaluate(r.program.ir(), {{"y", y}}, parameters,
                                    {r.program.outputs()[0].get(), r.program.outputs()[1].get()});
  EXPECT_EQ(values[0].data, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(values[1].data, (std::vector<double>{-1, -2, -3, -4}));
}

TEST(CopyOldValues, UsesInBlocksCount) {
  Reads r;
  const Value condition = r.program.input("condition", boolean, {});
  assign(r.w, r.y);
  r.program.set_outputs(
      {cond(condition, [&] { return r.flat * 2.0; }, [&] { return r.flat * 3.0; })});
  EXPECT_EQ(r.copies(), 1);
}

}  // namespace
}  // namespace trireme
