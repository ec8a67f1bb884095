#include "data/archive.h"

#include "fuzz.h"

// Tar and zip archives, unpacked to at most a megabyte.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz(data, size, [](std::string_view bytes) {
    std::size_t total = 0;
    for (const auto& file : trireme::data::read_archive(
             bytes, "f", [](const std::string&) { return true; }, 1 << 20)) {
      total += file.bytes.size();
    }
    if (total > 1 << 20) __builtin_trap();
  });
}
