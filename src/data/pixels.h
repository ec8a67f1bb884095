#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trireme::data {

// Bytes [pixels, channels] to floats [channels, pixels] in [0, 1], as networks take them.
void bytes_to_planes(const std::uint8_t* bytes, std::size_t channels, std::size_t pixels,
                     float* planes);

// Decodes a PNG or JPEG picture to floats [3, height, width] in [0, 1]. `name` is for messages. Errors:
// data, if it is damaged or of another size.
void decode_planes(std::string_view picture, const std::string& name, std::int64_t height,
                   std::int64_t width, float* planes);

}  // namespace trireme::data
