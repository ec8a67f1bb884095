// Attention compiles to matrix products and one kernel between them, for scale, masks, softmax and
// dropout. The gradient adds one more kernel.

#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/codegen.h"
#include "compiler/compile.h"
#include "transforms/autodiff.h"
#include "trireme/attention.h"
#include "trireme/ops.h"

namespace trireme::compiler {
namespace {

struct Steps {
  std::int64_t products = 0, kernels = 0;
  std::string plan;
};

Steps steps_of(const Program& program, const std::vector<const ir::Value*>& fetches) {
  const auto codegen = codegen::make_interpreter();
  const auto plan = compile(program.ir(), fetches, *codegen, {.training = true});
  Steps steps;
  steps.plan = plan::print(*plan);
  for (const plan::Step& step : plan->steps) {
    step.kernel >= 0 ? ++steps.kernels : ++steps.products;
  }
  return steps;
}

TEST(AttentionFusion, CompilesToOneKernelForwardAndOneBackward) {
  Program program;
  const Dim steps("steps");
  const auto sequence = [&](const char* name) {
    return program.input(name, f32, {batch, 8, steps, 32});
  };
  const Value q = sequence("q"), k = sequence("k"), v = sequence("v"), weight = sequence("weight");
  const Value y = nn::scaled_dot_product_attention(
      q, k, v,
      {.mask = program.input("mask", f32, {steps, steps}),
       .key_mask = program.input("key_mask", boolean, {batch, steps}),
       .causal = true,
       .dropout = 0.1});
  const Steps forward = steps_of(program, {y.get()});
  EXPECT_EQ(forward.products, 2) << forward.plan;
  EXPECT_EQ(forward.kernels, 1) << forward.plan;

  // A loss whose gradient needs y itself: y * weight is a separate kernel.
  const Value loss = sum(y * y * weight);
  const auto gradients = transforms::gradients(loss.get(), {q.get(), k.get(), v.get()});
  const Steps both = steps_of(program, {gradients[0], gradients[1], gradients[2]});
  EXPECT_EQ(both.products, 6) << both.plan;
  EXPECT_EQ(both.kernels, 3) << both.plan;
}

}  // namespace
}  // namespace trireme::compiler
