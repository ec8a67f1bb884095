#include "fuzz.h"
#include "ir/program.h"
#include "ops/op.h"

// The text of a Program, with the type rules of all ops. What is accepted must be well-formed, and
// its text must read back as itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme;
  return fuzz(data, size, [](std::string_view text) {
    const auto program = ir::parse(text, ops::catalog());
    ir::verify(*program);
    const std::string printed = ir::print(*program);
    if (ir::print(*ir::parse(printed, ops::catalog())) != printed) __builtin_trap();
  });
}
