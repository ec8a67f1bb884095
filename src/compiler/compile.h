#pragma once

// Compiles a Program to a Plan. compile.cc runs the phases in order; each phase has its own file.

#include <memory>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "ir/program.h"
#include "plan/plan.h"

namespace trireme::compiler {

struct CompileOptions {
  bool training = false;  // which operand when_training returns
  bool updates = false;   // run the `assign` ops; if false, parameters are only read
  // With updates: the names of the sets to run; empty: all. Assigns that belong to no set then run
  // only where transforms::drop_idle_assigns() keeps them.
  std::vector<std::string> update = {};
  std::vector<std::string> frozen = {};  // parameters that stay unchanged, with their state
  bool fuse = true;                      // if false, every op is a separate kernel, for checks
  // If false, convolutions and matrix products become generated kernels too, so that the Plan calls
  // no library for them.
  bool libraries = true;
  // The storage type of large f32 values between generated kernels: f32, bf16 or f16. Arithmetic
  // stays f32.
  DType storage = DType::f32;
  // Directory for dumps of the Program after every transform, the kernels, the Plan and the memory
  // map; empty: no dumps. The memory map uses size 64 for every symbol, or $TRIREME_DUMP_SIZES
  // ("batch=7,width=3"). Callers pass $TRIREME_DUMP.
  std::string dump_directory;
};

// Compiles the computation of `fetches` (values of `program`'s main block or parameters) and, with
// updates, of the assigns. Does not change `program`. The Plan's feeds are the inputs that are
// still needed. Its fetches are in the given order. The Plan does not depend on the sizes of
// symbols.
std::shared_ptr<const plan::Plan> compile(const ir::Program& program,
                                          const std::vector<const ir::Value*>& fetches,
                                          codegen::Codegen& codegen, const CompileOptions& options);

// A Plan whose work on parameters alone is done once before the first run, and again after a
// parameter has changed.
struct PreparedPlans {
  std::shared_ptr<const plan::Plan> plan;
  std::shared_ptr<const plan::Plan> preparation;  // reads parameters only; null if there is none
  std::vector<std::string> names;                 // parameters of `plan` that hold its fetches
};

// compile() without updates, with that work split off. `preparing` generates the code of the
// preparation, so that a Plan for another machine can be prepared on this one.
PreparedPlans compile_prepared(const ir::Program& program,
                               const std::vector<const ir::Value*>& fetches,
                               codegen::Codegen& preparing, codegen::Codegen& codegen,
                               const CompileOptions& options);

}  // namespace trireme::compiler
