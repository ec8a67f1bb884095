#include "session/run/program_hash.h"

#include <gtest/gtest.h>

#include "trireme/ops.h"

namespace trireme {
namespace {

struct Choice {
  bool right_first = false;
  double factor = 2;
  std::string name = "w";
  bool swapped = false;
};

std::string hash_with(const Choice& choice) {
  Program program("p");
  const Value x = program.input("x", f32, {batch, 4});
  const Value w = program.parameter(choice.name, f32, {4});
  Value left, right;
  if (choice.right_first) right = tanh(x) + w;
  left = exp(x) * choice.factor;
  if (!choice.right_first) right = tanh(x) + w;
  assign(w, w * 0.5);
  program.set_outputs({choice.swapped ? right - left : left - right});
  return hash_of(program.ir());
}

TEST(ProgramHash, TheOrderOfBuildingAndThePlaceDoNotMatter) {
  EXPECT_EQ(hash_with({}), hash_with({.right_first = true}));
}

TEST(ProgramHash, OpsAttributesNamesAndOperandsMatter) {
  EXPECT_NE(hash_with({}), hash_with({.factor = 3}));
  EXPECT_NE(hash_with({}), hash_with({.name = "v"}));
  EXPECT_NE(hash_with({}), hash_with({.swapped = true}));
}

}  // namespace
}  // namespace trireme
