#include "data/codecs.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <new>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "data/exif.h"
#include "trireme/image.h"

namespace trireme::image {

void check_size(std::int64_t height, std::int64_t width, std::int64_t max_pixels,
                const std::string& name) {
  if (height < 1 || width < 1) fail_data(name + ": damaged image: it has no pixels");
  if (height > max_pixels / width) {
    fail_data(name + ": an image of " + std::to_string(width) + " x " + std::to_string(height) +
              " pixels; the limit is " + std::to_string(max_pixels) + " pixels");
  }
}

namespace {

// The bytes of a file and what libpng says of them. libpng reports errors by longjmp(), so nothing
// with a destructor may be made inside guarded().
struct Source {
  std::string_view bytes;
  std::string message = {};
};

void read_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto* const source = static_cast<Source*>(png_get_io_ptr(png));
  if (count > source->bytes.size()) png_error(png, "the file ends too early");
  std::memcpy(to, source->bytes.data(), count);
  source->bytes.remove_prefix(count);
}

void on_error(png_structp png, png_const_charp message) {
  static_cast<Source*>(png_get_error_ptr(png))->message = message;
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

class PngReader {
 public:
  PngReader(std::string_view bytes, const std::string& name) : source_{bytes}, name_(name) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source_, on_error, on_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png_, &source_, read_bytes);
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  Tensor read(const LoadOptions& options) {
    guarded([this] { png_read_info(png_, info_); });
    width_ = png_get_image_width(png_, info_);
    const std::int64_t height = png_get_image_height(png_, info_);
    check_size(height, width_, options.max_pixels, name_);
    guarded([this] { convert(); });
    channels_ = png_get_channels(png_, info_);
    const bool color = options.channels == 0 ? channels_ >= 3 : options.channels == 3;
    Tensor image = Tensor::uninitialized(u8, {height, width_, color ? 3 : 1});
    if (png_get_interlace_type(png_, info_) == PNG_INTERLACE_NONE) read_rows(image);
    else read_whole(image);
    guarded([this] { png_read_end(png_, info_); });  // Exif data may stand after the pixels
    return options.upright ? upright(image, orientation()) : image;
  }

 private:
  template <class F>
  void guarded(const F& call) {
    if (setjmp(png_jmpbuf(png_)) != 0) fail_data(name_ + ": damaged PNG: " + source_.message);
    call();
  }

  // To 8 bits for each of gray, gray and alpha, RGB, or RGB and alpha. 16 bits are scaled, not cut
  // off. A gamma that the file states is changed to that of sRGB.
  void convert() {
    png_set_expand(png_);
    png_set_scale_16(png_);
    png_set_interlace_handling(png_);
    double gamma = 0;
    const bool standard = png_get_valid(png_, info_, PNG_INFO_sRGB) != 0 ||
                          png_get_valid(png_, info_, PNG_INFO_iCCP) != 0;
    if (!standard && png_get_gAMA(png_, info_, &gamma) != 0) png_set_gamma(png_, 2.2, gamma);
    png_read_update_info(png_, info_);
  }

  int orientation() {
    png_uint_32 size = 0;
    png_bytep exif = nullptr;
    guarded([&] { png_get_eXIf_1(png_, info_, &size, &exif); });
    return exif == nullptr ? 1 : exif_orientation({reinterpret_cast<const char*>(exif), size});
  }

  std::size_t row_bytes() const { return static_cast<std::size_t>(width_) * channels_; }

  void read_rows(Tensor& image) {
    std::vector<png_byte> row(row_bytes());
    for (std::int64_t y = 0; y < image.dim(0); ++y) {
      guarded([&] { png_read_row(png_, row.data(), nullptr); });
      write_row(row.data(), image, y);
    }
  }

  void read_whole(Tensor& image) {
    std::vector<png_byte> pixels(static_cast<std::size_t>(image.dim(0)) * row_bytes());
    std::vector<png_bytep> rows;
    for (std::int64_t y = 0; y < image.dim(0); ++y) {
      rows.push_back(pixels.data() + static_cast<std::size_t>(y) * row_bytes());
    }
    guarded([&] { png_read_image(png_, rows.data()); });
    for (std::int64_t y = 0; y < image.dim(0); ++y) {
      write_row(rows[static_cast<std::size_t>(y)], image, y);
    }
  }

  // Transparent parts become white.
  void write_row(const png_byte* from, Tensor& image, std::int64_t y) const {
    const bool color = channels_ >= 3, alpha = channels_ % 2 == 0;
    const std::int64_t results = image.dim(2);
    auto* to = image.data<std::uint8_t>() + y * width_ * results;
    for (std::int64_t x = 0; x < width_; ++x, from += channels_, to += results) {
      const unsigned opaque = alpha ? from[channels_ - 1] : 255;
      std::uint8_t pixel[3];
      for (int c = 0; c < 3; ++c) {
        const unsigned value = from[color ? c : 0];
        pixel[c] = static_cast<std::uint8_t>((value * opaque + 255 * (255 - opaque) + 127) / 255);
      }
      if (results == 3) std::copy_n(pixel, 3, to);
      else *to = color ? luma_of(pixel) : pixel[0];
    }
  }

  Source source_;
  const std::string& name_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::int64_t width_ = 0;
  unsigned channels_ = 0;
};

}  // namespace

Tensor decode_png(std::string_view bytes, const std::string& name, const LoadOptions& options) {
  return PngReader(bytes, name).read(options);
}

std::string encode_png(const Tensor& image) {
  check_image(image, "save_png");
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.height = static_cast<png_uint_32>(image.dim(0));
  header.width = static_cast<png_uint_32>(image.dim(1));
  header.format = image.dim(2) == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&header, bytes.data(), &size, 0, image.bytes(), 0, nullptr) == 0) {
    fail_internal(std::string("PNG: ") + header.message);
  }
  bytes.resize(size);
  return bytes;
}

void save_png(const std::string& path, const Tensor& image) {
  write_file_atomically(path, encode_png(image));
}

}  // namespace trireme::image
