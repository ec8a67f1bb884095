// Changes that move pixels are tested with ramps, which bilinear interpolation reproduces exactly,
// and filters with a single bright pixel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "base/testing/error.h"
#include "data/random.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

using ::testing::HasSubstr;
using Formula = std::function<double(std::int64_t c, double y, double x)>;

// n equal pictures whose pixels are formula(channel, y, x).
Dataset drawn(std::int64_t n, std::int64_t channels, std::int64_t height, std::int64_t width,
              const Formula& formula) {
  Tensor image(f32, {n, channels, height, width});
  float* to = image.data<float>();
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) {
          *to++ = static_cast<float>(formula(c, static_cast<double>(y), static_cast<double>(x)));
        }
      }
    }
  }
  return from_tensors({{"image", image}});
}

double ramp(std::int64_t c, double y, double x) {
  return 0.01 * static_cast<double>(c + 1) + 0.02 * y + 0.003 * x;
}

// Pixel [i, c, y, x].
double pixel(const Tensor& images, std::int64_t i, std::int64_t c, std::int64_t y, std::int64_t x) {
  const auto place = ((i * images.dim(1) + c) * images.dim(2) + y) * images.dim(3) + x;
  return static_cast<double>(images.data<float>()[place]);
}

TEST(AugmentGeometry, ResizeKeepsRampsAndRepeatsEdges) {
  const Tensor small = drawn(1, 2, 12, 20, ramp).resize(4, 5).all().at("image");
  ASSERT_EQ(small.shape(), (std::vector<std::int64_t>{1, 2, 4, 5}));
  for (std::int64_t y = 0; y < 4; ++y) {
    for (std::int64_t x = 0; x < 5; ++x) {
      const double row = (static_cast<double>(y) + 0.5) * 3 - 0.5;
      const double column = (static_cast<double>(x) + 0.5) * 4 - 0.5;
      EXPECT_NEAR(pixel(small, 0, 1, y, x), ramp(1, row, column), 1e-6);
    }
  }
  // PyTorch gives 0, 0.25, 0.75 and 1 for two pixels 0 and 1.
  const auto column = [](std::int64_t, double, double x) { return x; };
  const Tensor large = drawn(1, 1, 1, 2, column).resize(3, 4).all().at("image");
  for (std::int64_t y = 0; y < 3; ++y) {
    EXPECT_EQ(pixel(large, 0, 0, y, 0), 0);
    EXPECT_EQ(pixel(large, 0, 0, y, 1), 0.25);
    EXPECT_EQ(pixel(large, 0, 0, y, 2), 0.75);
    EXPECT_EQ(pixel(large, 0, 0, y, 3), 1);
  }
}

TEST(AugmentGeometry, CenterCropCopiesPixels) {
  const Tensor middle = drawn(1, 1, 7, 6, ramp).center_crop(3).all().at("image");
  for (std::int64_t y = 0; y < 3; ++y) {
    for (std::int64_t x = 0; x < 3; ++x) {
      EXPECT_EQ(pixel(middle, 0, 0, y, x), static_cast<float>(ramp(0, static_cast<double>(y + 2),
                                                                   static_cast<double>(x + 1))));
    }
  }
}

// A resized window of a ramp is a ramp, whose slopes are the sizes of the window.
TEST(AugmentGeometry, ResizedCropsHaveTheWantedAreasAndShapes) {
  constexpr std::int64_t kSide = 60, kTo = 10, kCount = 400;
  const ResizedCropOptions options{.min_area = 0.25, .max_area = 0.8, .seed = 3};
  const Tensor made =
      drawn(kCount, 1, kSide, kSide, ramp).random_resized_crop(kTo, options).all().at("image");
  double smallest = 1, largest = 0, mean = 0;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const double origin = pixel(made, i, 0, 0, 0);
    const double height = (pixel(made, i, 0, kTo - 1, 0) - origin) / (kTo - 1) / 0.02 * kTo;
    const double width = (pixel(made, i, 0, 0, kTo - 1) - origin) / (kTo - 1) / 0.003 * kTo;
    EXPECT_NEAR(height, std::round(height), 1e-2);
    EXPECT_NEAR(width, std::round(width), 1e-2);
    EXPECT_GT(width / height, 0.75 - 0.05);
    EXPECT_LT(width / height, 4.0 / 3 + 0.05);
    const double area = width * height / (kSide * kSide);
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
    mean += area / kCount;
  }
  EXPECT_NEAR(smallest, 0.25, 0.03);
  EXPECT_NEAR(largest, 0.8, 0.03);
  EXPECT_NEAR(mean, 0.525, 0.03);
  // No window of this shape fits: the largest one in the middle.
  const ResizedCropOptions wide{.min_area = 1, .max_area = 1, .min_ratio = 4, .max_ratio = 4};
  const Tensor middle = drawn(1, 1, 8, 8, ramp).random_resized_crop(2, wide).all().at("image");
  EXPECT_NEAR(pixel(middle, 0, 0, 0, 0), ramp(0, 3, 1.5), 1e-6);
  EXPECT_NEAR(pixel(middle, 0, 0, 1, 1), ramp(0, 4, 5.5), 1e-6);
}

TEST(AugmentGeometry, VerticalFlipReversesRows) {
  for (const std::int64_t height : {1, 4, 5}) {
    const Dataset data = drawn(1, 2, height, 3, ramp);
    const Tensor in = data.all().at("image");
    const Tensor out = data.vertical_flip({.probability = 1}).all().at("image");
    const Tensor same = data.vertical_flip({.probability = 0}).all().at("image");
    for (std::int64_t k = 0; k < 2 * height * 3; ++k) {
      const std::int64_t c = k / (3 * height), y = k / 3 % height, x = k % 3;
      EXPECT_EQ(pixel(out, 0, c, y, x), pixel(in, 0, c, height - 1 - y, x));
      EXPECT_EQ(pixel(same, 0, c, y, x), pixel(in, 0, c, y, x));
    }
  }
}

TEST(AugmentGeometry, RotateTurnsCounterClockwise) {
  constexpr std::int64_t kSide = 21, kCount = 20;
  const Tensor out =
      drawn(kCount, 1, kSide, kSide, ramp).rotate(180, {.seed = 9}).all().at("image");
  for (std::int64_t i = 0; i < kCount; ++i) {
    ExampleRandom random(9, random_stream(0, 0), i);
    const double angle = (2 * random.uniform() - 1) * std::numbers::pi;
    for (std::int64_t y = 4; y <= 16; ++y) {
      for (std::int64_t x = 4; x <= 16; ++x) {  // whose places lie inside at every angle
        const double up = 10 - static_cast<double>(y), right = static_cast<double>(x) - 10;
        // Back by the angle, with the y axis upwards.
        const double from_right = right * std::cos(angle) + up * std::sin(angle);
        const double from_up = up * std::cos(angle) - right * std::sin(angle);
        EXPECT_NEAR(pixel(out, i, 0, y, x), ramp(0, 10 - from_up, 10 + from_right), 1e-5);
      }
    }
  }
  const Tensor still = drawn(1, 1, 4, 6, ramp).rotate(0).all().at("image");
  EXPECT_NEAR(pixel(still, 0, 0, 3, 5), ramp(0, 3, 5), 1e-6);
  EXPECT_NEAR(pixel(still, 0, 0, 0, 0), ramp(0, 0, 0), 1e-6);
}

TEST(AugmentGeometry, GrayscaleHasTheBrightness) {
  const Dataset data = drawn(1, 3, 2, 2, ramp);
  const Tensor out = data.grayscale({.probability = 1}).all().at("image");
  for (std::int64_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(pixel(out, 0, c, 1, 1),
                0.299 * ramp(0, 1, 1) + 0.587 * ramp(1, 1, 1) + 0.114 * ramp(2, 1, 1), 1e-6);
  }
  const Dataset gray = drawn(1, 1, 2, 2, ramp);
  EXPECT_EQ(pixel(gray.grayscale({.probability = 1}).all().at("image"), 0, 0, 1, 0),
            pixel(gray.all().at("image"), 0, 0, 1, 0));
}

TEST(AugmentGeometry, BlurSpreadsAPixelAsAGaussian) {
  constexpr double kSigma = 1.5;
  const auto bright = [](std::int64_t, double y, double x) {
    return y == 10 && x == 12 ? 1.0 : 0.0;
  };
  const BlurOptions options{.min_sigma = kSigma, .max_sigma = kSigma};
  const Tensor out = drawn(1, 1, 21, 25, bright).blur(options).all().at("image");
  double sum = 0, norm = 0;
  for (int k = -5; k <= 5; ++k) norm += std::exp(-k * k / (2 * kSigma * kSigma));
  for (std::int64_t y = 0; y < 21; ++y) {
    for (std::int64_t x = 0; x < 25; ++x) {
      const auto dy = static_cast<double>(y - 10), dx = static_cast<double>(x - 12);
      const bool inside = std::abs(dy) <= 5 && std::abs(dx) <= 5;
      const double expected =
          inside ? std::exp(-(dy * dy + dx * dx) / (2 * kSigma * kSigma)) / (norm * norm) : 0;
      EXPECT_NEAR(pixel(out, 0, 0, y, x), expected, 1e-7);
      sum += pixel(out, 0, 0, y, x);
    }
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  const auto flat = [](std::int64_t, double, double) { return 0.75; };
  EXPECT_NEAR(pixel(drawn(1, 1, 1, 1, flat).blur().all().at("image"), 0, 0, 0, 0), 0.75, 1e-6);
}

TEST(AugmentGeometry, OtherEpochsDiffer) {
  const Dataset data = drawn(4, 1, 16, 16, ramp).random_resized_crop(8).rotate(30).blur();
  const std::vector<std::int64_t> rows{0, 1, 2, 3};
  const Tensor first = data.gather(rows, 0).at("image"), again = data.gather(rows, 0).at("image");
  EXPECT_EQ(first.to_vector<float>(), again.to_vector<float>());
  EXPECT_NE(first.to_vector<float>(), data.gather(rows, 1).at("image").to_vector<float>());
}

TEST(AugmentGeometry, ErrorsSayWhatIsAllowed) {
  const Dataset data = drawn(1, 1, 8, 8, ramp);
  EXPECT_THAT(error_of([&] { data.random_resized_crop(0); }), HasSubstr("must be 1 to 16384"));
  EXPECT_THAT(error_of([&] { data.random_resized_crop(4, {.min_area = 0}); }),
              HasSubstr("areas must be"));
  EXPECT_THAT(error_of([&] { data.random_resized_crop(4, {.min_ratio = 2, .max_ratio = 1}); }),
              HasSubstr("ratios"));
  EXPECT_THAT(error_of([&] { data.center_crop(9); }), HasSubstr("does not fit"));
  EXPECT_THAT(error_of([&] { data.rotate(NAN); }), HasSubstr("must be in [0, 360]"));
  EXPECT_THAT(error_of([&] { data.blur({.min_sigma = 0}); }), HasSubstr("min_sigma"));
  EXPECT_THAT(error_of([&] { data.grayscale({.probability = 2}); }), HasSubstr("in [0, 1]"));
  EXPECT_THAT(error_of([&] { data.vertical_flip({.probability = -1}); }), HasSubstr("in [0, 1]"));
  EXPECT_THAT(error_of([&] { data.resize(1, 1 << 20); }), HasSubstr("must be 1 to 16384"));
}

}  // namespace
}  // namespace trireme::data
