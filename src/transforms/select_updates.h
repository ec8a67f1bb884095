#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/program.h"

namespace trireme::transforms {

struct UpdateSelection {
  std::vector<std::string> names = {};  // of updates; empty: all
  std::set<std::string> frozen = {};    // parameters that keep their values and optimizer state
};

// Drops the updates that are not selected. With names, it also drops other side effects, such as
// the running statistics of batch_norm, of layers that the rest of the Program does not run.
void select_updates(ir::Program& program, const UpdateSelection& selection);

}  // namespace trireme::transforms
