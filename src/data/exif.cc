#include "data/exif.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace trireme::image {
namespace {

// Numbers of a TIFF file; nothing past its end.
class TiffReader {
 public:
  explicit TiffReader(std::string_view bytes) : bytes_(bytes) {}

  // Reads the byte order and the mark of TIFF.
  bool read_mark() {
    big_endian_ = bytes_.starts_with("MM");
    return (big_endian_ || bytes_.starts_with("II")) && number(2, 2) == 42u;
  }

  std::optional<std::uint32_t> number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value =
          value << 8 | static_cast<unsigned char>(bytes_[at + (big_endian_ ? i : size - 1 - i)]);
    }
    return value;
  }

 private:
  std::string_view bytes_;
  bool big_endian_ = false;
};

}  // namespace

int exif_orientation(std::string_view tiff) {
  constexpr std::uint32_t kOrientation = 0x0112, kShort = 3;
  constexpr std::size_t kEntry = 12;  // bytes: tag, type, count, value
  TiffReader reader(tiff);
  if (!reader.read_mark()) return 1;
  const std::optional<std::uint32_t> directory = reader.number(4, 4);
  const std::uint32_t entries = directory ? reader.number(*directory, 2).value_or(0) : 0;
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t at = std::size_t{*directory} + 2 + i * kEntry;
    const std::optional<std::uint32_t> tag = reader.number(at, 2);
    if (!tag) return 1;
    if (*tag != kOrientation) continue;
    const std::uint32_t value = reader.number(at + 8, 2).value_or(1);
    const bool known = reader.number(at + 2, 2) == kShort && value >= 1 && value <= 8;
    return known ? static_cast<int>(value) : 1;
  }
  return 1;
}

Tensor upright(const Tensor& image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  // 2 to 4: the pixels begin at the right, at the right and below, below. 5 to 8: with rows and
  // columns exchanged, at the left, below, at the right and below, at the right.
  const bool exchanged = orientation >= 5;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_below =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const std::int64_t height = image.dim(0), width = image.dim(1), channels = image.dim(2);
  Tensor result = exchanged ? Tensor::uninitialized(u8, {width, height, channels})
                            : Tensor::uninitialized(u8, {height, width, channels});
  const auto* from = image.data<std::uint8_t>();
  auto* to = result.data<std::uint8_t>();
  for (std::int64_t i = 0; i < result.dim(0); ++i) {
    for (std::int64_t j = 0; j < result.dim(1); ++j, to += channels) {
      const std::int64_t y = exchanged ? j : i, x = exchanged ? i : j;
      const std::int64_t row = from_below ? height - 1 - y : y;
      const std::int64_t column = from_right ? width - 1 - x : x;
      std::copy_n(from + (row * width + column) * channels, channels, to);
    }
  }
  return result;
}

}  // namespace trireme::image
