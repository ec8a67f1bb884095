#pragma once

// Lowers one group to one kernel.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "compiler/groups.h"
#include "kernel_ir/kernel.h"
#include "plan/plan.h"

namespace trireme::compiler {

// A value that the kernel must store, and its storage.
struct Output {
  const ir::Value* value;
  int storage;
};

// The storage of values. Two values with one storage share memory. An f32 value in a storage of
// bf16 or f16 is rounded when it is computed, so that all users see the same number, and widened
// when it is loaded.
struct Storages {
  std::function<int(const ir::Value*)> of;  // storage of a value that a group reads or stores
  std::function<DType(int)> type;           // type of a storage's elements
};

struct LoweredGroup {
  std::unique_ptr<kernel_ir::Kernel> kernel;
  std::vector<int> storages;  // storage of each kernel buffer; -1 for scratch
  std::vector<Dim> sizes;
  plan::Quotient trip;
  Dim work = 0;
  std::vector<plan::Step::Scratch> scratch;
  // False if a storage is both loaded and stored and some element would be overwritten before it is
  // read. The outputs must then not share storage with the inputs.
  bool in_place_is_safe = true;
};

// Lowers the group. Each distinct storage becomes one buffer of the kernel.
LoweredGroup lower_group(const Group& group, const std::vector<Output>& outputs,
                         const Storages& storages, const codegen::Target& target);

}  // namespace trireme::compiler
