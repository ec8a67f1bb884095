#include "trireme/image.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "data/codecs.h"

namespace trireme::image {
namespace {

// How much of each input position goes into one output position.
struct Tap {
  std::int64_t first = 0;
  std::vector<float> weights;
};

// A triangle as wide as one step of the coarser of the two grids: linear interpolation where the
// image grows, a weighted mean of what is covered where it shrinks.
std::vector<Tap> taps(std::int64_t in, std::int64_t out) {
  std::vector<Tap> result;
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double reach = std::max(scale, 1.0);
  for (std::int64_t i = 0; i < out; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale - 0.5;
    Tap tap;
    tap.first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil(center - reach)));
    const auto last = std::min(in - 1, static_cast<std::int64_t>(std::floor(center + reach)));
    double sum = 0;
    for (std::int64_t j = tap.first; j <= last; ++j) {
      const double weight = std::max(0.0, 1.0 - std::abs(static_cast<double>(j) - center) / reach);
      tap.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : tap.weights) weight = static_cast<float>(weight / sum);
    result.push_back(std::move(tap));
  }
  return result;
}

// Resizes the middle one of three axes [outer, in, inner].
std::vector<float> resize_axis(const std::vector<float>& source, std::int64_t outer,
                               std::int64_t in, std::int64_t inner, std::int64_t out) {
  const std::vector<Tap> weights = taps(in, out);
  std::vector<float> result(static_cast<std::size_t>(outer * out * inner));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < out; ++i) {
      const Tap& tap = weights[static_cast<std::size_t>(i)];
      float* to = result.data() + (o * out + i) * inner;
      for (std::size_t k = 0; k < tap.weights.size(); ++k) {
        const float* from =
            source.data() + (o * in + tap.first + static_cast<std::int64_t>(k)) * inner;
        for (std::int64_t x = 0; x < inner; ++x) to[x] += tap.weights[k] * from[x];
      }
    }
  }
  return result;
}

std::uint8_t to_byte(float value) {
  return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0f, 255.0f)));
}

}  // namespace

std::uint8_t luma_of(const std::uint8_t* rgb) {
  return to_byte(0.299f * static_cast<float>(rgb[0]) + 0.587f * static_cast<float>(rgb[1]) +
                 0.114f * static_cast<float>(rgb[2]));
}

void check_image(const Tensor& image, const char* who) {
  if (image.dtype() != u8 || image.rank() != 3 || image.elements() == 0 ||
      (image.dim(2) != 1 && image.dim(2) != 3)) {
    fail_usage(std::string(who) + ": an image is u8[height, width, 1 or 3], not " +
               image.type_str());
  }
}

Tensor decode(std::string_view bytes, const std::string& name, const LoadOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3) {
    fail_usage("image: channels must be 0, 1 or 3");
  }
  if (bytes.starts_with("\x89PNG")) return decode_png(bytes, name, options);
  if (bytes.starts_with("\xff\xd8")) return decode_jpeg(bytes, name, options);
  fail_data(name + ": neither a PNG nor a JPEG file");
}

Tensor load(const std::string& path, const LoadOptions& options) {
  return decode(read_file(path), path, options);
}

Tensor resize(const Tensor& image, std::int64_t height, std::int64_t width) {
  check_image(image, "resize");
  if (height < 1 || width < 1) fail_usage("resize: the new size must be at least 1 x 1");
  const std::int64_t h = image.dim(0);
  const std::int64_t w = image.dim(1);
  const std::int64_t channels = image.dim(2);
  const auto* source = image.data<std::uint8_t>();
  std::vector<float> pixels(source, source + image.elements());
  // First the axis that leaves fewer pixels: a picture of 1 x 1,000,000 must not become wide first.
  if (h * width <= height * w) {
    pixels = resize_axis(pixels, h, w, channels, width);
    pixels = resize_axis(pixels, 1, h, width * channels, height);
  } else {
    pixels = resize_axis(pixels, 1, h, w * channels, height);
    pixels = resize_axis(pixels, height, w, channels, width);
  }
  Tensor result = Tensor::uninitialized(u8, {height, width, channels});
  std::transform(pixels.begin(), pixels.end(), result.data<std::uint8_t>(), to_byte);
  return result;
}

Tensor to_gray(const Tensor& image) {
  check_image(image, "to_gray");
  if (image.dim(2) == 1) return image;
  Tensor result = Tensor::uninitialized(u8, {image.dim(0), image.dim(1), 1});
  const auto* in = image.data<std::uint8_t>();
  for (std::int64_t i = 0; i < result.elements(); ++i, in += 3) {
    result.data<std::uint8_t>()[i] = luma_of(in);
  }
  return result;
}

Tensor to_rgb(const Tensor& image) {
  check_image(image, "to_rgb");
  if (image.dim(2) == 3) return image;
  Tensor result = Tensor::uninitialized(u8, {image.dim(0), image.dim(1), 3});
  const auto* in = image.data<std::uint8_t>();
  auto* out = result.data<std::uint8_t>();
  for (std::int64_t i = 0; i < image.elements(); ++i) std::fill_n(out + 3 * i, 3, in[i]);
  return result;
}

Tensor to_planes(const Tensor& image) {
  check_image(image, "to_planes");
  const std::int64_t channels = image.dim(2);
  const std::int64_t pixels = image.dim(0) * image.dim(1);
  Tensor result = Tensor::uninitialized(f32, {channels, image.dim(0), image.dim(1)});
  const auto* in = image.data<std::uint8_t>();
  float* out = result.data<float>();
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t p = 0; p < pixels; ++p) {
      out[c * pixels + p] = static_cast<float>(in[p * channels + c]) / 255.0f;
    }
  }
  return result;
}

Tensor from_planes(const Tensor& planes) {
  if (planes.dtype() != f32 || planes.rank() != 3 || (planes.dim(0) != 1 && planes.dim(0) != 3)) {
    fail_usage("from_planes: planes are f32[1 or 3, height, width], not " + planes.type_str());
  }
  const std::int64_t channels = planes.dim(0);
  const std::int64_t pixels = planes.dim(1) * planes.dim(2);
  Tensor result = Tensor::uninitialized(u8, {planes.dim(1), planes.dim(2), channels});
  const float* in = planes.data<float>();
  auto* out = result.data<std::uint8_t>();
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t p = 0; p < pixels; ++p) {
      const float value = in[c * pixels + p] * 255.0f;
      out[p * channels + c] = std::isnan(value) ? std::uint8_t{0} : to_byte(value);
    }
  }
  return result;
}

}  // namespace trireme::image
