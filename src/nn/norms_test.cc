// Norms of values and of weights at the borders of their domain, and their errors. The conformance
// suite compares other numbers and gradients with PyTorch.

#include <gmock/gmock.h>

#include <cmath>

#include "nn/testing/running.h"
#include "transforms/autodiff.h"

namespace trireme::nn {
namespace {

using ops::RefTensor;
using ops::RefTensors;
using ::testing::HasSubstr;

TEST(RmsNorm, DividesByTheRootMeanSquare) {
  Program program;
  const Value x = program.input("x", f64, {batch, 2});
  const Value y = rms_norm(x, {.epsilon = 0});
  EXPECT_EQ(program.find("rms_norm_0.weight").shape(), Shape{2});
  RefTensors parameters = first_values(program);
  const RefTensor input = tensor({3, 2}, {3, -4, 1e9, 1e9, NAN, 1});
  const std::vector<double> values = run(program, y, {{"x", input}}, parameters).data;
  EXPECT_NEAR(values[0], 3 / std::sqrt(12.5), 1e-12);
  EXPECT_NEAR(values[1], -4 / std::sqrt(12.5), 1e-12);
  EXPECT_NEAR(values[2], 1, 1e-12);
  EXPECT_TRUE(std::isnan(values[4]) && std::isnan(values[5]));
  const Value safe = rms_norm(x, {.affine = false});
  EXPECT_EQ(run(program, safe, {{"x", tensor({1, 2}, {0, 0})}}, parameters).data,
            (std::vector<double>{0, 0}));
  EXPECT_THAT(refusal_here([&] { rms_norm(x, {.axes = 3}); }), HasSubstr("the last 3 axes"));
  EXPECT_THAT(refusal_here([&] { rms_norm(x, {.axes = 2}); }), HasSubstr("a constant size"));
  EXPECT_THAT(refusal_here([&] { rms_norm(program.input("i", i64, {batch, 2})); }),
              HasSubstr("must be f32 or f64"));
}

TEST(LocalResponseNorm, HasZerosBeyondTheEnds) {
  const auto normalized = [](const Value& x) {
    return local_response_norm(x, {.size = 3, .alpha = 3, .beta = 1});
  };
  const RefTensor values = run_on(tensor({2, 3}, {1, 2, 3, 0, 0, 0}), f64, {batch, 3}, normalized);
  const std::vector<double> expected{1 / (1 + 5.0), 2 / (1 + 14.0), 3 / (1 + 13.0), 0, 0, 0};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(values.data[i], expected[i], 1e-12) << i;
  Program program;
  const Value x = program.input("x", f64, {batch, 3});
  EXPECT_THAT(refusal_here([&] { local_response_norm(x, {.size = 0}); }),
              HasSubstr("the size must be at least 1"));
  EXPECT_THAT(refusal_here([&] { local_response_norm(x, {.k = 0}); }),
              HasSubstr("k must be above 0"));
  EXPECT_THAT(refusal_here([&] { local_response_norm(program.input("r", f64, {batch})); }),
              HasSubstr("rank 2 or more"));
}

TEST(WeightNorm, SeparatesLengthAndDirection) {
  Program program;
  const Value v = program.parameter("v", f64, {2, 3});
  const Value w = weight_norm(v, {.init = constant(5)});
  EXPECT_TRUE(program.ir().find_parameter("weight_norm_0.length")->trainable);
  RefTensors parameters = first_values(program);
  parameters["v"] = tensor({2, 3}, {3, 0, 1e200, 4, 0, 1e200});
  const std::vector<double> values = run(program, w, {}, parameters).data;
  EXPECT_NEAR(values[0], 3, 1e-12);
  EXPECT_NEAR(values[3], 4, 1e-12);
  EXPECT_EQ(values[1], 0);
  EXPECT_EQ(values[4], 0);
  const Value slope(transforms::gradients(sum(w).get(), {v.get()})[0]);
  const std::vector<double> slopes = run(program, slope, {}, parameters, true).data;
  EXPECT_EQ(slopes[1], 0);
  EXPECT_EQ(slopes[4], 0);
  EXPECT_THAT(refusal_here([&] { weight_norm(v, {.axis = 2}); }), HasSubstr("no axis 2"));
  EXPECT_THAT(refusal_here([&] { weight_norm(program.parameter("r", f64, {2})); }),
              HasSubstr("rank 2 or more"));
  EXPECT_THAT(refusal_here([&] { weight_norm(program.input("x", f64, {batch, 2})); }),
              HasSubstr("constant sizes"));
}

// The singular values of [[3, 0], [4, 5]] are sqrt(45) and sqrt(5).
TEST(SpectralNorm, FindsTheLargestSingularValueInTraining) {
  Program program;
  const Value w = program.parameter("w", f64, {2, 2});
  const Value y = spectral_norm(w);
  EXPECT_FALSE(program.ir().find_parameter("spectral_norm_0.u")->trainable);
  RefTensors parameters = first_values(program);
  parameters["w"] = tensor({2, 2}, {3, 0, 4, 5});
  for (int step = 0; step < 40; ++step) run(program, y, {}, parameters, /*training=*/true);
  const std::vector<double> u = parameters["spectral_norm_0.u"].data;
  const std::vector<double> values = run(program, y, {}, parameters).data;
  EXPECT_EQ(parameters["spectral_norm_0.u"].data, u) << "inference changes nothing";
  EXPECT_NEAR(values[0], 3 / std::sqrt(45), 1e-9);
  EXPECT_NEAR(values[3], 5 / std::sqrt(45), 1e-9);
  EXPECT_NEAR(std::hypot(u[0], u[1]), 1, 1e-12);
  parameters["w"] = tensor({2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(run(program, y, {}, parameters, true).data, (std::vector<double>{0, 0, 0, 0}));
  EXPECT_THAT(refusal_here([&] { spectral_norm(w, {.iterations = 0}); }),
              HasSubstr("iterations must be from 1 to 1000"));
  EXPECT_THAT(refusal_here([&] { spectral_norm(w, {.epsilon = 0}); }),
              HasSubstr("epsilon must be above 0"));
}

}  // namespace
}  // namespace trireme::nn
