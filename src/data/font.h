#pragma once

#include <cstdint>

namespace trireme::image {

inline constexpr int kGlyphWidth = 5;
inline constexpr int kGlyphHeight = 9;  // 7 above the line, 2 below it for g, p, q and y

// Returns whether the pixel of a character is set. Characters other than printable ASCII are drawn
// as '?'.
bool glyph_pixel(char character, int row, int column);

}  // namespace trireme::image
