#pragma once

#include <memory>
#include <vector>

#include "compiler/groups.h"
#include "compiler/lower.h"
#include "compiler/storage.h"
#include "plan/plan.h"

namespace trireme::compiler {

// A Plan whose kernels are still kernel IR: kernels[i] becomes plan.kernels[i].
struct Assembly {
  plan::Plan plan;
  std::vector<std::unique_ptr<kernel_ir::Kernel>> kernels;
};

// One step for every group, with its buffers: what is stored where, what shares storage, what is
// updated in place.
Assembly assemble(const ir::Program& program, const Dependencies& dependencies,
                  const std::vector<Group>& groups, const codegen::Target& target,
                  const StorageOptions& storage);

}  // namespace trireme::compiler
