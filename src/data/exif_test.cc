// Orientations of pictures. The expected pixels are those of ImageOps.exif_transpose of Pillow.
#include "data/exif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "data/testing/jpeg.h"
#include "data/testing/png.h"
#include "trireme/image.h"

namespace trireme::image {
namespace {

using ::testing::ElementsAreArray;
using Bytes = std::vector<std::uint8_t>;

std::string number(std::uint32_t value, std::size_t size, bool big_endian) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> 8 * i & 0xff);
  if (big_endian) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

// Exif data with two entries, the second of which is the orientation.
std::string exif(int orientation, bool big_endian) {
  const auto n = [&](std::uint32_t value, std::size_t size) {
    return number(value, size, big_endian);
  };
  const std::string value = n(static_cast<std::uint32_t>(orientation), 2) + n(0, 2);
  return (big_endian ? "MM" : "II") + n(42, 2) + n(8, 4) + n(2, 2) +  //
         n(0x0100, 2) + n(4, 2) + n(1, 4) + n(9, 4) +                 //
         n(0x0112, 2) + n(3, 2) + n(1, 4) + value + n(0, 4);
}

// In a picture 1 2 3 / 4 5 6.
struct Case {
  int orientation;
  std::int64_t height, width;
  Bytes pixels;
};
const Case kCases[] = {{1, 2, 3, {1, 2, 3, 4, 5, 6}}, {2, 2, 3, {3, 2, 1, 6, 5, 4}},
                       {3, 2, 3, {6, 5, 4, 3, 2, 1}}, {4, 2, 3, {4, 5, 6, 1, 2, 3}},
                       {5, 3, 2, {1, 4, 2, 5, 3, 6}}, {6, 3, 2, {4, 1, 5, 2, 6, 3}},
                       {7, 3, 2, {6, 3, 5, 2, 4, 1}}, {8, 3, 2, {3, 6, 2, 5, 1, 4}},
                       {0, 2, 3, {1, 2, 3, 4, 5, 6}}, {9, 2, 3, {1, 2, 3, 4, 5, 6}}};

Bytes pixels(const Tensor& image) {
  return {image.data<std::uint8_t>(), image.data<std::uint8_t>() + image.elements()};
}

TEST(Exif, EightOrientationsInBothByteOrders) {
  const Tensor image = Tensor::from<std::uint8_t>({2, 3, 1}, {1, 2, 3, 4, 5, 6});
  for (const Case& c : kCases) {
    for (const bool big_endian : {false, true}) {
      const Tensor turned = upright(image, exif_orientation(exif(c.orientation, big_endian)));
      EXPECT_EQ(turned.shape(), (std::vector<std::int64_t>{c.height, c.width, 1})) << c.orientation;
      EXPECT_THAT(pixels(turned), ElementsAreArray(c.pixels)) << c.orientation;
    }
  }
}

// A PNG keeps every pixel. The data may stand before the pixels or after them.
TEST(Exif, OfPng) {
  for (const Case& c : kCases) {
    for (const bool behind : {false, true}) {
      data::PngForm form{.width = 3, .height = 2};
      form.exif = exif(c.orientation, true);
      form.exif_behind = behind;
      const std::string file = data::png_file(form, {1, 2, 3, 4, 5, 6});
      EXPECT_THAT(pixels(decode(file, "f")), ElementsAreArray(c.pixels)) << c.orientation;
      EXPECT_THAT(pixels(decode(file, "f", {.upright = false})),
                  ElementsAreArray(kCases[0].pixels));
    }
  }
}

// Blocks of 16 by 16 pixels of one gray each survive the compression.
TEST(Exif, OfJpeg) {
  Bytes grays;
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 48; ++x) {
      grays.push_back(static_cast<std::uint8_t>(40 * (1 + y / 16 * 3 + x / 16)));
    }
  }
  const std::string plain = data::jpeg(Tensor::from<std::uint8_t>({32, 48, 1}, grays));
  for (const Case& c : kCases) {
    const std::string data = std::string("Exif\0\0", 6) + exif(c.orientation, false);
    const std::string segment =
        "\xff\xe1" + number(static_cast<std::uint32_t>(data.size() + 2), 2, true) + data;
    const std::string file = plain.substr(0, 2) + segment + plain.substr(2);
    const Tensor image = decode(file, "f");
    ASSERT_EQ(image.shape(), (std::vector<std::int64_t>{c.height * 16, c.width * 16, 1}));
    for (std::int64_t i = 0; i < c.height * c.width; ++i) {
      const std::int64_t y = i / c.width * 16 + 8, x = i % c.width * 16 + 8;
      EXPECT_NEAR(image.data<std::uint8_t>()[y * image.dim(1) + x], 40 * c.pixels[i], 3)
          << c.orientation;
    }
    EXPECT_EQ(decode(file, "f", {.upright = false}).shape(),
              (std::vector<std::int64_t>{32, 48, 1}));
  }
}

// Cut at every byte, and with every byte changed to the largest: an orientation, or none.
TEST(Exif, DamagedDataAreIgnored) {
  for (const bool big_endian : {false, true}) {
    const std::string whole = exif(6, big_endian);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::string cut = whole.substr(0, size);  // its own memory: ASan sees its end
      const int orientation = exif_orientation(cut);
      EXPECT_TRUE(orientation == 1 || (size + 6 >= whole.size() && orientation == 6)) << size;
      std::string changed = whole;
      changed[size] = '\xff';
      EXPECT_GE(exif_orientation(changed), 1) << size;
    }
  }
  const std::string far = "II" + number(42, 2, false) + number(0xfffffff0u, 4, false);
  EXPECT_EQ(exif_orientation(far), 1);
}

}  // namespace
}  // namespace trireme::image
