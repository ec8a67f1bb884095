#pragma once

// The passes of the compiler as a table.

#include <span>

#include "codegen/codegen.h"
#include "compiler/compile.h"
#include "compiler/dump.h"
#include "ir/program.h"

namespace trireme::compiler {

struct PassContext {
  const CompileOptions& options;
  const codegen::Target& target;
};

struct Pass {
  const char* name;  // of its dump
  void (*run)(ir::Program& program, const PassContext& context);
  const char* why;  // why it is in the pipeline, and at this position
};

// Passes that every Program goes through, blocks of ops included.
std::span<const Pass> optimization_passes();
// Passes that prepare an optimized Program for fusion.
std::span<const Pass> fusion_passes();

// Runs the passes in order and dumps the Program after each. Debug builds also verify it after
// each.
void run_passes(std::span<const Pass> passes, ir::Program& program, const PassContext& context,
                Dump& dump);

}  // namespace trireme::compiler
