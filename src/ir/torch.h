#pragma once

// How PyTorch names and stores the parameters of layers, for load_state_dict(). Each layer of nn
// records where PyTorch differs. A parameter without a record has the same name and shape there.
// The records are no part of the text of a Program.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace trireme::ir {

// Rows [from, from + rows) along axis 0 of a tensor of PyTorch, which are added to rows
// [to, to + rows) of a parameter.
struct TorchTerm {
  std::string tensor;     // its name in the module: "weight_ih_l0"; empty: `number` in all rows
  std::int64_t size = 0;  // length of axis 0 of the tensor
  std::int64_t from = 0, rows = 0, to = 0;
  double number = 0;
};

// A parameter is the sum of its terms and, if `transposed`, a matrix that is transposed after that.
struct TorchSource {
  std::vector<TorchTerm> terms;
  bool transposed = false;
};

// The records of all layers of a Program.
struct TorchNames {
  std::map<std::string, TorchSource> sources;  // by the full name of the parameter
  // The path of the module of a layer, relative to the module of the layer around it, by the path
  // of the layer. Empty: both layers are one module.
  std::map<std::string, std::string> modules;
  // Tensors of a module that Trireme does not need, by the path of the layer.
  std::map<std::string, std::vector<std::string>> ignored;
  bool recorded = true;  // false for a parsed Program
};

// The term that is the whole tensor, which has `size` rows.
inline TorchTerm whole(std::string tensor, std::int64_t size) {
  return {.tensor = std::move(tensor), .size = size, .from = 0, .rows = size, .to = 0};
}

}  // namespace trireme::ir
