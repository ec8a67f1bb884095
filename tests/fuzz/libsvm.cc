#include "data/libsvm.h"

#include "fuzz.h"

// Sparse rows; the first byte chooses the options.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  trireme::data::LibsvmOptions options;
  options.ids = (data[0] & 1) != 0 ? 100 : 0;
  options.zero_one = (data[0] & 2) != 0;
  return fuzz(data + 1, size - 1, [&](std::string_view bytes) {
    const auto dataset = trireme::data::libsvm_from_text(bytes, "f", options);
    if (dataset.all().at("ids").dim(0) != dataset.size()) __builtin_trap();
  });
}
