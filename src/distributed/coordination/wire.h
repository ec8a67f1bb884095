#pragma once

// The wire format of protocol buffers, as much of it as etcd's messages need: fields of a number
// each, which hold an integer, bytes or a message. By hand, for no process can have libprotobuf and
// Debian's libsentencepiece, which brings an older one of its own, at once:
// docs/reference/dependencies.md. Source: the public description of the encoding,
// protobuf.dev/programming-guides/encoding.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trireme::distributed::wire {

// Zeros and empty bytes are not written, as the format's third version has it, except by present().
class Writer {
 public:
  void number(int field, std::int64_t value);
  void bytes(int field, std::string_view value);
  void message(int field, const Writer& value);  // empty ones too
  void present(int field, std::int64_t value);   // of a choice among fields: zero says which one
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
  // The next field; nothing at the end. Integers of fixed size are skipped. Errors: data, for what
  // is no message.
  std::optional<Field> next();

 private:
  std::uint64_t varint();
  std::string_view take(std::uint64_t count);
  std::string_view rest_;
};

}  // namespace trireme::distributed::wire
