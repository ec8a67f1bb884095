#pragma once

// For tests: PNG files of every form.

#include <gtest/gtest.h>
#include <png.h>

#include <cstdint>
#include <string>
#include <vector>

namespace trireme::data {

struct PngForm {
  std::uint32_t width = 1, height = 1;
  int depth = 8;
  int color_type = PNG_COLOR_TYPE_GRAY;
  bool interlaced = false;
  double gamma = 0;                          // 0: not in the file
  std::vector<png_color> palette = {};       // for PNG_COLOR_TYPE_PALETTE
  std::vector<std::uint8_t> opacities = {};  // of the palette
  std::string exif = {};                     // a TIFF file; empty: none
  bool exif_behind = false;                  // it stands after the pixels
};

// `rows`: the bytes of all rows, as the file has them.
inline std::string png_file(const PngForm& form, std::vector<std::uint8_t> rows) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto append = [](png_structp p, png_bytep bytes, std::size_t count) {
    static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<char*>(bytes), count);
  };
  png_set_write_fn(png, &file, append, nullptr);
  png_set_IHDR(png, info, form.width, form.height, form.depth, form.color_type,
               form.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (form.gamma > 0) png_set_gAMA(png, info, form.gamma);
  if (!form.palette.empty()) {
    png_set_PLTE(png, info, form.palette.data(), static_cast<int>(form.palette.size()));
  }
  if (!form.opacities.empty()) {
    png_set_tRNS(png, info, form.opacities.data(), static_cast<int>(form.opacities.size()),
                 nullptr);
  }
  auto* const exif =
      reinterpret_cast<png_bytep>(const_cast<char*>(form.exif.data()));  // libpng copies it
  const auto exif_size = static_cast<png_uint_32>(form.exif.size());
  if (exif_size > 0 && !form.exif_behind) png_set_eXIf_1(png, info, exif_size, exif);
  png_write_info(png, info);
  const std::size_t row_bytes = png_get_rowbytes(png, info);
  EXPECT_EQ(rows.size(), row_bytes * form.height);
  std::vector<png_bytep> starts;
  for (std::size_t y = 0; y < form.height; ++y) starts.push_back(rows.data() + y * row_bytes);
  png_write_image(png, starts.data());
  if (exif_size > 0 && form.exif_behind) {
    const png_byte name[5] = "eXIf";
    png_write_chunk(png, name, exif, exif_size);
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

}  // namespace trireme::data
