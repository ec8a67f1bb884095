#pragma once

// Who started this launcher, and as which of how many: what srun, mpirun, torchrun and others tell
// by environment variables. docs/reference/distributed-jobs.md has them as a table.

#include <map>
#include <string>

namespace trireme::distributed {

// Variables by name.
using Environment = std::map<std::string, std::string>;
Environment own_environment();

struct Placement {
  std::string by;           // "Slurm"; empty: nobody has placed it, and it is alone
  int rank = 0, world = 1;  // launchers, one for each process that was placed
  int local_rank = 0;       // among those of this machine, as far as was told
  // Where launcher 0 serves what the job agrees by, "host:port"; empty: not told.
  std::string master = {};
  // What no other job of whoever placed it has, nor this one when it is begun anew; empty: not
  // told. Safe as a file name.
  std::string job = {};
  bool one_host = true;  // it was told that all launchers are on one machine
  bool alone() const { return world == 1; }
};

// `placement`: "auto", "none", or whom to believe: "torch", "paddle", "openmpi", "pmi", "slurm".
// "auto" takes the first of these that has said something, in this order: one that was started by
// another is nearer to us. Errors: usage, for values that are malformed or contradict each other.
Placement placement_of(const Environment& variables, const std::string& placement = "auto");

// Of a Slurm list of hosts, "n[001-003,7],m2": "n001".
std::string first_host(const std::string& list);

}  // namespace trireme::distributed
