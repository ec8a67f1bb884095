#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trireme::data {

// Converts bytes [pixels, channels] to floats [channels, pixels] in [0, 1], the input of networks.
void bytes_to_planes(const std::uint8_t* bytes, std::size_t channels, std::size_t pixels,
                     float* planes);

// Decodes a PNG or JPEG image to floats [3, height, width] in [0, 1]. `name` is for messages.
// Errors: data if it is damaged or has another size.
void decode_planes(std::string_view picture, const std::string& name, std::int64_t height,
                   std::int64_t width, float* planes);

}  // namespace trireme::data
