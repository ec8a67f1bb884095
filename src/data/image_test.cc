#include "trireme/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "base/testing/error.h"
#include "data/font.h"
#include "data/testing/files.h"
#include "data/testing/jpeg.h"

namespace trireme::image {
namespace {

using data::jpeg;
using ::testing::HasSubstr;

// A smooth picture, so that JPEG keeps it nearly as it is.
Tensor slope(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Tensor image(u8, {height, width, channels});
  auto* out = image.data<std::uint8_t>();
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        *out++ = static_cast<std::uint8_t>((y * 3 + x * 2 + c * 40) % 200);
      }
    }
  }
  return image;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double largest = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    largest =
        std::max(largest, std::abs(1.0 * a.data<std::uint8_t>()[i] - b.data<std::uint8_t>()[i]));
  }
  return largest;
}

TEST(Image, PngKeepsEveryPixel) {
  const data::TestDirectory directory;
  for (const int channels : {1, 3}) {
    const Tensor image = slope(13, 17, channels);
    const std::string path = directory.path() + "/i.png";
    save_png(path, image);
    EXPECT_TRUE(equal(load(path), image));
  }
}

TEST(Image, JpegKeepsWhatItCan) {
  for (const int channels : {1, 3}) {
    const Tensor image = slope(33, 20, channels);
    EXPECT_LE(largest_difference(decode(jpeg(image), "f"), image), 16);
  }
  EXPECT_EQ(decode(jpeg(slope(8, 8, 3)), "f", {.channels = 1}).dim(2), 1);
  EXPECT_EQ(decode(encode_png(slope(8, 8, 1)), "f", {.channels = 3}).dim(2), 3);
}

TEST(Image, RefusesDamage) {
  const Tensor image = slope(40, 40, 3);
  for (const std::string& whole : {encode_png(image), jpeg(image)}) {
    for (const std::size_t size : {std::size_t{9}, whole.size() / 3, whole.size() - 20}) {
      EXPECT_THAT(error_of(ErrorKind::data, [&] { decode(whole.substr(0, size), "cut.img"); }),
                  HasSubstr("cut.img: damaged"))
          << size;
    }
    EXPECT_THAT(error_of(ErrorKind::data, [&] { decode(whole, "f", {.max_pixels = 100}); }),
                HasSubstr("40 x 40 pixels"));
  }
  std::string png = encode_png(image);
  png[png.size() / 2] = static_cast<char>(png[png.size() / 2] ^ 0xff);
  EXPECT_THAT(error_of(ErrorKind::data, [&] { decode(png, "f"); }), HasSubstr("f: damaged PNG"));
  EXPECT_THAT(error_of(ErrorKind::data, [&] { decode("GIF89a", "f"); }), HasSubstr("neither"));
  EXPECT_THAT(error_of(ErrorKind::not_found, [] { load("/no/such.png"); }), HasSubstr("such.png"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { save_png("/tmp/x.png", Tensor(f32, {2, 2, 1})); }),
              HasSubstr("f32[2, 2, 1]"));
}

TEST(Image, ResizesByMeansAndLines) {
  const Tensor four = Tensor::from<std::uint8_t>({2, 2, 1}, {0, 100, 200, 100});
  EXPECT_EQ(resize(four, 1, 1).item<std::uint8_t>(), 100);
  EXPECT_TRUE(equal(resize(four, 2, 2), four));
  // Twice as wide: centers lie a quarter and three quarters of the way, the borders repeat.
  EXPECT_TRUE(equal(resize(Tensor::from<std::uint8_t>({1, 2, 1}, {0, 100}), 1, 4),
                    Tensor::from<std::uint8_t>({1, 4, 1}, {0, 25, 75, 100})));
  Tensor flat(u8, {50, 31, 3});
  std::fill_n(flat.data<std::uint8_t>(), flat.elements(), std::uint8_t{77});
  const Tensor resized = resize(flat, 28, 64);
  EXPECT_EQ(resized.shape(), (std::vector<std::int64_t>{28, 64, 3}));
  for (std::int64_t i = 0; i < resized.elements(); ++i) {
    ASSERT_EQ(resized.data<std::uint8_t>()[i], 77);
  }
  EXPECT_THROW(resize(four, 0, 3), Error);
}

TEST(Image, ConvertsColoursAndPlanes) {
  const Tensor red = Tensor::from<std::uint8_t>({1, 2, 3}, {255, 0, 0, 255, 255, 255});
  EXPECT_TRUE(equal(to_gray(red), Tensor::from<std::uint8_t>({1, 2, 1}, {76, 255})));
  EXPECT_TRUE(equal(to_planes(red), Tensor::from<float>({3, 1, 2}, {1, 1, 0, 1, 0, 1})));
  const Tensor image = slope(5, 4, 3);
  EXPECT_TRUE(equal(from_planes(to_planes(image)), image));
  EXPECT_TRUE(equal(from_planes(Tensor::from<float>({1, 1, 3}, {-1, 2, std::nanf("")})),
                    Tensor::from<std::uint8_t>({1, 3, 1}, {0, 255, 0})));
}

TEST(Font, HasAFormForEveryLetter) {
  std::vector<std::string> forms;
  for (char c = '!'; c <= '~'; ++c) {
    std::string form;
    for (int row = 0; row < kGlyphHeight; ++row) {
      for (int column = 0; column < kGlyphWidth; ++column) {
        form += glyph_pixel(c, row, column) ? '#' : '.';
      }
    }
    EXPECT_NE(form.find('#'), std::string::npos) << c;
    EXPECT_THAT(forms, testing::Not(testing::Contains(form))) << c;
    forms.push_back(form);
  }
  EXPECT_EQ(glyph_pixel('\xe9', 0, 1), glyph_pixel('?', 0, 1));
}

TEST(ContactSheet, NeedsNoCaptions) {
  const Tensor images(f32, {3, 1, 28, 28});
  const Tensor bare = contact_sheet(images), with_text = contact_sheet(images, {{}, {}, {}});
  EXPECT_LT(bare.dim(0), with_text.dim(0));
  EXPECT_EQ(bare.dim(1), with_text.dim(1));
}

TEST(ContactSheet, MarksWhatIsWrong) {
  Tensor images(f32, {3, 1, 28, 28});
  const Tensor sheet = contact_sheet(images, {{"Bag", "Bag"}, {"Shirt", "Coat", true}, {"x", "y"}},
                                     {.columns = 2, .title = "Test"});
  std::int64_t red = 0;
  const auto* pixels = sheet.data<std::uint8_t>();
  for (std::int64_t i = 0; i < sheet.elements(); i += 3) {
    if (pixels[i] == 205 && pixels[i + 1] == 35) ++red;
  }
  const std::int64_t border = 120 * 120 - 112 * 112;
  EXPECT_GT(red, border);  // the border and four letters
  EXPECT_LT(red, border + 4 * 140);
  EXPECT_THROW(contact_sheet(images, {{"one", ""}}), Error);
  EXPECT_THROW(contact_sheet(Tensor(u8, {1, 1, 2, 2}), {{}}), Error);
}

}  // namespace
}  // namespace trireme::image
