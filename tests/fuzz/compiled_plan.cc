#include "fuzz.h"
#include "inference/model_file.h"

// plan.json of a compiled model; what is read is the same after it was written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme::inference;
  return fuzz(data, size, [](std::string_view bytes) {
    const std::string once = model_file_text(parse_model_file(bytes, "f"));
    if (model_file_text(parse_model_file(once, "f")) != once) __builtin_trap();
  });
}
