#include "trireme/dtype.h"

namespace trireme {

static_assert([] {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (static_cast<std::size_t>(kDTypes[i].dtype) != i) return false;
  }
  return true;
}());

bool parse_dtype(std::string_view name, DType* dtype) {
  for (const DTypeInfo& info : kDTypes) {
    if (info.name != name) continue;
    *dtype = info.dtype;
    return true;
  }
  return false;
}

}  // namespace trireme
