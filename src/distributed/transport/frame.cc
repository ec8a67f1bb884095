#include "distributed/transport/frame.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "base/checksum.h"
#include "base/error.h"

namespace trireme::distributed {
namespace {

static_assert(std::endian::native == std::endian::little, "frames are little-endian");

constexpr std::uint32_t kMagic = 0x464d5254;  // "TRMF"
constexpr std::uint8_t kFrameVersion = 1;
constexpr std::size_t kChecksumAt = 40;

struct HeaderLayout {
  std::uint32_t magic;
  std::uint8_t version, op, flags, code;
  std::uint32_t table, map_version, generation, request;
  std::uint64_t sequence;
  std::uint32_t sender, count, checksum, length;
};
static_assert(sizeof(HeaderLayout) == kHeaderBytes &&
              offsetof(HeaderLayout, checksum) == kChecksumAt &&
              offsetof(HeaderLayout, sequence) == 24);

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

HeaderLayout layout_of(const Header& header, std::size_t length) {
  return {kMagic,
          kFrameVersion,
          header.op,
          header.flags,
          static_cast<std::uint8_t>(header.code),
          header.table,
          header.map_version,
          header.generation,
          header.request,
          header.sequence,
          header.sender,
          header.count,
          0,
          static_cast<std::uint32_t>(length)};
}

// Returns the checksum of the payload, whose checksum is `sum`, followed by the header with
// checksum 0.
std::uint32_t checksum_of(const HeaderLayout& layout, std::uint32_t sum) {
  return crc32c({reinterpret_cast<const char*>(&layout), sizeof layout}, sum);
}

}  // namespace

const char* name_of(Code code) {
  constexpr std::array kNames = {"ok",       "duplicate", "wrong map", "stale",  "busy",
                                 "no space", "corrupt",   "refused",   "failed", "undeclared"};
  const auto number = static_cast<std::size_t>(code);
  return number < kNames.size() ? kNames[number] : "unknown";
}

void Payload::append(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  const std::span<const char> all(*owner);
  append(std::as_bytes(all), std::move(owner));
}

void Payload::append(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  if (bytes.empty()) return;
  size_ += bytes.size();
  pieces_.push_back({bytes, std::move(owner)});
}

std::string Payload::text() const {
  std::string result;
  result.reserve(size_);
  for (const Piece& piece : pieces_) result += as_text(piece.bytes);
  return result;
}

void PayloadReader::require(bool enough) const {
  if (!enough) fail_data("a frame's payload ends too early");
}

void PayloadReader::end() const {
  if (left_ != 0) fail_data(fmt::format("a frame's payload has {} bytes too many", left_));
}

void PayloadReader::read(std::span<std::byte> to) {
  require(to.size() <= left_);
  left_ -= to.size();
  while (!to.empty()) {
    const std::span<const std::byte> here = pieces_.front().bytes.subspan(begin_);
    const std::size_t n = std::min(here.size(), to.size());
    std::memcpy(to.data(), here.data(), n);
    to = to.subspan(n);
    begin_ += n;
    if (n == here.size()) {
      pieces_ = pieces_.subspan(1);
      begin_ = 0;
    }
  }
}

const std::byte* PayloadReader::together(std::size_t n, std::size_t alignment) {
  if (n == 0 || n > left_) return nullptr;
  const std::span<const std::byte> here = pieces_.front().bytes.subspan(begin_);
  if (here.size() < n || reinterpret_cast<std::uintptr_t>(here.data()) % alignment != 0) {
    return nullptr;
  }
  left_ -= n;
  begin_ += n;
  if (n == here.size()) {
    pieces_ = pieces_.subspan(1);
    begin_ = 0;
  }
  return here.data();
}

std::string PayloadReader::text(std::size_t n) {
  require(n <= left_);
  std::string result(n, '\0');
  read(std::as_writable_bytes(std::span<char>(result)));
  return result;
}

std::uint32_t checksum_of(const Payload& payload) {
  std::uint32_t sum = 0;
  for (const Payload::Piece& piece : payload.pieces()) sum = crc32c(as_text(piece.bytes), sum);
  return sum;
}

std::array<std::byte, kHeaderBytes> encode_header(const Header& header, std::size_t length,
                                                  std::uint32_t sum) {
  HeaderLayout layout = layout_of(header, length);
  layout.checksum = checksum_of(layout, sum);
  return std::bit_cast<std::array<std::byte, kHeaderBytes>>(layout);
}

bool Arrived::intact() const {
  const HeaderLayout layout = layout_of(frame.header, frame.payload.size());
  return checksum_of(layout, checksum_of(frame.payload)) == checksum;
}

Arrived decode_frame(const Payload& bytes, std::size_t largest) {
  if (bytes.size() > largest) {
    fail_data(
        fmt::format("a frame of {} bytes, of which at most {} are taken", bytes.size(), largest));
  }
  if (bytes.size() < kHeaderBytes) {
    fail_data(fmt::format("a frame of {} bytes, less than its header", bytes.size()));
  }
  const auto layout = PayloadReader(bytes).value<HeaderLayout>();
  if (layout.magic != kMagic) fail_data("a message that is no frame of Trireme");
  if (layout.version != kFrameVersion) {
    fail_data(fmt::format("a frame of version {}; this program speaks version {}", layout.version,
                          kFrameVersion));
  }
  if (layout.length != bytes.size() - kHeaderBytes) {
    fail_data(fmt::format("a frame whose header says {} bytes has {}", layout.length,
                          bytes.size() - kHeaderBytes));
  }
  if (layout.code > static_cast<std::uint8_t>(Code::undeclared)) {
    fail_data(fmt::format("a frame with the unknown code {}", layout.code));
  }
  Arrived arrived;
  arrived.checksum = layout.checksum;
  arrived.frame.header = {layout.op,      layout.flags,       static_cast<Code>(layout.code),
                          layout.table,   layout.map_version, layout.generation,
                          layout.request, layout.sequence,    layout.sender,
                          layout.count};
  std::size_t skip = kHeaderBytes;
  for (const Payload::Piece& piece : bytes.pieces()) {
    const std::size_t here = std::min(skip, piece.bytes.size());
    arrived.frame.payload.append(piece.bytes.subspan(here), piece.owner);
    skip -= here;
  }
  return arrived;
}

}  // namespace trireme::distributed
