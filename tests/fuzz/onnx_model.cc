#include "fuzz.h"
#include "trireme/onnx.h"

// Models of ONNX; the Program of one that can be imported is printed and parsed.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme;
  return fuzz(data, size, [](std::string_view bytes) {
    const onnx::ImportedModel model =
        onnx::import_bytes(bytes, {.max_bytes = 1 << 26, .max_nodes = 300});
    const std::string text = model.program.str();
    if (Program::parse(text).str() != text) __builtin_trap();
  });
}
