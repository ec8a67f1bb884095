#include "ir/type.h"

namespace trireme::ir {

std::string Type::str() const {
  std::string text = std::string(name_of(dtype)) + trireme::str(shape);
  if (!splits_of.empty()) text += " splits(" + splits_of + ")";
  return text;
}

}  // namespace trireme::ir
