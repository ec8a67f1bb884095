#pragma once

// How this launcher was started, and which of how many it is, by the environment variables of srun,
// mpirun, torchrun and others. docs/reference/distributed-jobs.md has them as a table.

#include <map>
#include <string>

namespace trireme::distributed {

// Variables by name.
using Environment = std::map<std::string, std::string>;
Environment own_environment();

struct Placement {
  std::string by;           // "Slurm"; empty: not placed, the only launcher
  int rank = 0, world = 1;  // launchers: one for each placed process
  int local_rank = 0;       // on this machine, if known
  // Where launcher 0 serves the store, "host:port"; empty: unknown.
  std::string master = {};
  // Differs between jobs of the same launcher, and between restarts of a job; empty: unknown. Valid
  // as a file name.
  std::string job = {};
  bool one_host = true;  // known: all launchers are on one machine
  bool alone() const { return world == 1; }
};

// `placement`: "auto", "none", or the convention to use: "torch", "paddle", "openmpi", "pmi",
// "slurm". "auto" takes the first of these that is set, in this order: a launcher that another one
// started is closer to this process. Errors: usage for values that are malformed or contradict each
// other.
Placement placement_of(const Environment& variables, const std::string& placement = "auto");

// Returns the first host of a Slurm list, "n[001-003,7],m2": "n001".
std::string first_host(const std::string& list);

}  // namespace trireme::distributed
