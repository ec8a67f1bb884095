#include "session/train/checkpoint.h"
#include "fuzz.h"

// The state of a checkpoint; what is read is the same after it was written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme;
  return fuzz(data, size, [](std::string_view bytes) {
    const std::string once = checkpoint_state_text(parse_checkpoint_state(bytes, "f"));
    if (checkpoint_state_text(parse_checkpoint_state(once, "f")) != once) __builtin_trap();
  });
}
