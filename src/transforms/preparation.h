#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"

namespace trireme::transforms {

// The computation that needs no inputs.
struct Preparation {
  std::unique_ptr<ir::Program> program;  // null if there is none
  std::vector<std::string> names;        // the parameters that replace its results
};

// Moves ops that depend only on parameters out of `program`, such as reordered weights or the
// factors of a batch norm in inference. Their results become parameters "prepared_0", "prepared_1"
// and so on. Views that only copy elements stay. If `copied` returns true for a parameter that the
// rest reads unchanged, the parameter is copied to a prepared one, too. Precondition: no op
// assigns.
Preparation split_preparation(ir::Program& program,
                              const std::function<bool(const ir::Value*)>& copied = {});

}  // namespace trireme::transforms
