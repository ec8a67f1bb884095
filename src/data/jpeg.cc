#include <turbojpeg.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/error.h"
#include "data/codecs.h"
#include "data/exif.h"

namespace trireme::image {
namespace {

// Whether pixels are lost. Other warnings, such as of stray bytes between segments or an unknown
// version, are common and harmless, and every viewer shows such files.
bool loses_pixels(tjhandle decoder) {
  if (tjGetErrorCode(decoder) != TJERR_WARNING) return true;
  const std::string message = tjGetErrorStr2(decoder);
  const bool damaged = message.find("Corrupt JPEG") != std::string::npos ||
                       message.find("Premature end") != std::string::npos;
  return damaged && message.find("extraneous bytes") == std::string::npos;
}

// Returns the content, after `prefix`, of the first segment with this marker that begins with it;
// an empty view if there is none before the pixels.
std::string_view segment(std::string_view bytes, unsigned char wanted, std::string_view prefix) {
  std::size_t at = 2;
  while (at + 4 <= bytes.size() && bytes[at] == '\xff') {
    const auto marker = static_cast<unsigned char>(bytes[at + 1]);
    if (marker == 0xff) {  // a fill byte
      ++at;
      continue;
    }
    if (marker == 0xda) return {};  // the pixels begin
    const auto high = static_cast<unsigned char>(bytes[at + 2]);
    const auto low = static_cast<unsigned char>(bytes[at + 3]);
    const std::size_t length = std::max<std::size_t>(2, std::size_t{high} << 8 | low);
    const std::string_view content = bytes.substr(at + 4, length - 2);
    if (marker == wanted && content.starts_with(prefix)) return content.substr(prefix.size());
    at += 2 + length;
  }
  return {};
}

// Whether there is a marker of Adobe, whose programs store the inverse of each ink.
bool is_by_adobe(std::string_view bytes) { return segment(bytes, 0xee, "Adobe").data() != nullptr; }

int orientation_of(std::string_view bytes) {
  return exif_orientation(segment(bytes, 0xe1, std::string_view("Exif\0\0", 6)));
}

void inks_to_rgb(const std::uint8_t* from, bool inverted, std::uint8_t* to) {
  const auto light = [&](int i) { return inverted ? from[i] : 255 - from[i]; };
  for (int i = 0; i < 3; ++i) to[i] = static_cast<std::uint8_t>((light(i) * light(3) + 127) / 255);
}

// `image` has 3 channels or 1.
void inks_to_pixels(const std::vector<std::uint8_t>& inks, bool inverted, Tensor& image) {
  auto* pixel = image.data<std::uint8_t>();
  for (std::size_t i = 0; i < inks.size(); i += 4, pixel += image.dim(2)) {
    std::uint8_t rgb[3];
    inks_to_rgb(inks.data() + i, inverted, rgb);
    if (image.dim(2) == 3) std::copy_n(rgb, 3, pixel);
    else *pixel = luma_of(rgb);
  }
}

}  // namespace

Tensor decode_jpeg(std::string_view bytes, const std::string& name, const LoadOptions& options) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  if (!decoder) fail_internal("libturbojpeg cannot start");
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto check = [&](int status) {
    if (status == 0 || !loses_pixels(decoder.get())) return;
    fail_data(name + ": damaged JPEG: " + tjGetErrorStr2(decoder.get()));
  };
  int width = 0, height = 0, subsampling = 0, colors = 0;
  check(tjDecompressHeader3(decoder.get(), data, bytes.size(), &width, &height, &subsampling,
                            &colors));
  if (width < 1 || height < 1) {
    fail_data(name + ": damaged JPEG: " + tjGetErrorStr2(decoder.get()));
  }
  check_size(height, width, options.max_pixels, name);
  const bool color = options.channels == 0 ? colors != TJCS_GRAY : options.channels == 3;
  const bool inks = colors == TJCS_CMYK || colors == TJCS_YCCK;
  Tensor result = Tensor::uninitialized(u8, {height, width, color ? 3 : 1});
  std::vector<std::uint8_t> four(inks ? static_cast<std::size_t>(result.dim(0) * width) * 4 : 0);
  std::uint8_t* const to = inks ? four.data() : reinterpret_cast<std::uint8_t*>(result.bytes());
  const int format = inks ? TJPF_CMYK : color ? TJPF_RGB : TJPF_GRAY;
  // A file of a few bytes can ask for thousands of passes over its pixels: that is refused.
  check(tjDecompress2(decoder.get(), data, bytes.size(), to, width, 0, height, format,
                      TJFLAG_LIMITSCANS));
  if (inks) inks_to_pixels(four, is_by_adobe(bytes), result);
  return options.upright ? upright(result, orientation_of(bytes)) : result;
}

}  // namespace trireme::image
