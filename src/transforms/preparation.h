#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"

namespace trireme::transforms {

// What can be done before any input is known.
struct Preparation {
  std::unique_ptr<ir::Program> program;  // null if there is nothing of the kind
  std::vector<std::string> names;        // of its results: the parameters that stand for them
};

// Takes out of `program` what depends on parameters alone, as weights in another order or the
// factors of a batch norm that no longer learns: its results become parameters "prepared_0" and so
// on. Views that make nothing but copies stay. A parameter that the rest reads as it is becomes one too,
// a copy of itself, if `copied` says so. Precondition: no op assigns.
Preparation split_preparation(ir::Program& program,
                              const std::function<bool(const ir::Value*)>& copied = {});

}  // namespace trireme::transforms
