#pragma once

// One run of the job under faults.

#include <map>
#include <string>
#include <vector>

#include "faults.h"
#include "roles.h"

namespace trireme::chaos {

struct RunOptions {
  std::string program;  // this one, to start roles by
  std::uint64_t seed = 1;
  double seconds = 30;  // for which faults happen
  double pause = 4;     // between them, on average
  int trainers = 2, servers = 2;
  bool etcd = false;     // a real one, which is restarted, too; else the launcher's
  bool verbose = false;  // prints every line of every process
};

struct Outcome {
  Verdict verdict;
  bool hung = false;       // no task was ended for a minute
  double seconds = 0;      // of all
  int rollbacks = 0;       // servers went back to a checkpoint
  std::int64_t tasks = 0;  // ended, also again after a rollback
  std::map<std::string, std::vector<double>>
      waits;  // by fault: seconds from then to the next task that was ended
  bool well() const { return !hung && verdict.exact(); }
};

Outcome run(const RunOptions& options);

}  // namespace trireme::chaos
