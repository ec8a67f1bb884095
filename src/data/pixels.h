#pragma once

#include <cstddef>
#include <cstdint>

namespace trireme::data {

// Bytes [pixels, channels] to floats [channels, pixels] in [0, 1], as networks take them.
void bytes_to_planes(const std::uint8_t* bytes, std::size_t channels, std::size_t pixels,
                     float* planes);

}  // namespace trireme::data
