#include "data/pixels.h"

#include <algorithm>

#include "base/error.h"
#include "trireme/image.h"

namespace trireme::data {

void bytes_to_planes(const std::uint8_t* bytes, std::size_t channels, std::size_t pixels,
                     float* planes) {
  for (std::size_t c = 0; c < channels; ++c, planes += pixels) {
    const std::uint8_t* from = bytes + c;
    for (std::size_t p = 0; p < pixels; ++p, from += channels) {
      planes[p] = static_cast<float>(*from) / 255.0f;
    }
  }
}

void decode_planes(std::string_view picture, const std::string& name, std::int64_t height,
                   std::int64_t width, float* planes) {
  constexpr std::int64_t kLimit =
      1 << 20;  // for an image of a wrong size, so that the error has its size
  const Tensor decoded =
      image::decode(picture, name, {.channels = 3, .max_pixels = std::max(kLimit, height * width)});
  if (decoded.dim(0) != height || decoded.dim(1) != width) {
    fail_data(name + ": the picture has " + std::to_string(decoded.dim(1)) + " x " +
              std::to_string(decoded.dim(0)) + " pixels, must have " + std::to_string(width) +
              " x " + std::to_string(height));
  }
  bytes_to_planes(decoded.data<std::uint8_t>(), 3, static_cast<std::size_t>(height * width),
                  planes);
}

}  // namespace trireme::data
