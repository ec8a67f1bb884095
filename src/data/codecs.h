#pragma once

// Shared by the files for images; trireme/image.h is the public header.

#include <cstdint>
#include <string>
#include <string_view>

#include "trireme/image.h"

namespace trireme::image {

Tensor decode_png(std::string_view bytes, const std::string& name, const LoadOptions& options);
Tensor decode_jpeg(std::string_view bytes, const std::string& name, const LoadOptions& options);

// The brightness of an RGB pixel by ITU-R BT.601.
std::uint8_t luma_of(const std::uint8_t* rgb);

// Errors: data if there are no pixels, or more than the limit.
void check_size(std::int64_t height, std::int64_t width, std::int64_t max_pixels,
                const std::string& name);

// Checks that it is u8[h, w, 1 or 3] with h and w above 0. Errors: usage with `who`.
void check_image(const Tensor& image, const char* who);

}  // namespace trireme::image
