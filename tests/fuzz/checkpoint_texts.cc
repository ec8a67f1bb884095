#include "distributed/checkpoint/catalog.h"
#include "distributed/checkpoint/export.h"
#include "fuzz.h"

// Texts about checkpoints and exports, of whatever sort the first byte says: they are the same
// after they were written again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme::distributed::checkpoint;
  return fuzz(data, size, [](std::string_view bytes) {
    if (bytes.empty()) return;
    const char kind = bytes[0];
    bytes.remove_prefix(1);
    switch (kind) {
      case 0: {
        const Manifest manifest = parse_manifest(bytes, "f");
        if (parse_manifest(manifest_text(manifest), "f") != manifest) __builtin_trap();
        break;
      }
      case 1: {
        const Part part = parse_part(bytes, "f");
        if (parse_part(part_text(part), "f") != part) __builtin_trap();
        break;
      }
      case 2: {
        const std::string once = index_text(parse_index(bytes, "f"));
        if (index_text(parse_index(once, "f")) != once) __builtin_trap();
        break;
      }
      default: {
        const Committed committed = parse_committed(1, bytes);
        if (committed_text(parse_committed(1, committed_text(committed))) !=
            committed_text(committed)) {
          __builtin_trap();
        }
        break;
      }
    }
  });
}
