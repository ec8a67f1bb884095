#include "data/idx.h"
#include "fuzz.h"

// IDX files, plain and packed.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme::data;
  return fuzz(data, size, [](std::string_view bytes) {
    const Idx idx = parse_idx(Blob::own(decompress(bytes, "f", 1 << 20)), "f");
    const trireme::Tensor tensor = idx_tensor(idx);
    if (tensor.elements() != idx.elements()) __builtin_trap();
  });
}
