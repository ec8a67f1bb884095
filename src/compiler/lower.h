#pragma once

// One group to one kernel.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "compiler/groups.h"
#include "kernel_ir/kernel.h"
#include "plan/plan.h"

namespace trireme::compiler {

// A value that the kernel must store, and where.
struct Output {
  const ir::Value* value;
  int storage;
};

struct LoweredGroup {
  std::unique_ptr<kernel_ir::Kernel> kernel;
  std::vector<int> storages;  // of each kernel buffer; -1 for scratch
  std::vector<Dim> sizes;
  plan::Quotient trip;
  Dim work = 0;
  std::vector<plan::Step::Scratch> scratch;
  // False if a storage is both loaded and stored and some element would be overwritten before it is
  // read: the outputs may not share storage with the inputs in this way.
  bool in_place_is_safe = true;
};

// storage_of names the storage of a value that the group reads but does not compute. Two values of
// one storage share memory. Each distinct storage becomes one buffer of the kernel.
LoweredGroup lower_group(const Group& group, const std::vector<Output>& outputs,
                         const std::function<int(const ir::Value*)>& storage_of,
                         const codegen::Target& target);

}  // namespace trireme::compiler
