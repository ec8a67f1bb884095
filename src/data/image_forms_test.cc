// PNG and JPEG files of all forms: what every viewer shows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <turbojpeg.h>

#include "base/testing/error.h"
#include "data/testing/jpeg.h"
#include "data/testing/png.h"
#include "trireme/image.h"

namespace trireme::image {
namespace {

using data::png_file;
using data::PngForm;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Bytes = std::vector<std::uint8_t>;

Bytes pixels(const std::string& file, const LoadOptions& options = {}) {
  return decode(file, "f", options).to_vector<std::uint8_t>();
}

TEST(PngForms, SixteenBitsAreScaled) {
  const PngForm gray{.width = 4, .depth = 16};
  EXPECT_THAT(pixels(png_file(gray, {0, 0, 0x40, 0x40, 0x80, 0x80, 0xff, 0xff})),
              ElementsAre(0, 64, 128, 255));
  EXPECT_THAT(pixels(png_file(gray, {0, 0x7f, 0, 0x81, 0xff, 0x7e, 0xff, 0x80})),
              ElementsAre(0, 1, 254, 255))
      << "to the nearest";
  const PngForm color{.depth = 16, .color_type = PNG_COLOR_TYPE_RGB};
  EXPECT_THAT(pixels(png_file(color, {0x80, 0x80, 0x40, 0x40, 0x20, 0x20})),
              ElementsAre(128, 64, 32));
}

TEST(PngForms, FewBitsAreExpanded) {
  EXPECT_THAT(pixels(png_file({.width = 8, .depth = 1}, {0b10110001})),
              ElementsAre(255, 0, 255, 255, 0, 0, 0, 255));
  EXPECT_THAT(pixels(png_file({.width = 4, .depth = 2}, {0b00011011})),
              ElementsAre(0, 85, 170, 255));
  EXPECT_THAT(pixels(png_file({.width = 2, .depth = 4}, {0x3f})), ElementsAre(51, 255));
}

TEST(PngForms, PalettesAreColors) {
  PngForm form{.width = 2, .depth = 8, .color_type = PNG_COLOR_TYPE_PALETTE};
  form.palette = {{10, 20, 30}, {255, 0, 0}};
  EXPECT_THAT(pixels(png_file(form, {1, 0})), ElementsAre(255, 0, 0, 10, 20, 30));
  EXPECT_THAT(pixels(png_file(form, {1, 0}), {.channels = 1}), ElementsAre(76, 18));
  form.opacities = {0, 255};
  EXPECT_THAT(pixels(png_file(form, {1, 0})), ElementsAre(255, 0, 0, 255, 255, 255));
}

TEST(PngForms, TransparentPartsBecomeWhite) {
  const PngForm color{.width = 3, .color_type = PNG_COLOR_TYPE_RGB_ALPHA};
  const std::string file = png_file(color, {0, 100, 200, 0, 0, 100, 200, 255, 0, 100, 200, 128});
  EXPECT_THAT(pixels(file), ElementsAre(255, 255, 255, 0, 100, 200, 127, 177, 227));
  const PngForm gray{.width = 2, .color_type = PNG_COLOR_TYPE_GRAY_ALPHA};
  EXPECT_THAT(pixels(png_file(gray, {0, 51, 90, 255})), ElementsAre(204, 90));
  EXPECT_THAT(pixels(png_file(gray, {0, 51, 90, 255}), {.channels = 3}),
              ElementsAre(204, 204, 204, 90, 90, 90));
}

TEST(PngForms, GrayIsTheSameFromPngAndJpeg) {
  const PngForm form{.width = 8, .height = 8, .color_type = PNG_COLOR_TYPE_RGB};
  Bytes red;
  for (int i = 0; i < 64; ++i) red.insert(red.end(), {255, 0, 0});
  const std::string png = png_file(form, red);
  EXPECT_THAT(pixels(png, {.channels = 1}), Each(76));
  EXPECT_THAT(pixels(data::jpeg(decode(png, "f")), {.channels = 1}), Each(76));
}

TEST(PngForms, InterlacedFilesAreTheSame) {
  for (const int type : {PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA}) {
    PngForm form{.width = 19, .height = 11, .color_type = type};
    Bytes rows;
    const int count = 19 * 11 * (type == PNG_COLOR_TYPE_RGB ? 3 : 4);
    for (int i = 0; i < count; ++i) rows.push_back(static_cast<std::uint8_t>(i * 7));
    const Bytes straight = pixels(png_file(form, rows));
    form.interlaced = true;
    EXPECT_EQ(pixels(png_file(form, rows)), straight);
  }
}

TEST(PngForms, AnotherGammaIsConverted) {
  const Bytes standard = pixels(png_file({.width = 3, .gamma = 1 / 2.2}, {0, 100, 255}));
  EXPECT_THAT(standard, ElementsAre(0, 100, 255));
  const Bytes linear = pixels(png_file({.width = 3, .gamma = 1}, {0, 55, 255}));
  EXPECT_EQ(linear[0], 0);
  EXPECT_NEAR(linear[1], 127, 1) << "255 * (55 / 255)^(1 / 2.2)";
  EXPECT_EQ(linear[2], 255);
}

TEST(PngForms, DamageIsAnErrorInEveryForm) {
  for (const bool interlaced : {false, true}) {
    const PngForm form{.width = 40, .height = 40, .interlaced = interlaced};
    Bytes rows;
    for (int i = 0; i < 1600; ++i) rows.push_back(static_cast<std::uint8_t>(i * i));
    const std::string file = png_file(form, rows);
    for (std::size_t size = 8; size < file.size(); size += 7) {
      EXPECT_THAT(error_of(ErrorKind::data, [&] { decode(file.substr(0, size), "f"); }),
                  HasSubstr("f: damaged PNG"))
          << size;
    }
    std::string wrong = file;
    wrong[file.size() / 2] = static_cast<char>(wrong[file.size() / 2] ^ 0x10);
    EXPECT_NE(error_of(ErrorKind::data, [&] { decode(wrong, "f"); }), "");
  }
}

std::int64_t peak_kilobytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// A 1 x 1,000,000 picture of 2 KB would need 2.7 GB if it became wide before it became short.
TEST(PngForms, ALongPictureIsMadeShortFirst) {
  const std::int64_t before = peak_kilobytes();
  const std::string file = png_file({.height = 1'000'000}, Bytes(1'000'000, 9));
  EXPECT_THAT(resize(decode(file, "f"), 224, 224).to_vector<std::uint8_t>(), Each(9));
  EXPECT_THAT(resize(decode(png_file({.width = 1'000'000}, Bytes(1'000'000, 9)), "f"), 224, 224)
                  .to_vector<std::uint8_t>(),
              Each(9));
  EXPECT_LT(peak_kilobytes() - before, 400000) << "KB";
}

// --- JPEG

// A flat picture of four inks, 0 to 255 of each.
std::string cmyk(std::uint8_t c, std::uint8_t m, std::uint8_t y, std::uint8_t k) {
  Bytes inks;
  for (int i = 0; i < 64; ++i) inks.insert(inks.end(), {c, m, y, k});
  tjhandle encoder = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT: libturbojpeg's type
  EXPECT_EQ(tjCompress2(encoder, inks.data(), 8, 0, 8, TJPF_CMYK, &bytes, &size, TJSAMP_444, 98, 0),
            0);
  std::string file(reinterpret_cast<char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(encoder);
  return file;
}

void expect_flat(const std::string& file, const Bytes& rgb, double error) {
  const Bytes all = pixels(file);
  ASSERT_EQ(all.size(), 64 * rgb.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(all[i], rgb[i % rgb.size()], error);
}

// libturbojpeg writes a marker of Adobe, so these are inverse inks.
TEST(JpegForms, InksAreConverted) {
  const std::string red = cmyk(255, 0, 0, 255);
  ASSERT_NE(red.find("Adobe"), std::string::npos);
  expect_flat(red, {255, 0, 0}, 2);
  expect_flat(cmyk(255, 255, 255, 128), {128, 128, 128}, 2);
  expect_flat(cmyk(200, 100, 50, 255), {200, 100, 50}, 3);
  EXPECT_THAT(pixels(red, {.channels = 1}),
              Each(::testing::AllOf(::testing::Ge(75), ::testing::Le(77))));
}

TEST(JpegForms, AnUnknownVersionIsHarmless) {
  Tensor image(u8, {8, 8, 3});
  std::fill_n(image.data<std::uint8_t>(), image.elements(), std::uint8_t{90});
  std::string file = data::jpeg(image);
  const std::size_t at = file.find("JFIF");
  ASSERT_NE(at, std::string::npos);
  file[at + 5] = 2;
  expect_flat(file, {90, 90, 90}, 2);
}

TEST(JpegForms, LostPixelsAreAnError) {
  Tensor image(u8, {64, 64, 3});
  for (std::int64_t i = 0; i < image.elements(); ++i) {
    image.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * i / 7);
  }
  const std::string file = data::jpeg(image);
  for (const std::size_t size : {file.size() / 2, file.size() - 40}) {
    EXPECT_THAT(error_of(ErrorKind::data, [&] { decode(file.substr(0, size), "f"); }),
                HasSubstr("f: damaged JPEG"));
  }
}

}  // namespace
}  // namespace trireme::image
