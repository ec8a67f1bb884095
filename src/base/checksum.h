#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trireme {

// Returns XXH128 of the bytes (XXH3, seed 0) as 32 hexadecimal digits, as `xxhsum -H2` prints it.
// It detects damage, not forgery.
std::string checksum(std::string_view bytes);

// Returns XXH3 of the bytes with 64 bits and seed 0.
std::uint64_t hash64(std::string_view bytes);

// Returns CRC-32C (Castagnoli, reflected polynomial 0x82f63b78) of the bytes. `before` is the CRC
// of the bytes before them.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

}  // namespace trireme
