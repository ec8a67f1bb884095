#pragma once

// The messages between processes of a job: a header of 48 bytes and a payload.
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
// The service of servers and connections that do not name one.
inline constexpr const char* kDefaultService = "Frames";
inline constexpr std::size_t kLargestFrame = 16u << 20;  // header and payload, by default

// The result of a request.
enum class Code : std::uint8_t {
  ok,
  duplicate,   // it was already executed, and is not executed again
  wrong_map,   // it is for another version of the slot map, or for slots of another server
  stale,       // it is of a past generation, epoch or step
  busy,        // no space at the moment: send it again later
  no_space,    // memory or disk is full
  corrupt,     // wrong checksum
  refused,     // invalid request; the payload has the reason
  failed,      // the server failed; the payload has the reason
  undeclared,  // it is of a table that was not declared to the server
};
inline constexpr std::size_t kCodes = 10;
const char* name_of(Code code);

// The users set the fields whose meaning depends on the operation; transport sets `request`.
struct Header {
  std::uint8_t op = 0, flags = 0;
  Code code = Code::ok;  // of answers
  std::uint32_t table = 0, map_version = 0, generation = 0;
  std::uint32_t request = 0;   // counts the requests of a stream from 1; equal in the answer
  std::uint64_t sequence = 0;  // with the sender, to detect duplicates
  std::uint32_t sender = 0;
  std::uint32_t count = 0;
};

// Bytes in pieces, each of which owns its memory. Copies share the pieces.
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
  // Appends space for n values. The caller writes them before any other thread reads the payload.
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
  std::string text() const;  // all bytes in one string

 private:
  std::vector<Piece> pieces_;
  std::size_t size_ = 0;
};

struct Frame {
  Header header;
  Payload payload;
};

// Reads a payload from its beginning. The payload outlives the reader. Errors of all calls: data if
// there are too few bytes.
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
  // Returns the next n values: in place if they are contiguous and aligned, otherwise copied to
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
  // Copies the next n values.
  template <class T>
  void read_to(T* values, std::size_t n) {
    static_assert(std::is_trivially_copyable_v<T>);
    require(n <= left_ / sizeof(T));
    read(std::as_writable_bytes(std::span<T>(values, n)));
  }
  std::string text(std::size_t n);
  // Errors: data if there are unread bytes.
  void end() const;

 private:
  void require(bool enough) const;
  void read(std::span<std::byte> to);
  // Skips the next n bytes and returns them if they are in one piece. Otherwise returns nullptr and
  // skips nothing.
  const std::byte* together(std::size_t n, std::size_t alignment);

  std::span<const Payload::Piece> pieces_;
  std::size_t begin_ = 0;  // in the first of them
  std::size_t left_;
};

std::uint32_t checksum_of(const Payload& payload);
// Returns the header of a payload with this length and checksum.
std::array<std::byte, kHeaderBytes> encode_header(const Header& header, std::size_t length,
                                                  std::uint32_t sum);
// Decodes a frame from these bytes, which are complete but untrusted. Errors: data for bytes that
// are no frame, or are longer than `largest`. Does not check the checksum: intact() does.
struct Arrived {
  Frame frame;
  std::uint32_t checksum = 0;
  bool intact() const;
};
Arrived decode_frame(const Payload& bytes, std::size_t largest = kLargestFrame);

}  // namespace trireme::distributed
