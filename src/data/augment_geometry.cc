// Changes of pictures that move pixels between their places, and filters.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "base/number_text.h"
#include "data/picture_change.h"

namespace trireme::data {
namespace {

// A window of a picture; pixel (y, x) has its center at (y, x).
struct Window {
  std::int64_t top, left, height, width;
};

// The two pixels on both sides of a place, and the weight of the second.
struct Between {
  std::int64_t first, second;
  float weight;
};

// Pixel i of `size` pixels that show `from` pixels.
Between resized(std::int64_t i, std::int64_t size, std::int64_t from) {
  const double scale = static_cast<double>(from) / static_cast<double>(size);
  const double last = static_cast<double>(from - 1);
  const double place = std::clamp((static_cast<double>(i) + 0.5) * scale - 0.5, 0.0, last);
  const auto first = static_cast<std::int64_t>(place);
  return {first, std::min(first + 1, from - 1),
          static_cast<float>(place - static_cast<double>(first))};
}

float mixed(float a, float b, float weight) { return a + weight * (b - a); }

void resize_window(const float* in, const Picture& from, const Window& window, float* out,
                   const Picture& to) {
  std::vector<Between> columns;
  for (std::int64_t x = 0; x < to.width; ++x) {
    columns.push_back(resized(x, to.width, window.width));
  }
  for (std::int64_t c = 0; c < to.channels; ++c) {
    const float* picture = in + c * from.pixels() + window.top * from.width + window.left;
    for (std::int64_t y = 0; y < to.height; ++y) {
      const Between row = resized(y, to.height, window.height);
      const float *above = picture + row.first * from.width,
                  *below = picture + row.second * from.width;
      for (const Between& x : columns) {
        *out++ = mixed(mixed(above[x.first], above[x.second], x.weight),
                       mixed(below[x.first], below[x.second], x.weight), row.weight);
      }
    }
  }
}

// A window of random area and shape. Areas are uniform, shapes uniform in their logarithm.
Window random_window(const Picture& size, const ResizedCropOptions& options,
                     ExampleRandom& random) {
  const auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  const double low = std::log(options.min_ratio), high = std::log(options.max_ratio);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double share =
        options.min_area + random.uniform() * (options.max_area - options.min_area);
    const double ratio = std::exp(low + random.uniform() * (high - low));
    const double area = share * height * width;
    const auto w = static_cast<std::int64_t>(std::llround(std::sqrt(area * ratio)));
    const auto h = static_cast<std::int64_t>(std::llround(std::sqrt(area / ratio)));
    if (w < 1 || h < 1 || w > size.width || h > size.height) continue;
    const std::int64_t top = random.below(size.height - h + 1);
    return {top, random.below(size.width - w + 1), h, w};
  }
  Window all{0, 0, size.height, size.width};
  const double ratio = width / height;
  if (ratio < options.min_ratio) all.height = std::llround(width / options.min_ratio);
  if (ratio > options.max_ratio) all.width = std::llround(height * options.max_ratio);
  all.height = std::clamp<std::int64_t>(all.height, 1, size.height);
  all.width = std::clamp<std::int64_t>(all.width, 1, size.width);
  all.top = (size.height - all.height) / 2;
  all.left = (size.width - all.width) / 2;
  return all;
}

// The pixel at a place between pixels; black outside.
float pixel_at(const float* channel, const Picture& size, double y, double x) {
  const double top = std::floor(y), left = std::floor(x);
  const auto at = [&](double row, double column) {
    const bool inside = row >= 0 && row < static_cast<double>(size.height) && column >= 0 &&
                        column < static_cast<double>(size.width);
    return inside ? channel[static_cast<std::int64_t>(row) * size.width +
                            static_cast<std::int64_t>(column)]
                  : 0.0f;
  };
  const auto right = static_cast<float>(x - left), down = static_cast<float>(y - top);
  return mixed(mixed(at(top, left), at(top, left + 1), right),
               mixed(at(top + 1, left), at(top + 1, left + 1), right), down);
}

void turn(const float* in, float* out, const Picture& size, double angle) {
  const double sine = std::sin(angle), cosine = std::cos(angle);
  const double middle_y = static_cast<double>(size.height - 1) / 2;
  const double middle_x = static_cast<double>(size.width - 1) / 2;
  for (std::int64_t c = 0; c < size.channels; ++c) {
    for (std::int64_t y = 0; y < size.height; ++y) {
      for (std::int64_t x = 0; x < size.width; ++x) {
        const double dy = static_cast<double>(y) - middle_y, dx = static_cast<double>(x) - middle_x;
        *out++ = pixel_at(in + c * size.pixels(), size, middle_y + dx * sine + dy * cosine,
                          middle_x + dx * cosine - dy * sine);
      }
    }
  }
}

// Filters `lines` lines of `count` pixels, which are `step` apart; lines are `line` apart.
void filter(const float* in, float* out, const std::vector<double>& weights, std::int64_t count,
            std::int64_t step, std::int64_t lines, std::int64_t line) {
  const auto radius = static_cast<std::int64_t>(weights.size() / 2);
  for (std::int64_t l = 0; l < lines; ++l) {
    for (std::int64_t i = 0; i < count; ++i) {
      double sum = 0;
      for (std::int64_t k = -radius; k <= radius; ++k) {
        const std::int64_t from = std::clamp<std::int64_t>(i + k, 0, count - 1);
        sum += weights[static_cast<std::size_t>(k + radius)] *
               static_cast<double>(in[l * line + from * step]);
      }
      out[l * line + i * step] = static_cast<float>(sum);
    }
  }
}

void blur_picture(const float* in, float* out, const Picture& size, double sigma) {
  const auto radius = static_cast<std::int64_t>(std::ceil(3 * sigma));
  std::vector<double> weights;
  double total = 0;
  for (std::int64_t k = -radius; k <= radius; ++k) {
    const double distance = static_cast<double>(k) / sigma;
    total += weights.emplace_back(std::exp(-0.5 * distance * distance));
  }
  for (double& weight : weights) weight /= total;
  std::vector<float> rows(static_cast<std::size_t>(size.pixels()));
  for (std::int64_t c = 0; c < size.channels; ++c) {
    filter(in + c * size.pixels(), rows.data(), weights, size.width, 1, size.height, size.width);
    filter(rows.data(), out + c * size.pixels(), weights, size.height, size.width, size.width, 1);
  }
}

void require_size(const char* who, std::int64_t height, std::int64_t width) {
  constexpr std::int64_t kMax = 1 << 14;
  if (height >= 1 && width >= 1 && height <= kMax && width <= kMax) return;
  fail_usage(std::string(who) + ": the size is " + std::to_string(height) + " x " +
             std::to_string(width) + ", must be 1 to " + std::to_string(kMax));
}

void require_probability(const char* who, double probability) {
  if (probability >= 0 && probability <= 1) return;
  fail_usage(std::string(who) + ": the probability is " + float_text(probability) +
             ", must be in [0, 1]");
}

}  // namespace

Dataset Dataset::random_resized_crop(std::int64_t size, const ResizedCropOptions& options) const {
  const std::string column = picture_column("random_resized_crop", *this);
  const Picture from = picture_of(*this, column);
  require_size("random_resized_crop", size, size);
  const auto increasing = [](double low, double high, double max) {
    return low > 0 && low <= high && high <= max;
  };
  if (!increasing(options.min_area, options.max_area, 1) ||
      !increasing(options.min_ratio, options.max_ratio, 1e6)) {
    fail_usage(
        "random_resized_crop: areas must be 0 < min_area <= max_area <= 1, and ratios 0 < "
        "min_ratio <= max_ratio");
  }
  const Picture to{from.channels, size, size};
  const auto apply = [=](const float* in, float* out, ExampleRandom& random) {
    resize_window(in, from, random_window(from, options, random), out, to);
  };
  return augmented(changed_pictures(source_, column, {apply, to, false, options.seed}, stages_));
}

Dataset Dataset::resize(std::int64_t height, std::int64_t width) const {
  const std::string column = picture_column("resize", *this);
  const Picture from = picture_of(*this, column);
  require_size("resize", height, width);
  const Picture to{from.channels, height, width};
  const auto apply = [=](const float* in, float* out, ExampleRandom&) {
    resize_window(in, from, {0, 0, from.height, from.width}, out, to);
  };
  return augmented(changed_pictures(source_, column, {apply, to, false, 0}, stages_));
}

Dataset Dataset::center_crop(std::int64_t size) const {
  const std::string column = picture_column("center_crop", *this);
  const Picture from = picture_of(*this, column);
  if (size < 1 || size > from.height || size > from.width) {
    fail_usage("center_crop: " + std::to_string(size) + " x " + std::to_string(size) +
               " does not fit into pictures of " + std::to_string(from.width) + " x " +
               std::to_string(from.height));
  }
  const Picture to{from.channels, size, size};
  const Window window{(from.height - size) / 2, (from.width - size) / 2, size, size};
  const auto apply = [=](const float* in, float* out, ExampleRandom&) {
    resize_window(in, from, window, out, to);
  };
  return augmented(changed_pictures(source_, column, {apply, to, false, 0}, stages_));
}

Dataset Dataset::vertical_flip(const FlipOptions& options) const {
  const std::string column = picture_column("vertical_flip", *this);
  const Picture size = picture_of(*this, column);
  require_probability("vertical_flip", options.probability);
  const auto apply = [size, probability = options.probability](const float*, float* out,
                                                               ExampleRandom& random) {
    if (random.uniform() >= probability) return;
    for (std::int64_t c = 0; c < size.channels; ++c, out += size.pixels()) {
      for (std::int64_t y = 0; y < size.height / 2; ++y) {
        float* row = out + y * size.width;
        std::swap_ranges(row, row + size.width, out + (size.height - 1 - y) * size.width);
      }
    }
  };
  return augmented(changed_pictures(source_, column, {apply, size, true, options.seed}, stages_));
}

Dataset Dataset::rotate(double degrees, const RotateOptions& options) const {
  const std::string column = picture_column("rotate", *this);
  const Picture size = picture_of(*this, column);
  if (!(degrees >= 0 && degrees <= 360)) {
    fail_usage("rotate: the angle is " + float_text(degrees) + ", must be in [0, 360]");
  }
  const auto apply = [=](const float* in, float* out, ExampleRandom& random) {
    const double angle = (2 * random.uniform() - 1) * degrees;
    turn(in, out, size, angle * std::numbers::pi / 180);
  };
  return augmented(changed_pictures(source_, column, {apply, size, false, options.seed}, stages_));
}

Dataset Dataset::grayscale(const GrayscaleOptions& options) const {
  const std::string column = picture_column("grayscale", *this);
  const Picture size = picture_of(*this, column);
  require_probability("grayscale", options.probability);
  const auto apply = [size, probability = options.probability](const float*, float* out,
                                                               ExampleRandom& random) {
    if (random.uniform() >= probability || size.channels != 3) return;
    for (std::int64_t p = 0; p < size.pixels(); ++p) {
      const float gray = gray_at(out, size, p);
      for (std::int64_t c = 0; c < 3; ++c) out[c * size.pixels() + p] = gray;
    }
  };
  return augmented(changed_pictures(source_, column, {apply, size, true, options.seed}, stages_));
}

Dataset Dataset::blur(const BlurOptions& options) const {
  const std::string column = picture_column("blur", *this);
  const Picture size = picture_of(*this, column);
  if (!(options.min_sigma > 0 && options.min_sigma <= options.max_sigma &&
        options.max_sigma <= 1000)) {
    fail_usage("blur: deviations must be 0 < min_sigma <= max_sigma <= 1000");
  }
  const auto apply = [=](const float* in, float* out, ExampleRandom& random) {
    const double range = options.max_sigma - options.min_sigma;
    blur_picture(in, out, size, options.min_sigma + random.uniform() * range);
  };
  return augmented(changed_pictures(source_, column, {apply, size, false, options.seed}, stages_));
}

}  // namespace trireme::data
