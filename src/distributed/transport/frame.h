#pragma once

// What processes of a job send each other: a header of 48 bytes and a payload.
// docs/reference/distributed-jobs.md has the layout.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace trireme::distributed {

inline constexpr std::size_t kHeaderBytes = 48;
inline constexpr std::size_t kLargestFrame = 16u
                                             << 20;  // header and payload, if nobody says otherwise

// What became of a request.
enum class Code : std::uint8_t {
  ok,
  duplicate,   // was done already, and not done again
  wrong_map,   // of another version of the slot map, or slots that the server does not have
  stale,       // of a generation, an epoch or a step that is over
  busy,        // no room now: ask again later
  no_space,    // memory or disk is full
  corrupt,     // the checksum does not fit
  refused,     // asks for what cannot be; the payload says why
  failed,      // the server failed; the payload says why
  undeclared,  // of a table that the server has not been told of
};
inline constexpr std::size_t kCodes = 10;
const char* name_of(Code code);

// The fields whose meaning is the operation's are the user's; transport sets `request`.
struct Header {
  std::uint8_t op = 0, flags = 0;
  Code code = Code::ok;  // of answers
  std::uint32_t table = 0, map_version = 0, generation = 0;
  std::uint32_t request = 0;   // counts the requests of a stream from 1; the answer has the same
  std::uint64_t sequence = 0;  // with the sender, for finding duplicates
  std::uint32_t sender = 0;
  std::uint32_t count = 0;
};

// Bytes in pieces, each of which keeps what it stands in. Copies share the pieces.
class Payload {
 public:
  struct Piece {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };

  Payload() = default;
  explicit Payload(std::string bytes) { append(std::move(bytes)); }

  void append(std::string bytes);
  void append(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  // Room for n values at the end, for the caller to write before anybody else sees the payload.
  template <class T>
  T* extend(std::size_t n) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::shared_ptr<T[]> values = std::make_shared_for_overwrite<T[]>(n);
    T* const begin = values.get();
    append(std::as_bytes(std::span<const T>(begin, n)), std::move(values));
    return begin;
  }

  std::size_t size() const { return size_; }
  std::span<const Piece> pieces() const { return pieces_; }
  std::string text() const;  // all bytes together

 private:
  std::vector<Piece> pieces_;
  std::size_t size_ = 0;
};

struct Frame {
  Header header;
  Payload payload;
};

// Reads a payload from its beginning. The payload outlives the reader. Errors of all: data, if
// there are not so many bytes.
class PayloadReader {
 public:
  explicit PayloadReader(const Payload& payload)
      : pieces_(payload.pieces()), left_(payload.size()) {}

  std::size_t left() const { return left_; }
  template <class T>
  T value() {
    static_assert(std::is_trivially_copyable_v<T>);
    T result;
    read({reinterpret_cast<std::byte*>(&result), sizeof result});
    return result;
  }
  // The next n values: where they lie, if they lie together as a T has to; else a copy in
  // `scratch`.
  template <class T>
  std::span<const T> values(std::size_t n, std::vector<T>& scratch) {
    static_assert(std::is_trivially_copyable_v<T>);
    require(n <= left_ / sizeof(T));
    if (const std::byte* const here = together(n * sizeof(T), alignof(T))) {
      return {reinterpret_cast<const T*>(here), n};
    }
    scratch.resize(n);
    read(std::as_writable_bytes(std::span<T>(scratch)));
    return scratch;
  }
  // The next n values, copied.
  template <class T>
  void read_to(T* values, std::size_t n) {
    static_assert(std::is_trivially_copyable_v<T>);
    require(n <= left_ / sizeof(T));
    read(std::as_writable_bytes(std::span<T>(values, n)));
  }
  std::string text(std::size_t n);
  // Errors: data, if anything is left.
  void end() const;

 private:
  void require(bool enough) const;
  void read(std::span<std::byte> to);
  // The next n bytes, passed over, if they lie in one piece; else nullptr, and nothing is passed
  // over.
  const std::byte* together(std::size_t n, std::size_t alignment);

  std::span<const Payload::Piece> pieces_;
  std::size_t begin_ = 0;  // in the first of them
  std::size_t left_;
};

std::uint32_t checksum_of(const Payload& payload);
// The header of a payload of this length and checksum, as bytes.
std::array<std::byte, kHeaderBytes> encode_header(const Header& header, std::size_t length,
                                                  std::uint32_t sum);
// The frame that these bytes are. What has arrived is whole, but may say anything. Errors: data,
// for what is no frame or is longer than `largest`. The checksum is not looked at: intact() does
// that.
struct Arrived {
  Frame frame;
  std::uint32_t checksum = 0;
  bool intact() const;
};
Arrived decode_frame(const Payload& bytes, std::size_t largest = kLargestFrame);

}  // namespace trireme::distributed
