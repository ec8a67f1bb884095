#pragma once

// Code that all lowerings of groups share: buffers, loops, stores, and the properties of the
// finished kernel.

#include <map>
#include <memory>
#include <vector>

#include "compiler/evaluate.h"
#include "compiler/lower.h"

namespace trireme::compiler {

class KernelLowering {
 public:
  KernelLowering(const Group& group, const std::vector<Output>& outputs, const Storages& storages,
                 const codegen::Target& target);
  virtual ~KernelLowering() = default;
  KernelLowering(const KernelLowering&) = delete;
  KernelLowering& operator=(const KernelLowering&) = delete;

 protected:
  // Returns the kernel's buffer of a storage.
  int buffer(int storage);
  // Adds a buffer that is private to every thread.
  int scratch_buffer(DType type, const Dim& elements);

  kernel_ir::Stmt loop(kernel_ir::LoopKind kind, ExprId extent);
  void store_output(std::vector<kernel_ir::Stmt>& body, const Output& output, const Index& index);

  // Sets the trip count of the parallel loop to numerator / denominator, rounded up.
  void set_trip(const Dim& numerator, std::int64_t denominator = 1);
  ExprId root_var() { return k_.loop_var(kernel_->root.loop_var); }

  LoweredGroup finish(const Dim& work);

  // Whether two different expressions are the same position, in two passes over the same elements.
  virtual bool same_position(ExprId, ExprId) const { return false; }

  const Group& group_;
  const std::vector<Output>& outputs_;
  const Storages& storages_;
  std::unique_ptr<kernel_ir::Kernel> kernel_;
  kernel_ir::Builder k_;
  Evaluator evaluator_;
  int lanes_;  // elements of the widest type in one vector of the target

 private:
  bool same_element(ExprId a, ExprId b) const;

  // Returns the storage type of an output.
  DType type_stored(const ir::Value* value) const;

  std::vector<int> slots_;  // storage of each buffer; -1 for scratch
  plan::Quotient trip_;
  std::vector<plan::Step::Scratch> scratch_;
  std::map<int, std::vector<ExprId>> stores_;
};

}  // namespace trireme::compiler
