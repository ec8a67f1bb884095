#pragma once

#include <cstdint>
#include <string>

#include "trireme/export.h"
#include "trireme/precision.h"
#include "trireme/saved_model.h"

namespace trireme {

struct CompileModelOptions {
  // x86-64-v3 (AVX2 and FMA), alderlake (x86-64-v3 and AVX-VNNI), x86-64-v4 (AVX-512), cascadelake
  // (x86-64-v4 and AVX-512-VNNI), sapphirerapids, aarch64, armv8.2-dotprod, or native: the best of
  // these that this machine supports.
  std::string target = "native";
  // Of weights and of values stored between kernels.
  Precision precision = Precision::f32;
  // The linker that makes the shared object from the kernels: a program that accepts the options of
  // GNU ld. Empty: mold, else ld.lld.
  std::string linker = {};
};

struct CompiledSize {
  std::string target;               // what "native" stands for
  int kernels = 0;                  // distinct kernels
  std::int64_t code_bytes = 0;      // of the shared object
  std::int64_t constant_bytes = 0;  // of the prepared parameters
};

// Compiles Model::predict() ahead of time into a folder for CompiledModel (trireme/inference.h).
// Running it needs no compiler and no library. docs/reference/formats/compiled.md describes the
// folder. On failure, a compiled model that was already in the folder stays intact. Errors: usage,
// for an unknown target, a missing linker, a folder that holds something else, or a model with an
// op that needs a library; io.
TRIREME_API CompiledSize compile_model(Model& model, const std::string& directory,
                                       const CompileModelOptions& options = {});

}  // namespace trireme
