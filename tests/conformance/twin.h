#pragma once

#include <map>
#include <string>
#include <vector>

#include "checks.h"

namespace trireme::conformance {

struct TwinColumns {
  Column values, gradients;
};

// Collects cases with what the reference says of them and has twin.py (PyTorch) say the same.
class Twin {
 public:
  void add(const Case& c, const Run& run, const std::vector<ops::RefTensor>& expected);

  // By the name of the op. `python` is the interpreter, `script` the path of twin.py. Throws
  // Error(io) if the script cannot be run.
  std::map<std::string, TwinColumns> run(const std::string& python, const std::string& script);

 private:
  std::vector<std::string> lines_;  // one JSON object per case
};

}  // namespace trireme::conformance
