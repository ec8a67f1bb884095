#include <cstring>

#include "base/checksum.h"
#include "distributed/checkpoint/part.h"
#include "fuzz.h"

namespace {

// Puts the checksums of all blocks right, so that the fuzzer reaches what they guard.
void mend(std::string& file) {
  for (std::size_t at = 12; at + 16 <= file.size();) {
    std::uint32_t size = 0;
    std::memcpy(&size, file.data() + at + 12, sizeof size);
    if (size > file.size() - at - 16) return;
    const std::uint32_t crc =
        trireme::crc32c(std::string_view(file).substr(at + 4, std::size_t{12} + size));
    std::memcpy(file.data() + at, &crc, sizeof crc);
    at += std::size_t{16} + size;
  }
}

}  // namespace

// Parts of checkpoints. If the first byte is odd, the checksums are corrected. The callbacks must
// report exactly the content that the counts of the part describe.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme::distributed;
  using namespace trireme::distributed::checkpoint;
  if (size == 0) return 0;
  return fuzz(data + 1, size - 1, [&](std::string_view bytes) {
    std::string file(bytes);
    if ((data[0] & 1) != 0) mend(file);
    PartCounts told;
    const auto removed = [&](std::span<const Id> ids) { told.removed += ids.size(); };
    const auto rows = [&](const RowBlock& block) { told.rows += block.ids.size(); };
    const auto dense = [&](const DenseRange& range, std::uint64_t offset, std::string_view piece) {
      if (offset + piece.size() > range.bytes()) __builtin_trap();
      told.bytes += piece.size();
    };
    const Part part = read_part(text_source(file), "f", {removed, rows, dense});
    told.digest = part.counts.digest;
    if (told != part.counts || part.sum.bytes != file.size()) __builtin_trap();
  });
}
