#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/blob.h"
#include "trireme/tensor.h"

namespace trireme::data {

// The element types of the IDX format, by its codes.
enum class IdxType : std::uint8_t {
  u8 = 0x08,
  i8 = 0x09,
  i16 = 0x0b,
  i32 = 0x0c,
  f32 = 0x0d,
  f64 = 0x0e
};

// An IDX file: two zero bytes, the type, the number of dimensions, each size as 32 bits, then the
// elements; all big-endian.
struct Idx {
  IdxType type = IdxType::u8;
  std::vector<std::int64_t> shape;
  std::string_view payload;  // as stored, big-endian
  Blob blob;                 // keeps the payload alive

  std::int64_t elements() const;
};

// Checks the header, and that the payload has exactly the size in the header. `name` is for
// messages. Errors: data with the byte.
Idx parse_idx(Blob blob, const std::string& name);

// Returns the elements in the byte order of this machine; i8 and i16 are widened to i32.
Tensor idx_tensor(const Idx& idx);

}  // namespace trireme::data
