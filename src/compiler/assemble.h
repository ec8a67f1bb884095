#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "compiler/groups.h"
#include "compiler/lower.h"
#include "compiler/storage.h"
#include "plan/plan.h"

namespace trireme::compiler {

// A Plan whose kernels are not compiled yet: kernels[i] becomes plan.kernels[i].
struct Assembly {
  std::shared_ptr<plan::Plan> plan;
  std::vector<std::unique_ptr<kernel_ir::Kernel>> kernels;
  std::vector<Assembly> nested;  // for the blocks of the plan's ops
};

// Compiles a block of an op to its own Assembly.
using CompileBlock = std::function<Assembly(const ir::Block& block)>;

// Makes one step for every group, with its buffers. Decides where values are stored, which buffers
// share storage, and which are updated in place.
Assembly assemble(const ir::Program& program, const Dependencies& dependencies,
                  const std::vector<Group>& groups, const codegen::Target& target,
                  const StorageOptions& storage, const CompileBlock& compile_block);

}  // namespace trireme::compiler
