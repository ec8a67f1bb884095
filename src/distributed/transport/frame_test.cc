#include "distributed/transport/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/error.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

Frame some_frame() {
  Frame frame;
  frame.header = {3, 4, Code::stale, 0x01020304, 5, 6, 7, 0x1122334455667788, 8, 9};
  frame.payload.append("123");
  frame.payload.append("456789");
  return frame;
}

std::string bytes_of(const Frame& frame) {
  const auto header = encode_header(frame.header, frame.payload.size(), checksum_of(frame.payload));
  return std::string(reinterpret_cast<const char*>(header.data()), header.size()) +
         frame.payload.text();
}

// The bytes in pieces that end at `cut`.
Payload in_two(const std::string& bytes, std::size_t cut) {
  Payload payload;
  payload.append(bytes.substr(0, cut));
  payload.append(bytes.substr(cut));
  return payload;
}

// The layout is a promise: docs/reference/distributed-jobs.md. The checksum is that of the payload
// (the catalogue's check value for "123456789" is e3069283) and then of the header, computed by
// another program.
TEST(Frame, Layout) {
  const std::string bytes = bytes_of(some_frame());
  const unsigned char expected[kHeaderBytes] = {
      'T',  'R',  'M',  'F',  1,    3,    4,    3,     // magic, version, op, flags, code
      4,    3,    2,    1,    5,    0,    0,    0,     // table, map version
      6,    0,    0,    0,    7,    0,    0,    0,     // generation, request
      0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,  // sequence
      8,    0,    0,    0,    9,    0,    0,    0,     // sender, count
      0,    0,    0,    0,    9,    0,    0,    0};    // checksum (below), length
  for (std::size_t i = 0; i < kHeaderBytes; ++i) {
    if (i >= 40 && i < 44) continue;
    EXPECT_EQ(static_cast<unsigned char>(bytes[i]), expected[i]) << i;
  }
  EXPECT_EQ(checksum_of(some_frame().payload), 0xe3069283u);
  std::uint32_t sum = 0;
  std::memcpy(&sum, bytes.data() + 40, 4);
  EXPECT_EQ(sum, 0x1d28c3cdu);
}

TEST(Frame, ComesBackWhereverItWasCut) {
  const std::string bytes = bytes_of(some_frame());
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const Arrived arrived = decode_frame(in_two(bytes, cut));
    ASSERT_TRUE(arrived.intact());
    ASSERT_EQ(bytes_of(arrived.frame), bytes);
  }
}

TEST(Frame, NoTruncatedOneAndNoFlippedBitPasses) {
  const std::string bytes = bytes_of(some_frame());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(error_of(ErrorKind::data, [&] { decode_frame(Payload(bytes.substr(0, size))); }),
              "no error");
  }
  EXPECT_NE(error_of(ErrorKind::data, [&] { decode_frame(Payload(bytes + "!")); }), "no error");
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    try {
      EXPECT_FALSE(decode_frame(Payload(flipped)).intact()) << bit;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
    }
  }
}

TEST(Frame, ErrorsSayWhatIsWrong) {
  std::string bytes = bytes_of(some_frame());
  EXPECT_THAT(error_of([&] { decode_frame(Payload(bytes), 50); }), HasSubstr("at most 50"));
  EXPECT_THAT(error_of([&] { decode_frame(Payload(std::string(100, 'x'))); }),
              HasSubstr("no frame of Trireme"));
  bytes[4] = 2;
  EXPECT_THAT(error_of([&] { decode_frame(Payload(bytes)); }), HasSubstr("version 2"));
}

TEST(PayloadReader, ReadsAcrossPiecesAndNotBeyond) {
  Payload payload;
  std::uint32_t* const numbers = payload.extend<std::uint32_t>(3);
  for (std::uint32_t i = 0; i < 3; ++i) numbers[i] = i + 1;
  Payload cut;
  const std::string bytes = payload.text();
  for (const char c : bytes) cut.append(std::string(1, c));
  for (const Payload* each : {&payload, &cut}) {
    PayloadReader reader(*each);
    EXPECT_EQ(reader.value<std::uint32_t>(), 1u);
    EXPECT_THAT(error_of([&] { reader.end(); }), HasSubstr("8 bytes too many"));
    std::vector<std::uint32_t> scratch;
    EXPECT_THAT(reader.values<std::uint32_t>(2, scratch), ::testing::ElementsAre(2, 3));
    EXPECT_EQ(scratch.empty(), each == &payload);  // nothing is copied that need not be
    reader.end();
    EXPECT_THAT(error_of([&] { reader.value<std::uint8_t>(); }), HasSubstr("too early"));
    std::vector<std::uint64_t> much;
    EXPECT_THAT(error_of([&] { reader.values(std::size_t{1} << 61, much); }),
                HasSubstr("too early"));
  }
}

}  // namespace
}  // namespace trireme::distributed
