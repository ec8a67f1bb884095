#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trireme {

// XXH128 of the bytes (XXH3, seed 0) as 32 hexadecimal digits: what `xxhsum -H2` prints. It finds
// damage, not forgery.
std::string checksum(std::string_view bytes);

// XXH3 with 64 bits and seed 0, for the same.
std::uint64_t hash64(std::string_view bytes);

// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78). crc32c(b, crc32c(a)) is that of a and b together.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

}  // namespace trireme
