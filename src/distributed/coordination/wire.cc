#include "distributed/coordination/wire.h"

#include "base/error.h"

namespace trireme::distributed::wire {
namespace {

constexpr int kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;

std::uint64_t tag(int field, int type) {
  return static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type);
}

}  // namespace

void Writer::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
  text_ += static_cast<char>(value);
}

void Writer::number(int field, std::int64_t value) {
  if (value != 0) present(field, value);
}

void Writer::bytes(int field, std::string_view value) {
  if (!value.empty()) present(field, value);
}

void Writer::message(int field, const Writer& value) { present(field, value.text()); }

void Writer::present(int field, std::int64_t value) {
  varint(tag(field, kVarint));
  varint(static_cast<std::uint64_t>(value));
}

void Writer::present(int field, std::string_view value) {
  varint(tag(field, kBytes));
  varint(value.size());
  text_ += value;
}

std::uint64_t Reader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1)[0]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  fail_data("a message has a number of more than 64 bits");
}

std::string_view Reader::take(std::uint64_t count) {
  if (count > rest_.size()) fail_data("a message ends within a field");
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

std::optional<Field> Reader::next() {
  while (!rest_.empty()) {
    const std::uint64_t key = varint();
    Field field{static_cast<int>(key >> 3 & 0x1FFFFFFF)};
    if (field.number == 0) fail_data("a message has a field without a number");
    switch (key & 7) {
      case kVarint: field.value = static_cast<std::int64_t>(varint()); return field;
      case kBytes: field.bytes = take(varint()); return field;
      case kFixed64: take(8); break;
      case kFixed32: take(4); break;
      default: fail_data("a message has a field of a kind that there is not");
    }
  }
  return std::nullopt;
}

}  // namespace trireme::distributed::wire
