#pragma once

// The orientation of a picture, as cameras store it in Exif data: the pixels lie as the sensor had
// them, and the tag says how to turn them.

#include <string_view>

#include "trireme/tensor.h"

namespace trireme::image {

// Returns the tag Orientation, 1 to 8, of Exif data, which are a TIFF file without pixels. Returns
// 1, upright, if there is none, or if the data are damaged: viewers show such pictures, too.
int exif_orientation(std::string_view tiff);

// Turns and mirrors u8[h, w, c], so that a picture with this tag is upright. Orientations 5 to 8
// exchange height and width.
Tensor upright(const Tensor& image, int orientation);

}  // namespace trireme::image
