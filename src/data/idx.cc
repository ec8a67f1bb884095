#include "data/idx.h"

#include <bit>
#include <cstring>

#include "base/error.h"

namespace trireme::data {
namespace {

std::size_t element_size(IdxType type) {
  switch (type) {
    case IdxType::u8:
    case IdxType::i8: return 1;
    case IdxType::i16: return 2;
    case IdxType::i32:
    case IdxType::f32: return 4;
    case IdxType::f64: return 8;
  }
  return 0;
}

std::uint64_t big_endian(const char* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

template <class To, class Convert>
Tensor decode(const Idx& idx, Convert convert) {
  Tensor result = Tensor::uninitialized(dtype_of<To>, idx.shape);
  const std::size_t width = element_size(idx.type);
  To* out = result.data<To>();
  for (std::int64_t i = 0; i < idx.elements(); ++i) {
    out[i] = convert(big_endian(idx.payload.data() + static_cast<std::size_t>(i) * width, width));
  }
  return result;
}

}  // namespace

std::int64_t Idx::elements() const {
  return static_cast<std::int64_t>(payload.size() / element_size(type));
}

Idx parse_idx(Blob blob, const std::string& name) {
  const std::string_view bytes = blob.bytes;
  if (bytes.size() < 4) {
    fail_data(name + ": not an IDX file: only " + std::to_string(bytes.size()) + " bytes");
  }
  if (bytes[0] != 0 || bytes[1] != 0) {
    fail_data(name + ": not an IDX file: bytes 0 and 1 are not zero");
  }
  Idx idx;
  idx.type = static_cast<IdxType>(bytes[2]);
  const std::size_t width = element_size(idx.type);
  if (width == 0) {
    fail_data(name + ": unknown IDX element type " +
              std::to_string(static_cast<unsigned char>(bytes[2])) + " at byte 2");
  }
  const std::size_t rank = static_cast<unsigned char>(bytes[3]);
  const std::size_t header = 4 + 4 * rank;
  if (bytes.size() < header) {
    fail_data(name + ": cut short: the IDX header takes " + std::to_string(header) +
              " bytes, the file ends at byte " + std::to_string(bytes.size()));
  }
  std::uint64_t payload = width;
  bool overflow = false;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::uint64_t size = big_endian(bytes.data() + 4 + 4 * axis, 4);
    idx.shape.push_back(static_cast<std::int64_t>(size));
    overflow |= __builtin_mul_overflow(payload, size, &payload);
  }
  if (overflow || payload != bytes.size() - header) {
    const bool is_short = overflow || payload > bytes.size() - header;
    fail_data(name + (is_short ? ": cut short" : ": has bytes after its end") +
              ": the sizes in the IDX header ask for " +
              (overflow ? "more than 2^64" : std::to_string(payload)) + " bytes from byte " +
              std::to_string(header) + ", the file ends at byte " + std::to_string(bytes.size()));
  }
  idx.payload = bytes.substr(header);
  idx.blob = std::move(blob);
  return idx;
}

Tensor idx_tensor(const Idx& idx) {
  using std::uint64_t;
  switch (idx.type) {
    case IdxType::u8: {
      Tensor result = Tensor::uninitialized(DType::u8, idx.shape);
      if (result.elements() > 0) {
        std::memcpy(result.bytes(), idx.payload.data(), idx.payload.size());
      }
      return result;
    }
    case IdxType::i8:
      return decode<std::int32_t>(idx, [](uint64_t v) { return static_cast<std::int8_t>(v); });
    case IdxType::i16:
      return decode<std::int32_t>(idx, [](uint64_t v) { return static_cast<std::int16_t>(v); });
    case IdxType::i32:
      return decode<std::int32_t>(idx, [](uint64_t v) { return static_cast<std::int32_t>(v); });
    case IdxType::f32:
      return decode<float>(
          idx, [](uint64_t v) { return std::bit_cast<float>(static_cast<std::uint32_t>(v)); });
    case IdxType::f64:
      return decode<double>(idx, [](uint64_t v) { return std::bit_cast<double>(v); });
  }
  fail_internal("unknown IDX type");
}

}  // namespace trireme::data
