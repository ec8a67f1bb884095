#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trireme {

// SHA-256 (FIPS 180-4) of bytes that come in pieces.
class Sha256 {
 public:
  void update(std::string_view bytes);
  // The digest of all bytes, as 64 digits of base 16. Ends the computation.
  std::string hex();

 private:
  void add_block(const unsigned char* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> rest_ = {};  // bytes that do not fill a block yet
  std::uint64_t size_ = 0;                   // of all bytes
};

std::string sha256(std::string_view bytes);

}  // namespace trireme
