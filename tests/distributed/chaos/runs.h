#pragma once

// Many runs, some concurrent, and their results.

#include <cstdint>

#include "run.h"

namespace trireme::chaos {

inline constexpr const char* kEach = "each";  // a mode: by the seed, in turn

struct RunsOptions {
  RunOptions first;  // with its seed; later runs have the next ones
  std::uint64_t seeds = 1;
  int jobs = 1;               // concurrent runs
  bool own_trainers = false;  // their number was chosen
};
// Prints a line for each. Returns whether all succeeded.
bool run_all(const RunsOptions& options);

}  // namespace trireme::chaos
