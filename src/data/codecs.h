#pragma once

// Shared by the files about pictures; trireme/image.h is the public face.

#include <cstdint>
#include <string>
#include <string_view>

#include "trireme/image.h"

namespace trireme::image {

Tensor decode_png(std::string_view bytes, const std::string& name, const LoadOptions& options);
Tensor decode_jpeg(std::string_view bytes, const std::string& name, const LoadOptions& options);

// Errors: data, if there are no pixels or more than the limit.
void check_size(std::int64_t height, std::int64_t width, std::int64_t max_pixels,
                const std::string& name);

// Errors: usage, naming `who`, unless it is u8[h, w, 1 or 3] with pixels in it.
void check_image(const Tensor& image, const char* who);

}  // namespace trireme::image
