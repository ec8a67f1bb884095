// Images and volumes change their layout only at the ends of a chain of convolutions.

#include <gtest/gtest.h>

#include "codegen/codegen.h"
#include "compiler/compile.h"
#include "transforms/autodiff.h"
#include "trireme/convolution.h"
#include "trireme/ops.h"

namespace trireme::compiler {
namespace {

// Returns the number of steps that only transpose images in the training of `output`.
int transposes_in_training(const Program& program, const Value& output) {
  const Value loss = sum(output * output);
  std::vector<ir::Value*> wanted;
  for (const auto& parameter : program.ir().parameters()) {
    if (parameter->trainable) wanted.push_back(parameter->value.get());
  }
  std::vector<const ir::Value*> fetches{loss.get()};
  for (ir::Value* gradient : transforms::gradients(loss.get(), wanted)) {
    fetches.push_back(gradient);
  }
  const auto codegen = codegen::make_interpreter();
  const auto plan = compile(program.ir(), fetches, *codegen, {.training = true, .updates = true});
  int count = 0;
  for (const plan::Step& step : plan->steps) {
    const plan::Buffer& written = plan->buffers[static_cast<std::size_t>(step.writes.front())];
    const bool images = !is_constant(written.shape);  // weights may be prepared
    count += images && step.name.ends_with(": transpose");
  }
  return count;
}

TEST(Layout, ImagesAreTransposedOnceAtTheirInput) {
  Program program;
  Value x = program.input("x", f32, {batch, 3, 8, 8});
  x = nn::batch_norm(nn::conv2d(x, {.channels = 4, .padding = 1, .activation = nn::relu}));
  x = nn::max_pool(nn::group_norm(x, {.groups = 2}), {});
  x = nn::global_avg_pool(nn::conv2d(x, {.channels = 5, .padding = 1}));
  EXPECT_EQ(transposes_in_training(program, x), 1);
}

TEST(Layout, VolumesAreTransposedOnceAtTheirInput) {
  Program program;
  Value x = program.input("x", f32, {batch, 3, 4, 8, 8});
  x = nn::batch_norm(nn::conv3d(x, {.channels = 4, .padding = 1, .activation = nn::relu}));
  x = nn::conv3d(nn::max_pool3d(x, {}), {.channels = 5, .padding = 1});
  EXPECT_EQ(transposes_in_training(program, mean(x, {.axes = {2, 3, 4}})), 1);
}

}  // namespace
}  // namespace trireme::compiler
