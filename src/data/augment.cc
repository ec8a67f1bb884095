// Random changes of pictures, one example at a time; mixup.cc has the one that joins two.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/number_text.h"
#include "data/picture_change.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

// Copies the window of `to`'s size at (top, left) of the picture with a black border around it.
void crop(const float* in, const Picture& from, float* out, const Picture& to, std::int64_t top,
          std::int64_t left) {
  const std::int64_t x_begin = std::clamp<std::int64_t>(-left, 0, to.width);
  const std::int64_t x_end = std::clamp<std::int64_t>(from.width - left, x_begin, to.width);
  for (std::int64_t c = 0; c < to.channels; ++c) {
    for (std::int64_t y = 0; y < to.height; ++y, out += to.width) {
      const std::int64_t row = top + y;
      const bool inside = row >= 0 && row < from.height;
      std::fill(out, out + (inside ? x_begin : to.width), 0.0f);
      if (!inside) continue;
      const float* source = in + (c * from.height + row) * from.width + left;
      std::copy(source + x_begin, source + x_end, out + x_begin);
      std::fill(out + x_end, out + to.width, 0.0f);
    }
  }
}

// from + factor * (x - from), kept in [0, 1].
float blend(float from, float x, float factor) {
  return std::clamp(from + factor * (x - from), 0.0f, 1.0f);
}

void jitter(float* picture, const Picture& size, float brightness, float contrast,
            float saturation) {
  const std::int64_t n = size.pixels();
  for (std::int64_t i = 0; i < size.elements(); ++i) {
    picture[i] = blend(0.0f, picture[i], brightness);
  }
  double sum = 0;
  for (std::int64_t p = 0; p < n; ++p) sum += gray_at(picture, size, p);
  const auto mean = static_cast<float>(sum / static_cast<double>(n));
  for (std::int64_t i = 0; i < size.elements(); ++i) {
    picture[i] = blend(mean, picture[i], contrast);
  }
  for (std::int64_t p = 0; p < n && size.channels == 3; ++p) {
    const float gray = gray_at(picture, size, p);
    for (int c = 0; c < 3; ++c) picture[c * n + p] = blend(gray, picture[c * n + p], saturation);
  }
}

std::string text(std::int64_t number) { return std::to_string(number); }

}  // namespace

Dataset Dataset::augmented(std::shared_ptr<const Source> source) const {
  Dataset result = *this;
  result.source_ = std::move(source);
  ++result.stages_;
  return result;
}

Dataset Dataset::random_crop(std::int64_t size, const CropOptions& options) const {
  const std::string column = picture_column("random_crop", *this);
  const Picture from = picture_of(*this, column);
  constexpr std::int64_t kMaxPadding = 1 << 16;
  if (options.padding < 0 || options.padding > kMaxPadding) {
    fail_usage("random_crop: the padding is " + text(options.padding) + ", must be 0 to " +
               text(kMaxPadding));
  }
  const std::int64_t down = from.height + 2 * options.padding - size;
  const std::int64_t right = from.width + 2 * options.padding - size;
  if (size < 1 || down < 0 || right < 0) {
    fail_usage("random_crop: " + text(size) + " x " + text(size) +
               " does not fit into pictures of " + text(from.width) + " x " + text(from.height) +
               " with a padding of " + text(options.padding));
  }
  const Picture to{from.channels, size, size};
  const std::int64_t padding = options.padding;
  const auto apply = [=](const float* in, float* out, ExampleRandom& random) {
    const std::int64_t top = random.below(down + 1) - padding;
    crop(in, from, out, to, top, random.below(right + 1) - padding);
  };
  return augmented(changed_pictures(source_, column, {apply, to, false, options.seed}, stages_));
}

Dataset Dataset::flip(const FlipOptions& options) const {
  const std::string column = picture_column("flip", *this);
  const Picture size = picture_of(*this, column);
  if (!(options.probability >= 0 && options.probability <= 1)) {
    fail_usage("flip: the probability is " + float_text(options.probability) +
               ", must be in [0, 1]");
  }
  const auto apply = [size, probability = options.probability](const float*, float* out,
                                                               ExampleRandom& random) {
    if (random.uniform() >= probability) return;
    for (std::int64_t y = 0; y < size.channels * size.height; ++y, out += size.width) {
      std::reverse(out, out + size.width);
    }
  };
  return augmented(changed_pictures(source_, column, {apply, size, true, options.seed}, stages_));
}

Dataset Dataset::color_jitter(const JitterOptions& options) const {
  const std::string column = picture_column("color_jitter", *this);
  const Picture size = picture_of(*this, column);
  for (const double value : {options.brightness, options.contrast, options.saturation}) {
    if (!(value >= 0 && value <= 100)) {
      fail_usage("color_jitter: " + float_text(value) + " is not in [0, 100]");
    }
  }
  const auto apply = [size, options](const float*, float* out, ExampleRandom& random) {
    const auto factor = [&](double range) {
      const double min = std::max(0.0, 1 - range);
      return static_cast<float>(min + random.uniform() * (1 + range - min));
    };
    const float brightness = factor(options.brightness);
    const float contrast = factor(options.contrast);
    jitter(out, size, brightness, contrast, factor(options.saturation));
  };
  return augmented(changed_pictures(source_, column, {apply, size, true, options.seed}, stages_));
}

Dataset Dataset::cutout(std::int64_t side, const CutoutOptions& options) const {
  const std::string column = picture_column("cutout", *this);
  const Picture size = picture_of(*this, column);
  constexpr std::int64_t kMax = 1 << 20;
  if (side < 1 || side > kMax)
    fail_usage("cutout: the size is " + text(side) + ", must be at least 1");
  const auto apply = [size, side](const float*, float* out, ExampleRandom& random) {
    const std::int64_t top = random.below(size.height) - side / 2;
    const std::int64_t left = random.below(size.width) - side / 2;
    const std::int64_t x_begin = std::max<std::int64_t>(left, 0);
    const std::int64_t x_end = std::min(left + side, size.width);
    for (std::int64_t c = 0; c < size.channels; ++c) {
      for (std::int64_t y = std::max<std::int64_t>(top, 0); y < std::min(top + side, size.height);
           ++y) {
        float* row = out + (c * size.height + y) * size.width;
        std::fill(row + x_begin, row + std::max(x_begin, x_end), 0.0f);
      }
    }
  };
  return augmented(changed_pictures(source_, column, {apply, size, true, options.seed}, stages_));
}

Dataset Dataset::normalize(const std::vector<float>& mean, const std::vector<float>& stddev) const {
  const std::string column = picture_column("normalize", *this);
  const Picture size = picture_of(*this, column);
  const auto spread = [&](std::vector<float> values, const char* what) {
    const auto channels = static_cast<std::size_t>(size.channels);
    if (values.size() == 1) values.resize(channels, values[0]);
    if (values.size() != channels) {
      fail_usage(std::string("normalize: ") + what + " has " + std::to_string(values.size()) +
                 " values, the pictures have " + std::to_string(channels) + " channels");
    }
    return values;
  };
  const std::vector<float> means = spread(mean, "mean");
  const std::vector<float> deviations = spread(stddev, "stddev");
  for (const float value : deviations) {
    if (!(value > 0)) fail_usage("normalize: a deviation must be above 0");
  }
  const auto apply = [=](const float*, float* out, ExampleRandom&) {
    for (std::size_t c = 0; c < means.size(); ++c) {
      for (std::int64_t p = 0; p < size.pixels(); ++p, ++out)
        *out = (*out - means[c]) / deviations[c];
    }
  };
  return augmented(changed_pictures(source_, column, {apply, size, true, 0}, stages_));
}

}  // namespace trireme::data
