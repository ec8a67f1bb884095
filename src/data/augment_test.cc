// Tests each augmentation against its formula, and that results do not depend on the caller and the
// order of calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/testing/error.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

using ::testing::HasSubstr;

// n pictures [channels, height, width]; every value tells picture and place, in (0, 1].
Dataset pictures(std::int64_t n, std::int64_t channels, std::int64_t height, std::int64_t width) {
  Tensor image(f32, {n, channels, height, width});
  Tensor label(i64, {n});
  for (std::int64_t i = 0; i < image.elements(); ++i) {
    image.data<float>()[i] = static_cast<float>(i + 1) / static_cast<float>(image.elements());
  }
  for (std::int64_t i = 0; i < n; ++i) label.data<std::int64_t>()[i] = i % 3;
  return from_tensors({{"image", image}, {"label", label}}, {"a", "b", "c"});
}

Tensor images(const Dataset& data, std::vector<std::int64_t> rows, std::int64_t epoch = 0) {
  return data.gather(rows, epoch).at("image");
}

std::vector<std::int64_t> counting(std::int64_t n) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < n; ++i) rows.push_back(i);
  return rows;
}

TEST(Augment, CropTakesEveryWindowEquallyOften) {
  // A 4 x 4 window of a 4 x 4 picture with a border of 1: nine places, each about 1000 times in
  // 9000; chi-square with 8 degrees of freedom lies below 26.1 with probability 0.999.
  const std::int64_t n = 9000;
  const Dataset plain = pictures(n, 2, 4, 4);
  const Tensor in = plain.all().at("image");
  const Tensor out = plain.random_crop(4, {.padding = 1}).all().at("image");
  const auto at = [&](std::int64_t i, std::int64_t c, std::int64_t y, std::int64_t x) {
    const bool inside = y >= 0 && y < 4 && x >= 0 && x < 4;
    return inside ? in.data<float>()[((i * 2 + c) * 4 + y) * 4 + x] : 0.0f;
  };
  std::map<std::pair<int, int>, int> counts;
  for (std::int64_t i = 0; i < n; ++i) {
    for (int top = -1; top <= 1; ++top) {
      for (int left = -1; left <= 1; ++left) {
        bool same = true;
        for (std::int64_t k = 0; k < 32; ++k) {
          same &= out.data<float>()[i * 32 + k] == at(i, k / 16, top + k / 4 % 4, left + k % 4);
        }
        if (same) ++counts[{top, left}];
      }
    }
  }
  ASSERT_EQ(counts.size(), 9u);
  double chi = 0;
  int sum = 0;
  for (const auto& [place, count] : counts) chi += std::pow(count - 1000, 2) / 1000, sum += count;
  EXPECT_EQ(sum, n);
  EXPECT_LT(chi, 26.1);
}

TEST(Augment, CropMayMakePicturesSmallerOrLarger) {
  EXPECT_EQ(pictures(1, 3, 5, 7).random_crop(3).column("image").shape,
            (std::vector<std::int64_t>{3, 3, 3}));
  const Dataset larger = pictures(1, 1, 2, 2).random_crop(8, {.padding = 3});
  const Tensor out = larger.all().at("image");
  EXPECT_EQ(out.type_str(), "f32[1, 1, 8, 8]");
  double sum = 0;
  for (const float value : out.to_vector<float>()) sum += value;
  EXPECT_NEAR(sum, 0.25 + 0.5 + 0.75 + 1, 1e-6);
}

TEST(Augment, FlipMirrorsRowsHalfTheTime) {
  const std::int64_t n = 10000;
  const Dataset plain = pictures(n, 1, 1, 3);
  const Tensor in = plain.all().at("image");
  const Tensor out = plain.flip().all().at("image");
  int flipped = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float* a = in.data<float>() + 3 * i;
    const float* b = out.data<float>() + 3 * i;
    if (a[0] == b[2]) {
      ++flipped;
      EXPECT_TRUE(a[1] == b[1] && a[2] == b[0]);
    } else {
      EXPECT_TRUE(std::equal(a, a + 3, b));
    }
  }
  EXPECT_NEAR(flipped, n / 2, 4 * 50);  // four deviations
  EXPECT_TRUE(equal(plain.flip({.probability = 0}).all().at("image"), in));
}

TEST(Augment, ColourJitterFollowsItsFormulas) {
  const Dataset one = from_tensors(
      {{"image", Tensor::from<float>({1, 3, 1, 2}, {0.1f, 0.3f, 0.2f, 0.3f, 0.4f, 0.3f})}});
  const std::vector<float> in = one.all().at("image").to_vector<float>();
  const auto gray = [&](const std::vector<float>& v, std::size_t p) {
    return 0.299f * v[p] + 0.587f * v[2 + p] + 0.114f * v[4 + p];
  };
  std::set<float> factors;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto out = [&](JitterOptions options) {
      options.seed = seed;
      return one.color_jitter(options).all().at("image").to_vector<float>();
    };
    const auto bright = out({.brightness = 0.5, .contrast = 0, .saturation = 0});
    const float factor = bright[0] / in[0];
    factors.insert(factor);
    EXPECT_GE(factor, 0.5f - 1e-5f);
    EXPECT_LE(factor, 1.5f + 1e-5f);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(bright[i], in[i] * factor, 1e-6);

    const auto contrast = out({.brightness = 0, .contrast = 0.5, .saturation = 0});
    const float mean = (gray(in, 0) + gray(in, 1)) / 2;
    const float stretch = (contrast[0] - mean) / (in[0] - mean);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(contrast[i], mean + stretch * (in[i] - mean), 1e-6);
    }

    const auto saturated = out({.brightness = 0, .contrast = 0, .saturation = 0.5});
    EXPECT_NEAR(gray(saturated, 0), gray(in, 0), 1e-6);
    EXPECT_NEAR(saturated[1], 0.3f, 1e-6);  // gray stays gray
  }
  EXPECT_GT(factors.size(), 190u);
  EXPECT_LT(*factors.begin(), 0.55f);
  EXPECT_GT(*factors.rbegin(), 1.45f);
}

TEST(Augment, CutoutBlackensOneSquare) {
  const std::int64_t n = 500;
  const Tensor out = pictures(n, 2, 6, 6).cutout(3).all().at("image");
  std::set<std::int64_t> sizes;
  for (std::int64_t i = 0; i < n; ++i) {
    const float* picture = out.data<float>() + i * 72;
    std::int64_t black = 0;
    for (int p = 0; p < 36; ++p) {
      EXPECT_EQ(picture[p] == 0, picture[36 + p] == 0);  // the same in all channels
      black += picture[p] == 0 ? 1 : 0;
    }
    sizes.insert(black);
  }
  EXPECT_EQ(sizes, (std::set<std::int64_t>{4, 6, 9}));  // at corners, at edges, inside
}

TEST(Augment, NormaliseUsesOneMeanForEachChannel) {
  const Dataset data = from_tensors({{"image", Tensor::from<float>({1, 2, 1, 2}, {1, 2, 3, 4})}});
  EXPECT_TRUE(equal(data.normalize({1, 2}, {2, 4}).all().at("image"),
                    Tensor::from<float>({1, 2, 1, 2}, {0, 0.5f, 0.25f, 0.5f})));
  EXPECT_TRUE(equal(data.normalize({1}, {1}).all().at("image"),
                    Tensor::from<float>({1, 2, 1, 2}, {0, 1, 2, 3})));
}

TEST(Augment, MixupMixesPicturesAndLabelsAlike) {
  const Dataset plain = pictures(3000, 1, 1, 2);
  const Batch in = plain.all();
  const Batch out = plain.mixup({.alpha = 0.5}).all();
  EXPECT_EQ(out.at("label").type_str(), "f32[3000, 3]");
  double sum = 0;
  double squares = 0;
  for (std::int64_t i = 0; i < 3000; ++i) {
    const float* label = out.at("label").data<float>() + 3 * i;
    const float share = label[i % 3];
    EXPECT_NEAR(label[0] + label[1] + label[2], 1, 1e-6);
    EXPECT_NEAR(label[(i + 1) % 3], 1 - share, 1e-6);
    const std::int64_t j = (i + 1) % 3000;
    const float* x = in.at("image").data<float>();
    EXPECT_NEAR(out.at("image").data<float>()[2 * i], share * x[2 * i] + (1 - share) * x[2 * j],
                1e-6);
    sum += share;
    squares += (share - 0.5) * (share - 0.5);
  }
  // Beta(a, a) has mean 1/2 and variance 1 / (4 (2a + 1)).
  EXPECT_NEAR(sum / 3000, 0.5, 0.026);
  EXPECT_NEAR(squares / 3000, 1.0 / 8, 0.008);
}

TEST(Augment, DependsOnSeedEpochAndExampleAlone) {
  const Dataset plain = pictures(200, 3, 8, 8);
  const auto chain = [&](std::uint64_t seed) {
    return plain.random_crop(8, {.padding = 2, .seed = seed})
        .flip({.seed = seed})
        .color_jitter({.seed = seed})
        .cutout(3, {.seed = seed});
  };
  const Dataset data = chain(5);
  const Tensor whole = images(data, counting(200), 3);
  for (const std::int64_t row : {0, 7, 199}) {
    EXPECT_TRUE(equal(images(data, {row}, 3), whole.rows(row, row + 1).clone()));
  }
  EXPECT_FALSE(equal(images(data, counting(200), 4), whole));
  EXPECT_FALSE(equal(images(chain(6), counting(200), 3), whole));
  EXPECT_TRUE(equal(images(chain(5), counting(200), 3), whole));
  // Epochs of a stream are the epochs of the pictures, whatever the threads.
  for (const int threads : {1, 2, 5}) {
    std::int64_t at = 0;
    for (Batch& batch : data.batch(32, {.threads = threads}).epoch(3)) {
      const std::int64_t count = batch.at("image").dim(0);
      EXPECT_TRUE(equal(batch.at("image"), whole.rows(at, at + count).clone()));
      at += count;
    }
    EXPECT_EQ(at, 200);
  }
}

TEST(Augment, TwoOfAKindAreIndependent) {
  // Were both flips drawn alike, the second would undo the first every time.
  const Dataset plain = pictures(1000, 1, 1, 2);
  const Tensor in = plain.all().at("image");
  const Tensor out = plain.flip().flip().all().at("image");
  int unchanged = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    unchanged += in.data<float>()[2 * i] == out.data<float>()[2 * i] ? 1 : 0;
  }
  EXPECT_NEAR(unchanged, 500, 70);
}

TEST(Augment, SaysWhatDoesNotFit) {
  const Dataset data = pictures(4, 3, 8, 8);
  EXPECT_THAT(error_of([&] { data.random_crop(9); }), HasSubstr("9 x 9 does not fit"));
  EXPECT_THAT(error_of([&] { data.random_crop(4, {.padding = -1}); }), HasSubstr("padding is -1"));
  EXPECT_THAT(error_of([&] { data.flip({.probability = 2}); }), HasSubstr("probability"));
  EXPECT_THAT(error_of([&] { data.color_jitter({.contrast = -1}); }), HasSubstr("-1"));
  EXPECT_THAT(error_of([&] { data.cutout(0); }), HasSubstr("size is 0"));
  EXPECT_THAT(error_of([&] { data.normalize({1, 2}, {1}); }), HasSubstr("3 channels"));
  EXPECT_THAT(error_of([&] { data.normalize({0}, {0}); }), HasSubstr("above 0"));
  EXPECT_THAT(error_of([&] { data.mixup({.alpha = 0}); }), HasSubstr("alpha"));
  EXPECT_THAT(error_of([&] { data.mixup({.classes = 2}).all(); }), HasSubstr("label 2"));
  const Dataset numbers = from_tensors({{"x", Tensor(f32, {3, 2})}, {"id", Tensor(i64, {3})}});
  EXPECT_THAT(error_of([&] { numbers.flip(); }), HasSubstr("no column of pictures"));
  EXPECT_THAT(error_of([&] { numbers.mixup(); }), HasSubstr("column id"));
}

}  // namespace
}  // namespace trireme::data
