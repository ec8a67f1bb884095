#pragma once

// Models of ONNX (https://onnx.ai) as Programs. Link Trireme::onnx.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/saved_model.h"
#include "trireme/shape.h"
#include "trireme/state.h"
#include "trireme/tensor.h"

namespace trireme::onnx {

struct ImportOptions {
  // Values of inputs that are known now, by name, which the Program then has no longer. For inputs
  // that decide shapes, such as the second input of Reshape. Numbers of another dtype are cast if
  // none changes but by rounding of floats.
  std::map<std::string, Tensor> constants = {};
  // The same for inputs that are sequences, which a Program cannot take.
  std::map<std::string, std::vector<Tensor>> sequences = {};
  // Shapes of inputs, by name, instead of those of the model.
  std::map<std::string, Shape> shapes = {};
  // Sizes of symbols, by name, instead of leaving them to the run.
  SymbolSizes sizes = {};
  // Limits for models from other people: the memory of numbers that are computed now, 0: none; and
  // the nodes that are read, with each step of a loop that is unrolled.
  std::int64_t max_bytes = 0;
  std::int64_t max_nodes = 1'000'000;
  bool trainable = true;  // floats among the initializers become trainable parameters
};

// A Program with the outputs of a model, and the values of its parameters.
struct ImportedModel {
  Program program;
  StateDict state;                           // load_state_dict(session, state) sets them
  std::vector<std::string> inputs, outputs;  // their names in the model, in order
  std::vector<std::string> warnings;
};

// Reads a model of opsets 7 to 28; older ones are read with a warning. Inputs become those of a
// Program, with a symbol for each size that the model leaves open; initializers become parameters.
// What can be computed now is computed now.
//
// bf16 and f16 are computed as f32 and rounded after each node. Floats of 8 and fewer bits are
// held as f32, integers of 4 and 2 bits as i8 and u8.
// Errors: not_found; io; data, for a file that is damaged or no ONNX model; usage, which lists all
// nodes that cannot be imported, with their paths and what is missing.
TRIREME_API ImportedModel import_model(const std::string& path, const ImportOptions& options = {});
// The same of the bytes of a file. Initializers in other files are an error.
TRIREME_API ImportedModel import_bytes(std::string_view bytes, const ImportOptions& options = {});

struct ExportOptions {
  std::int64_t opset = 18;  // version of ONNX's operators, 18 to 27
};

// Writes a saved model as a model of ONNX: its inputs and outputs by name, symbols as open sizes,
// and parameters as initializers. Sequences are packed rows and splits, as in the saved model.
// Atomic.
// Errors: usage, which lists all ops that cannot be written; io.
TRIREME_API void export_model(trireme::Model& model, const std::string& path,
                              const ExportOptions& options = {});
// The bytes of that file.
TRIREME_API std::string export_bytes(trireme::Model& model, const ExportOptions& options = {});

}  // namespace trireme::onnx
