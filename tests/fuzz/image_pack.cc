#include "data/image_pack.h"

#include "fuzz.h"

// Packs of JPEG pictures with labels below 10.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme::data;
  return fuzz(data, size, [](std::string_view bytes) {
    const Dataset dataset =
        image_pack_dataset(parse_image_pack(Blob::own(std::string(bytes)), "f", 10), 8, {});
    if (dataset.all().at("label").dim(0) != dataset.size()) __builtin_trap();
  });
}
