#pragma once

#include <string>

#include "codegen/codegen.h"
#include "kernel_ir/kernel.h"

namespace trireme::codegen {

// The default name of the function that the object file of a kernel defines.
inline constexpr const char* kKernelSymbol = "trireme_kernel";

// Makes object code from kernels for one target. Not for use by several threads at once; make one
// for each thread.
class ObjectCompiler {
 public:
  explicit ObjectCompiler(const Target& target);  // Error(usage) if LLVM does not know the target
  ~ObjectCompiler();

  // The content of a relocatable object file that defines `symbol`. The kernel must be verified and
  // its maths expanded.
  std::string compile(const kernel_ir::Kernel& kernel, const std::string& symbol = kKernelSymbol);

  // The LLVM IR that compile() starts from or, after its passes, makes code from: for people.
  std::string llvm_ir(const kernel_ir::Kernel& kernel, bool optimized);
  std::string assembly(const kernel_ir::Kernel& kernel);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::codegen
