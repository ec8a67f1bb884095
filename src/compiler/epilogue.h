#pragma once

#include <vector>

#include "compiler/groups.h"

namespace trireme::compiler {

// What follows a library op and can be done by its kernel: a bias, then perhaps relu.
struct Epilogue {
  std::vector<const ir::Op*> ops;  // empty: nothing
  const ir::Value* bias = nullptr;
  bool relu = false;
  const ir::Value* result = nullptr;
};

// The longest epilogue of `op`: nobody else may need what it makes on the way.
Epilogue find_epilogue(const ir::Program& program, const Dependencies& dependencies,
                       const ir::Op& op);

}  // namespace trireme::compiler
