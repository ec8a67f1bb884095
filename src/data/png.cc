#include "data/codecs.h"

#include <png.h>

#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/file.h"
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

Tensor decode_png(std::string_view bytes, const std::string& name, const LoadOptions& options) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_image*)> guard(&image, png_image_free);
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) {
    fail_data(name + ": damaged PNG: " + image.message);
  }
  check_size(image.height, image.width, options.max_pixels, name);
  const bool color =
      options.channels == 0 ? (image.format & PNG_FORMAT_FLAG_COLOR) != 0 : options.channels == 3;
  image.format = color ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  Tensor result =
      Tensor::uninitialized(u8, {static_cast<std::int64_t>(image.height),
                                 static_cast<std::int64_t>(image.width), color ? 3 : 1});
  const png_color white{255, 255, 255};
  if (png_image_finish_read(&image, &white, result.bytes(), 0, nullptr) == 0) {
    fail_data(name + ": damaged PNG: " + image.message);
  }
  // libpng warns, and no more, where it has to make up pixels.
  if (image.warning_or_error != 0 && std::strstr(image.message, "too little") != nullptr) {
    fail_data(name + ": damaged PNG: " + image.message);
  }
  return result;
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
