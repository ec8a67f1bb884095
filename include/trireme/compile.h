#pragma once

#include <cstdint>
#include <string>

#include "trireme/export.h"
#include "trireme/precision.h"
#include "trireme/saved_model.h"

namespace trireme {

struct CompileModelOptions {
  // x86-64-v3 (AVX2 and FMA), x86-64-v4 (AVX-512), aarch64, or native: the best of these that this
  // machine is.
  std::string target = "native";
  // Of weights and of what is stored between kernels.
  Precision precision = Precision::f32;
  // What joins the kernels to a shared object: a program that takes the options of GNU ld. Empty:
  // mold, else ld.lld.
  std::string linker = {};
};

struct CompiledSize {
  std::string target;               // what "native" is
  int kernels = 0;                  // different ones
  std::int64_t code_bytes = 0;      // of the shared object
  std::int64_t constant_bytes = 0;  // of the parameters, prepared
};

// Compiles what Model::predict() does ahead of time, for CompiledModel of trireme/inference.h: a
// folder that needs no compiler and no library where it runs. docs/reference/formats/compiled.md describes it.
// Whatever fails, a compiled model that stood there is still whole.
// Errors: usage, for a target that does not exist, a linker that is missing, a folder that is
// something else, or a model with an op that needs a library; io.
TRIREME_API CompiledSize compile_model(Model& model, const std::string& directory,
                                       const CompileModelOptions& options = {});

}  // namespace trireme
