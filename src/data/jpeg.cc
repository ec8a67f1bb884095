#include <turbojpeg.h>

#include <memory>

#include "base/error.h"
#include "data/codecs.h"

namespace trireme::image {

Tensor decode_jpeg(std::string_view bytes, const std::string& name, const LoadOptions& options) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  if (!decoder) fail_internal("libturbojpeg cannot start");
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int colors = 0;
  if (tjDecompressHeader3(decoder.get(), data, bytes.size(), &width, &height, &subsampling,
                          &colors) != 0) {
    fail_data(name + ": damaged JPEG: " + tjGetErrorStr2(decoder.get()));
  }
  check_size(height, width, options.max_pixels, name);
  const bool color = options.channels == 0 ? colors != TJCS_GRAY : options.channels == 3;
  Tensor result = Tensor::uninitialized(u8, {height, width, color ? 3 : 1});
  // A file of a few bytes can ask for thousands of passes over its pixels: that is refused.
  const int status = tjDecompress2(decoder.get(), data, bytes.size(),
                                   reinterpret_cast<unsigned char*>(result.bytes()), width, 0,
                                   height, color ? TJPF_RGB : TJPF_GRAY, TJFLAG_LIMITSCANS);
  const std::string message = tjGetErrorStr2(decoder.get());
  // Stray bytes between segments are common and harmless; every other warning means lost pixels.
  if (status != 0 && message.find("extraneous bytes") == std::string::npos) {
    fail_data(name + ": damaged JPEG: " + message);
  }
  return result;
}

}  // namespace trireme::image
