#pragma once

// The part of the wire format of Protocol Buffers that the messages of etcd need: numbered fields
// that contain an integer, bytes or a message. It is our own code because no process can load both
// libprotobuf and libsentencepiece of Debian, which contains an older version
// (docs/reference/dependencies.md). Source: the public description of the encoding,
// protobuf.dev/programming-guides/encoding.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trireme::distributed::wire {

// Zeros and empty bytes are not written, as in proto3, except by present().
class Writer {
 public:
  void number(int field, std::int64_t value);
  void bytes(int field, std::string_view value);
  void message(int field, const Writer& value);  // empty ones too
  void present(int field, std::int64_t value);   // in a oneof: writes zero, too
  void present(int field, std::string_view value);
  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value);
  std::string text_;
};

struct Field {
  int number = 0;
  std::int64_t value = 0;       // of an integer
  std::string_view bytes = {};  // of bytes, text and messages
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  // Returns the next field; nothing at the end. Skips integers of fixed size. Errors: data for
  // bytes that are no message.
  std::optional<Field> next();

 private:
  std::uint64_t varint();
  std::string_view take(std::uint64_t count);
  std::string_view rest_;
};

}  // namespace trireme::distributed::wire
