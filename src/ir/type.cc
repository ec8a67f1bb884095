#include "ir/type.h"

namespace trireme::ir {

std::string Type::str() const {
  std::string text = std::string(name_of(dtype)) + trireme::str(shape);
  if (!ragged.empty()) text += " ragged(" + ragged + ")";
  return text;
}

}  // namespace trireme::ir
