#pragma once

#include <variant>

#include "trireme/program.h"

namespace trireme::python {

// An operand in Python: a Value or a number.
using PyOperand = std::variant<Value, double>;

inline Operand operand_of(const PyOperand& given, const SourceLocation& where) {
  if (const Value* value = std::get_if<Value>(&given)) return {*value, where};
  return {std::get<double>(given), where};
}

}  // namespace trireme::python
