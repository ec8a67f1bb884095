#include "base/checksum.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

// Known answers: RFC 3720, appendix B.4, and the catalogue's check value for "123456789".
TEST(Checksum, Crc32cOfKnownTexts) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

// Of parts, whatever their lengths, against the definition, bit by bit.
TEST(Checksum, Crc32cGoesOnWhereItEnded) {
  const std::string text = "a checkpoint is read piece by piece, and its checksum grows with it";
  std::uint32_t slow = ~0u;
  for (const char c : text) {
    slow ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) slow = (slow >> 1) ^ ((slow & 1) != 0 ? 0x82f63b78u : 0u);
  }
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc32c(text.substr(cut), crc32c(text.substr(0, cut))), ~slow) << cut;
  }
}

// XXH128 of nothing with seed 0, from the xxHash specification's sanity checks.
TEST(Checksum, Xxh128OfNothing) {
  EXPECT_EQ(checksum(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(checksum("a"), checksum("b"));
}

}  // namespace
}  // namespace trireme
