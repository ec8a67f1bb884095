#include "fuzz.h"
#include "session/train/run_folder.h"

// metrics.jsonl of a run that goes on: the lines that stay, stay also when they are read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz(data, size, [](std::string_view text) {
    const std::string kept = trireme::lines_of_steps(text, 5);
    if (kept.size() > text.size() + 1 || trireme::lines_of_steps(kept, 5) != kept) __builtin_trap();
  });
}
