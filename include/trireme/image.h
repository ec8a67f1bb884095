#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/export.h"
#include "trireme/tensor.h"

namespace trireme::image {

// An image is a Tensor u8[height, width, channels] with 1 (gray) or 3 (RGB) channels.

struct LoadOptions {
  int channels = 0;                       // 1 or 3; 0: as in the file
  std::int64_t max_pixels = 100'000'000;  // larger images are refused before memory is allocated
  // Turn the picture as its Exif data say, as viewers do. false: the pixels as the file has them.
  bool upright = true;
};

// Reads a PNG or JPEG file; the format is detected from the first bytes. 16 bits are scaled to 8, a
// gamma that a PNG states is converted to that of sRGB, and the four inks of a JPEG become RGB.
// Transparent parts become white. Exif data that are damaged are ignored.
// Errors: not_found, io; data, if the file is damaged, truncated, too large or of another format.
TRIREME_API Tensor load(const std::string& path, const LoadOptions& options = {});

// The same from bytes in memory; `name` is used in messages.
TRIREME_API Tensor decode(std::string_view bytes, const std::string& name,
                          const LoadOptions& options = {});

// Writes a PNG file atomically. Errors: usage, if it is not an image; io.
TRIREME_API void save_png(const std::string& path, const Tensor& image);
TRIREME_API std::string encode_png(const Tensor& image);

// Bilinear when enlarging, area average when shrinking.
// Errors: usage.
TRIREME_API Tensor resize(const Tensor& image, std::int64_t height, std::int64_t width);

// Converts to one channel with the weights of ITU-R BT.601.
TRIREME_API Tensor to_gray(const Tensor& image);
TRIREME_API Tensor to_rgb(const Tensor& image);

// Converts to f32[channels, height, width] in [0, 1], the input of networks, and back (values are
// clamped).
TRIREME_API Tensor to_planes(const Tensor& image);
TRIREME_API Tensor from_planes(const Tensor& planes);

struct Caption {
  std::string first;   // for example the true label
  std::string second;  // for example the predicted label
  bool wrong = false;  // adds a red border and prints the second line in red
};

struct SheetOptions {
  int columns = 8;
  std::string title = {};  // above the grid; empty: none
};

// Draws images, f32[n, 1 or 3, h, w] in [0, 1], in a grid, with two lines of text below each, or
// none if there are no captions. Small images are enlarged without smoothing. Letters outside ASCII
// are drawn as '?'.
// Errors: usage, if there are captions, but not one for each image.
TRIREME_API Tensor contact_sheet(const Tensor& images, const std::vector<Caption>& captions = {},
                                 const SheetOptions& options = {});

}  // namespace trireme::image
