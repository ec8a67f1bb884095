#include "data/pixels.h"

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

}  // namespace trireme::data
