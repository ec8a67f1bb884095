#pragma once

#include <vector>

#include "compiler/groups.h"

namespace trireme::compiler {

// The ops after a library op that its kernel can include: a bias, then optionally relu.
struct Epilogue {
  std::vector<const ir::Op*> ops;  // empty if there is no epilogue
  const ir::Value* bias = nullptr;
  bool relu = false;
  const ir::Value* result = nullptr;
};

// Returns the longest epilogue of `op` whose intermediate values have no other users.
Epilogue find_epilogue(const ir::Program& program, const Dependencies& dependencies,
                       const ir::Op& op);

}  // namespace trireme::compiler
