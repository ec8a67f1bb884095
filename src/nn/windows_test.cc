// Shapes and errors of convolutions, pooling and small layers. The conformance suite compares their
// numbers with PyTorch.

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "nn/testing/running.h"
#include "trireme/convolution.h"

namespace trireme::nn {
namespace {

using ops::RefTensor;
using ops::RefTensors;
using ::testing::HasSubstr;

TEST(Conv1d, HasTheExpectedLengthsAndWeights) {
  Program program;
  const Value x = program.input("x", f32, {batch, 6, 20});
  EXPECT_EQ(conv1d(x, {.channels = 4}).shape(), (Shape{batch, 4, 18}));
  EXPECT_EQ(conv1d(x, {.channels = 4, .stride = 3, .padding = "same"}).shape(),
            (Shape{batch, 4, 7}));
  EXPECT_EQ(conv1d(x, {.channels = 4, .padding = {2, 0}, .groups = 2}).shape(),
            (Shape{batch, 4, 20}));
  EXPECT_EQ(program.find("conv1d_2.weight").shape(), (Shape{4, 3, 3}));
  EXPECT_THAT(refusal_here([&] { conv1d(x, Conv1dOptions{}); }),
              HasSubstr("channels must be at least 1"));
  EXPECT_THAT(refusal_here([&] { conv1d(x, {.channels = 4, .groups = 4}); }),
              HasSubstr("6 channels cannot be divided into 4 groups"));
  EXPECT_THAT(refusal_here([&] { conv1d(program.input("row", f32, {batch, 8}), {.channels = 4}); }),
              HasSubstr("not a batch of lines"));
  EXPECT_THROW(Padding1d("some"), Error);
}

TEST(Unpooling, PlacesMaximaAndRefusesOtherShapes) {
  Program program;
  const Value x = program.input("x", f64, {batch, 1, 3, 4});
  // Of equal elements the first, and NaN as the largest, in windows that share a column.
  const PooledMaxima y = max_pool_with_indices(x, {.kernel = {3, 2}, .stride = Pair(3, 1)});
  EXPECT_EQ(y.indices.shape(), (Shape{batch, 1, 1, 3}));
  RefTensors none;
  const double nan = std::nan("");
  const RefTensors inputs{{"x", tensor({1, 1, 3, 4}, {5, 1, 2, nan, 5, 7, 3, 4, 0, 7, 6, 9})}};
  EXPECT_EQ(run(program, y.indices, inputs, none).data, (std::vector<double>{5, 5, 3}));
  // Two windows have one maximum: once, not added.
  const Value back = max_unpool(y.values, y.indices, {3, 4});
  EXPECT_EQ(back.shape(), (Shape{batch, 1, 3, 4}));
  const RefTensor placed = run(program, back, inputs, none);
  EXPECT_EQ(placed.data[5], 7);
  EXPECT_TRUE(std::isnan(placed.data[3]));
  EXPECT_EQ(placed.data[11], 0);
  EXPECT_THROW(run(program, max_unpool(y.values, y.indices, 2), inputs, none), Error);
  EXPECT_THAT(refusal_here([&] { max_unpool(x, y.indices, {3, 4}); }),
              HasSubstr("the shape that pooling returned"));
  EXPECT_THAT(refusal_here([&] { max_unpool(y.indices, y.indices, {3, 4}); }),
              HasSubstr("f32 or f64"));
  EXPECT_THAT(refusal_here([&] { max_unpool(y.values, y.indices, {-1, 4}); }),
              HasSubstr("negative"));
  EXPECT_THAT(refusal_here([&] { max_pool1d_with_indices(x, {}); }),
              HasSubstr("not a batch of lines"));
  EXPECT_THAT(refusal_here([&] { max_pool3d_with_indices(x, {}); }),
              HasSubstr("not a batch of volumes"));
}

TEST(ConvTranspose, HasTheExpectedSizesAndWeights) {
  Program program;
  const Value x = program.input("x", f32, {batch, 6, 5, 7});
  EXPECT_EQ(conv_transpose2d(x, {.channels = 4, .kernel = 2, .stride = 2}).shape(),
            (Shape{batch, 4, 10, 14}));
  EXPECT_EQ(program.find("conv_transpose2d_0.weight").shape(), (Shape{6, 4, 2, 2}));
  EXPECT_EQ(conv_transpose2d(x, {.channels = 4, .stride = {2, 3}, .padding = "same"}).shape(),
            (Shape{batch, 4, 10, 21}));
  // A kernel smaller than the stride leaves gaps.
  EXPECT_EQ(
      conv_transpose2d(x, {.channels = 4, .kernel = 1, .stride = 3, .padding = "same"}).shape(),
      (Shape{batch, 4, 15, 21}));
  EXPECT_THAT(refusal_here([&] { conv_transpose2d(x, {.channels = 4, .output_padding = 1}); }),
              HasSubstr("output_padding must be less than the stride"));
  EXPECT_THAT(refusal_here([&] { conv_transpose2d(x, {.channels = 4, .padding = 9}); }),
              HasSubstr("the result is empty"));
  EXPECT_THAT(refusal_here([&] { conv_transpose2d(x, {.channels = 3, .groups = 2}); }),
              HasSubstr("3 channels of the result cannot be divided into 2 groups"));
  EXPECT_THAT(refusal_here([&] { conv_transpose2d(x, {.channels = 4, .stride = 0}); }),
              HasSubstr("stride and dilation must be at least 1"));
}

TEST(AdaptivePool, ReturnsImagesOfTheGivenSize) {
  Program program;
  const Value x = program.input("x", f32, {batch, 3, 7, 10});
  EXPECT_EQ(adaptive_avg_pool(x, {3, 4}).shape(), (Shape{batch, 3, 3, 4}));
  EXPECT_EQ(adaptive_max_pool(x, 12).shape(), (Shape{batch, 3, 12, 12}));
  EXPECT_THAT(refusal_here([&] { adaptive_avg_pool(x, 0); }), HasSubstr("must be at least 1"));
  EXPECT_THAT(refusal_here([&] { adaptive_max_pool(program.input("r", f32, {batch, 8}), 2); }),
              HasSubstr("not a batch of images"));
}

// Bins [0, 2), [1, 3) and [2, 4).
TEST(AdaptivePool, KeepsInfinityInItsBins) {
  Program program;
  const Value mean = adaptive_avg_pool(program.input("x", f64, {1, 1, 1, 4}), {1, 3});
  RefTensors none;
  const RefTensor x = tensor({1, 1, 1, 4}, {INFINITY, 1, 2, 4});
  EXPECT_EQ(run(program, mean, {{"x", x}}, none).data, (std::vector<double>{INFINITY, 1.5, 3}));
}

TEST(Volumes, HaveTheExpectedSizesAndWeights) {
  Program program;
  const Value x = program.input("x", f32, {batch, 4, 5, 6, 8});
  EXPECT_EQ(conv3d(x, {.channels = 6, .kernel = {1, 3, 2}, .groups = 2}).shape(),
            (Shape{batch, 6, 5, 4, 7}));
  EXPECT_EQ(program.find("conv3d_0.weight").shape(), (Shape{6, 2, 1, 3, 2}));
  EXPECT_EQ(conv3d(x, {.channels = 2, .stride = 2, .padding = "same"}).shape(),
            (Shape{batch, 2, 3, 3, 4}));
  EXPECT_EQ(max_pool3d(x, {}).shape(), (Shape{batch, 4, 2, 3, 4}));
  EXPECT_EQ(avg_pool3d(x, {.kernel = {1, 2, 4}}).shape(), (Shape{batch, 4, 5, 3, 2}));
  EXPECT_THAT(
      refusal_here([&] { conv3d(program.input("i", f32, {batch, 3, 8, 8}), {.channels = 2}); }),
      HasSubstr("not a batch of volumes"));
  EXPECT_THAT(refusal_here([&] { conv3d(x, {.channels = 2, .kernel = 6}); }),
              HasSubstr("does not fit into the depth 5"));
  EXPECT_THAT(refusal_here([&] { conv3d(x, Conv3dOptions{}); }),
              HasSubstr("channels must be at least 1"));
}

TEST(Im2Sequence, StepsAreWindows) {
  Program program;
  const Value x = program.input("x", f32, {batch, 3, 6, 8});
  EXPECT_EQ(im2sequence(x, {.kernel = 2}).shape(), (Shape{batch, 12, 12}));
  EXPECT_EQ(im2sequence(x, {.kernel = {6, 1}}).shape(), (Shape{batch, 8, 18}));
  EXPECT_EQ(im2sequence(x, {.kernel = 4}).shape(), (Shape{batch, 2, 48}));
  EXPECT_THAT(refusal_here([&] { im2sequence(x, {.kernel = 7}); }),
              HasSubstr("does not fit into 6"));
  EXPECT_THAT(refusal_here([&] { im2sequence(x, {.kernel = 0}); }), HasSubstr("at least 1"));
}

TEST(Pool1d, HasTheExpectedLengths) {
  Program program;
  const Value x = program.input("x", f32, {batch, 3, 10});
  EXPECT_EQ(max_pool1d(x, {}).shape(), (Shape{batch, 3, 5}));
  EXPECT_EQ(max_pool1d(x, {.kernel = 3, .ceil_mode = true}).shape(), (Shape{batch, 3, 4}));
  EXPECT_EQ(avg_pool1d(x, {.kernel = 3, .stride = 1, .padding = "same"}).shape(), x.shape());
  EXPECT_EQ(avg_pool1d(x, {.kernel = 3, .padding = {2, 0}}).shape(), (Shape{batch, 3, 4}));
  EXPECT_EQ(global_avg_pool1d(x).shape(), (Shape{batch, 3}));
  EXPECT_EQ(adaptive_max_pool1d(x, 4).shape(), (Shape{batch, 3, 4}));
  EXPECT_THAT(refusal_here([&] { adaptive_avg_pool1d(x, 0); }), HasSubstr("must be at least 1"));
  const Value empty = program.input("e", f32, {batch, 3, 0});
  EXPECT_THAT(refusal_here([&] { adaptive_avg_pool1d(empty, 2); }), HasSubstr("input is empty"));
  const Value image = program.input("i", f32, {batch, 3, 8, 8});
  for (const auto& pool : std::initializer_list<std::function<void()>>{
           [&] { max_pool1d(image, {}); }, [&] { avg_pool1d(image, {}); },
           [&] { global_avg_pool1d(image); }, [&] { global_max_pool1d(image); },
           [&] { adaptive_max_pool1d(image, 2); }, [&] { lp_pool1d(image); }}) {
    EXPECT_THAT(refusal_here(pool), HasSubstr("not a batch of lines"));
  }
}

TEST(Pool3d, AdaptiveAndGlobalPoolsRejectInvalidArguments) {
  Program program;
  const Value x = program.input("x", f32, {batch, 2, 4, 5, 6});
  EXPECT_EQ(adaptive_avg_pool3d(x, {3, 7, 2}).shape(), (Shape{batch, 2, 3, 7, 2}));
  EXPECT_EQ(global_max_pool3d(x).shape(), (Shape{batch, 2}));
  EXPECT_THAT(refusal_here([&] { adaptive_max_pool3d(x, {1, 0, 1}); }),
              HasSubstr("must be at least 1"));
  const Value row = program.input("row", f32, {batch, 2});
  EXPECT_THAT(refusal_here([&] { adaptive_avg_pool3d(row, 1); }), HasSubstr("batch of volumes"));
  EXPECT_THAT(refusal_here([&] { global_avg_pool3d(row); }), HasSubstr("batch of volumes"));
}

TEST(LpPool, OfZerosInfinityAndNan) {
  const RefTensor x = tensor({1, 1, 8}, {0, 0, 3, -4, INFINITY, 1, NAN, 1});
  for (const double power : {1.0, 2.0, 3.0}) {
    const RefTensor values =
        run_on(x, f64, {1, 1, 8}, [&](const Value& v) { return lp_pool1d(v, {.power = power}); });
    EXPECT_EQ(values.data[0], 0);
    EXPECT_NEAR(values.data[1], std::pow(std::pow(3, power) + std::pow(4, power), 1 / power),
                1e-12);
    EXPECT_EQ(values.data[2], INFINITY);
    EXPECT_TRUE(std::isnan(values.data[3]));
  }
  Program program;
  const Value image = program.input("x", f32, {batch, 3, 8, 8});
  EXPECT_EQ(lp_pool(image, {.kernel = {2, 4}}).shape(), (Shape{batch, 3, 4, 2}));
  EXPECT_THAT(refusal_here([&] { lp_pool(image, {.power = 0.5}); }),
              HasSubstr("the power must be a finite number, at least 1"));
  EXPECT_THAT(refusal_here([&] { lp_pool(image, {.power = INFINITY}); }), HasSubstr("max_pool"));
}

TEST(Fold, AddsUpWhatIm2SequenceCopies) {
  Program program;
  const Value ones = program.input("x", f64, {batch, 1, 4, 5});
  const Im2SequenceOptions options{.kernel = 3, .stride = Pair(1), .padding = 1};
  const Value counts = fold(im2sequence(ones, options),
                            {.size = {4, 5}, .kernel = 3, .stride = Pair(1), .padding = 1});
  EXPECT_EQ(counts.shape(), (Shape{batch, 1, 4, 5}));
  RefTensors none;
  // How many windows of a 3 by 3 kernel contain each element.
  const std::vector<double> expected{4, 6, 6, 6, 4, 6, 9, 9, 9, 6, 6, 9, 9, 9, 6, 4, 6, 6, 6, 4};
  const RefTensor input = tensor({1, 1, 4, 5}, std::vector<double>(20, 1));
  EXPECT_EQ(run(program, counts, {{"x", input}}, none).data, expected);
  // Infinity stays in its place.
  const RefTensor bright = tensor({1, 4, 1}, {1, INFINITY, 2, NAN});
  const std::vector<double> values =
      run_on(bright, f64, {1, 4, 1}, [](const Value& x) { return fold(x, {.size = 2}); }).data;
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], INFINITY);
  EXPECT_EQ(values[2], 2);
  EXPECT_TRUE(std::isnan(values[3]));
}

TEST(Fold, RejectsWindowsOfOtherImages) {
  Program program;
  const Value x = program.input("x", f32, {batch, 6, 8});
  EXPECT_EQ(fold(x, {.size = {4, 6}, .kernel = 2}).shape(), (Shape{batch, 2, 4, 6}));
  EXPECT_THAT(refusal_here([&] { fold(x, {.size = {4, 4}, .kernel = 2}); }),
              HasSubstr("such an image has 2 * 2 windows, but there are 6 steps"));
  EXPECT_THAT(refusal_here([&] { fold(x, {.size = {3, 9}, .kernel = {3, 1}}); }),
              HasSubstr("there are 6 steps"));
  EXPECT_THAT(refusal_here([&] { fold(x, {.size = {6, 3}, .kernel = {3, 1}}); }),
              HasSubstr("8 features cannot be divided into windows of 3 elements"));
  EXPECT_THAT(refusal_here([&] { fold(x, {.kernel = 2}); }), HasSubstr("set .size"));
  EXPECT_THAT(refusal_here([&] { fold(x, {.size = 4, .kernel = 0}); }), HasSubstr("at least 1"));
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_THAT(refusal_here([&] { fold(x, {.size = 4, .kernel = 3, .dilation = huge}); }),
              HasSubstr("sizes of 2^31 or more are too large"));
  EXPECT_THAT(refusal_here([&] { fold(x, {.size = 4, .kernel = 2, .padding = huge}); }),
              HasSubstr("padding of 2^31 or more is too large"));
  EXPECT_THAT(refusal_here([&] { fold(x, {.size = {4, 6}, .kernel = 2, .padding = -1}); }),
              HasSubstr("padding must not be negative"));
  EXPECT_THAT(refusal_here([&] { fold(program.input("s", f32, {batch, 8}), {.size = 4}); }),
              HasSubstr("must be [batch, steps, features]"));
}

TEST(ConvTranspose3d, HasTheExpectedSizesAndWeights) {
  Program program;
  const Value x = program.input("x", f32, {batch, 4, 3, 4, 5});
  EXPECT_EQ(conv_transpose3d(x, {.channels = 6, .stride = {1, 2, 3}, .groups = 2}).shape(),
            (Shape{batch, 6, 5, 9, 15}));
  EXPECT_EQ(program.find("conv_transpose3d_0.weight").shape(), (Shape{4, 3, 3, 3, 3}));
  EXPECT_EQ(conv_transpose3d(x, {.channels = 2, .stride = 2, .padding = "same"}).shape(),
            (Shape{batch, 2, 6, 8, 10}));
  EXPECT_THAT(refusal_here([&] { conv_transpose3d(x, ConvTranspose3dOptions{}); }),
              HasSubstr("channels must be at least 1"));
  EXPECT_THAT(refusal_here([&] { conv_transpose3d(x, {.channels = 3, .groups = 2}); }),
              HasSubstr("3 channels cannot be divided into 2 groups"));
  EXPECT_THAT(refusal_here([&] { conv_transpose3d(x, {.channels = 2, .output_padding = 1}); }),
              HasSubstr("output_padding must be less than the stride"));
  EXPECT_THAT(refusal_here([&] { conv_transpose3d(x, {.channels = 2, .padding = 4}); }),
              HasSubstr("the result is empty"));
  EXPECT_THAT(
      refusal_here([&] { conv_transpose3d(x, {.channels = 2, .padding = std::int64_t{1} << 62}); }),
      HasSubstr("below 2^31"));
  EXPECT_THAT(refusal_here([&] { conv_transpose3d(x, {.channels = 2, .stride = 0}); }),
              HasSubstr("at least 1"));
  EXPECT_THAT(
      refusal_here([&] { conv_transpose3d(program.input("i", f32, {batch, 3}), {.channels = 2}); }),
      HasSubstr("not a batch of volumes"));
}

TEST(GroupNorm, IsTheSameInInferenceAndRejectsInvalidGroups) {
  Program program;
  const Value x = program.input("x", f64, {batch, 4, 3, 3});
  const Value y = group_norm(x, {.groups = 2, .affine = false});
  RefTensors none;
  const RefTensors inputs{{"x", noise({2, 4, 3, 3})}};
  const RefTensor values = run(program, y, inputs, none);
  EXPECT_EQ(values.data, run(program, y, inputs, none, /*training=*/true).data);
  double total = 0, squares = 0;
  for (std::size_t i = 0; i < 18; ++i) {
    total += values.data[i];
    squares += values.data[i] * values.data[i];
  }
  EXPECT_NEAR(total, 0, 1e-12);
  EXPECT_NEAR(squares / 18, 1, 1e-4);
  EXPECT_THAT(refusal_here([&] { group_norm(x, {.groups = 3}); }),
              HasSubstr("4 channels cannot be divided into 3 groups"));
  EXPECT_THAT(refusal_here([&] { group_norm(x, {}); }), HasSubstr("0 groups"));
  EXPECT_THAT(refusal_here([&] { instance_norm(program.input("r", f64, {batch, 4})); }),
              HasSubstr("needs axes after axis 1"));
}

TEST(SmallLayers, RejectInvalidArguments) {
  Program program;
  const Value x = program.input("x", f64, {batch, 4}), y = program.input("y", f64, {batch, 3});
  prelu(x);
  EXPECT_EQ(program.find("prelu_0.weight").shape(), Shape{1});
  prelu(x, {.per_channel = true});
  EXPECT_EQ(program.find("prelu_1.weight").shape(), Shape{4});
  EXPECT_EQ(maxout(x).shape(), (Shape{batch, 2}));
  EXPECT_THAT(refusal_here([&] { maxout(y); }), HasSubstr("cannot be divided into runs of 2"));
  EXPECT_THAT(refusal_here([&] { maxout(y, {.axis = 2}); }), HasSubstr("there is no axis 2"));
  EXPECT_THAT(refusal_here([&] { cosine_similarity(x, y); }),
              HasSubstr("must have one float type"));
  EXPECT_THAT(refusal_here([&] { cosine_similarity(x, x, {.axis = 5}); }), HasSubstr("no axis 5"));
}

TEST(CosineSimilarity, OfZeroVectorsIsZero) {
  Program program;
  const Value x = program.input("x", f64, {batch, 2}), y = program.input("y", f64, {batch, 2});
  RefTensors none;
  const RefTensors inputs{{"x", tensor({2, 2}, {0, 0, 3, 4})}, {"y", tensor({2, 2}, {1, 2, 6, 8})}};
  const RefTensor values = run(program, cosine_similarity(x, y), inputs, none);
  EXPECT_EQ(values.data[0], 0);
  EXPECT_NEAR(values.data[1], 1, 1e-12);
}

}  // namespace
}  // namespace trireme::nn
