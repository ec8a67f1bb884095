#include "base/safetensors.h"
#include "fuzz.h"

// safetensors files; what is read is the same after it was written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme;
  return fuzz(data, size, [](std::string_view bytes) {
    const Safetensors content = parse_safetensors(bytes, "f");
    const Safetensors again = parse_safetensors(safetensors_bytes(content), "f");
    if (content.metadata != again.metadata) __builtin_trap();
    if (content.tensors.size() != again.tensors.size()) __builtin_trap();
    for (const auto& [name, tensor] : content.tensors) {
      if (!equal(tensor, again.tensors.at(name))) __builtin_trap();
    }
  });
}
