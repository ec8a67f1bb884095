#include "base/checksum.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <array>
#include <cstring>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace trireme {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kCrcTable = crc_table();

// Before and after, the bits of the checksum are inverted.
std::uint32_t crc_by_table(std::string_view bytes, std::uint32_t crc) {
  for (const char c : bytes) {
    crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 0xffu];
  }
  return crc;
}

#if defined(__x86_64__)
// By the processor's own instruction, 15 times as fast.
__attribute__((target("sse4.2"))) std::uint32_t crc_by_processor(std::string_view bytes,
                                                                 std::uint32_t crc) {
  std::uint64_t wide = crc;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    wide = _mm_crc32_u64(wide, word);
  }
  return crc_by_table(bytes, static_cast<std::uint32_t>(wide));
}
#endif

}  // namespace

std::string checksum(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", std::uint64_t{hash.high64}, std::uint64_t{hash.low64});
}

std::uint64_t hash64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~crc_by_processor(bytes, ~before);
#endif
  return ~crc_by_table(bytes, ~before);
}

}  // namespace trireme
