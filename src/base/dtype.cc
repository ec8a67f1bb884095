#include "trireme/dtype.h"

#include <array>

namespace trireme {
namespace {

struct Entry {
  DType dtype;
  std::string_view name;
  std::size_t size;
};
constexpr std::array<Entry, 8> kTypes = {{{DType::boolean, "boolean", 1},
                                          {DType::u8, "u8", 1},
                                          {DType::i32, "i32", 4},
                                          {DType::i64, "i64", 8},
                                          {DType::f32, "f32", 4},
                                          {DType::f64, "f64", 8},
                                          {DType::bf16, "bf16", 2},
                                          {DType::f16, "f16", 2}}};

}  // namespace

std::size_t size_of(DType dtype) { return kTypes[static_cast<std::size_t>(dtype)].size; }
std::string_view name_of(DType dtype) { return kTypes[static_cast<std::size_t>(dtype)].name; }

bool parse_dtype(std::string_view name, DType* dtype) {
  for (const Entry& entry : kTypes) {
    if (entry.name != name) continue;
    *dtype = entry.dtype;
    return true;
  }
  return false;
}

}  // namespace trireme
