#pragma once

// Program to Plan. compile.cc reads like a table of contents; each step has a file of its own.

#include <memory>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "ir/program.h"
#include "plan/plan.h"

namespace trireme::compiler {

struct CompileOptions {
  bool training = false;  // which side of when_training is taken
  bool updates = false;   // run the `assign` ops; otherwise parameters are only read
  bool fuse = true;       // false: every op is a kernel of its own; for checks
  // False: convolutions and matrix products are kernels of our own too, so that the Plan needs no
  // library for them.
  bool libraries = true;
  // What large values of f32 are stored as between generated kernels: f32, bf16 or f16. Arithmetic
  // stays f32.
  DType storage = DType::f32;
  // Where to write the Program after every transform, the kernels, the Plan and the memory map (at
  // batch 64 or $TRIREME_DUMP_SIZES, "batch=7,width=3"); empty: nowhere. Callers pass $TRIREME_DUMP.
  std::string dump_directory;
};

// Compiles what is needed for `fetches` (values of `program`'s main block or parameters) and, with
// updates, for the assigns. `program` is not changed. The Plan's feeds are the inputs that are still
// needed, its fetches are in the order given. Nothing depends on the sizes of symbols.
std::shared_ptr<const plan::Plan> compile(const ir::Program& program,
                                          const std::vector<const ir::Value*>& fetches,
                                          codegen::Codegen& codegen, const CompileOptions& options);

// A Plan whose work on parameters alone is done once: before the Plan runs, and again when a
// parameter has changed.
struct PreparedPlans {
  std::shared_ptr<const plan::Plan> plan;
  std::shared_ptr<const plan::Plan> preparation;  // reads parameters only; null if there is none
  std::vector<std::string> names;  // of its fetches: parameters that `plan` reads besides others
};

// compile() without updates, and with that work apart. `preparing` makes the preparation's code, so
// that a Plan for another machine can be prepared here.
PreparedPlans compile_prepared(const ir::Program& program,
                               const std::vector<const ir::Value*>& fetches,
                               codegen::Codegen& preparing, codegen::Codegen& codegen,
                               const CompileOptions& options);

}  // namespace trireme::compiler
