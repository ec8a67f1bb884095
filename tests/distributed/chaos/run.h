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
  CountJob job = {};    // its folder and epochs are the run's
  int trainers = 2, servers = 2, masters = 2;
  bool etcd = false;               // a real one, which is restarted, too; else the launcher's
  std::string host = {};           // see Links; certificates are asked for if it is not loopback
  std::string namespace_ = {};     // see Network
  std::vector<Fault> faults = {};  // only these, as far as they are possible; none: all that are
  bool verbose = false;            // prints every line of every process
};

struct Outcome {
  Verdict verdict;
  bool hung = false;       // no task was ended for a minute
  double seconds = 0;      // of all
  int rollbacks = 0;       // servers went back to a checkpoint
  int no_checkpoints = 0;  // that could not be written
  int two_masters = 0;     // a stopped leader went on when another one led already
  std::int64_t tasks = 0;  // ended, also again after a rollback
  int faults = 0;
  // By what has happened, when nothing else was the matter: seconds to the next task that was ended, and of some faults to what
  // mends them.
  std::map<std::string, std::vector<double>> waits;
  std::int64_t again = 0;  // tasks that were handed out again
  bool well = false;       // it has ended, and kept what its mode promises
};

// Which faults can happen in such a run. `left_out` is told in words what cannot, and why.
std::vector<Fault> possible_faults(const RunOptions& options, std::vector<std::string>& left_out);
Outcome run(const RunOptions& options);

}  // namespace trireme::chaos
