#include "trireme/image.h"
#include "fuzz.h"

// PNG and JPEG files; what is read can be written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme;
  return fuzz(data, size, [](std::string_view bytes) {
    const Tensor image = image::decode(bytes, "f", {.max_pixels = 1 << 16});
    const Tensor again = image::decode(image::encode_png(image), "f");
    if (!equal(image, again)) __builtin_trap();
    image::resize(image::to_gray(image), 7, 9);
  });
}
