#include "base/sha256.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

// FIPS 180-4's examples (NIST, "SHA-256 examples"), and the empty text.
TEST(Sha256, Examples) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesOfAnySize) {
  for (const std::size_t size : {55u, 56u, 63u, 64u, 65u, 119u, 120u, 1000u}) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(i * 7);
    for (const std::size_t piece : {1u, 3u, 64u, 100u}) {
      Sha256 digest;
      for (std::size_t i = 0; i < size; i += piece) digest.update(text.substr(i, piece));
      EXPECT_EQ(digest.hex(), sha256(text)) << size << " in pieces of " << piece;
    }
  }
}

}  // namespace
}  // namespace trireme
