#pragma once

#include <map>
#include <string>
#include <vector>

#include "checks.h"

namespace trireme::conformance {

struct TorchColumns {
  Column values, gradients;
};

// Collects cases with the outputs of the reference. torch_reference.py computes them with PyTorch.
class TorchReference {
 public:
  // Adds one run of a case. `expected` holds its results, then its gradients.
  void add(const Case& c, const Run& run, const std::vector<ops::RefTensor>& expected);

  // Returns the columns by op name. `python` is the interpreter and `script` the path of
  // torch_reference.py. Throws Error(io) if the script cannot be run.
  std::map<std::string, TorchColumns> run(const std::string& python, const std::string& script);

 private:
  std::vector<std::string> lines_;  // one JSON object per case
};

}  // namespace trireme::conformance
