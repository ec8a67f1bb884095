#pragma once

// Many runs, some at the same time, and what they have shown.

#include <cstdint>

#include "run.h"

namespace trireme::chaos {

inline constexpr const char* kEach = "each";  // a mode: by the seed, in turn

struct RunsOptions {
  RunOptions first;  // with its seed; those after it have the next ones
  std::uint64_t seeds = 1;
  int jobs = 1;               // runs at the same time
  bool own_trainers = false;  // their number was chosen
};
// Prints a line for each. Whether all went right.
bool run_all(const RunsOptions& options);

}  // namespace trireme::chaos
