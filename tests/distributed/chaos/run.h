#pragma once

// One run of a job under faults: of one that counts records by trainers of our own, or of the
// product's own trainers (launched.h).

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
  bool etcd = false;  // a real one, which is restarted, too; else the launcher's
  // Addresses of this network namespace and of another one, where every second process is:
  // namespaces.sh. Empty: there are none, and proxies between processes. Certificates are asked for
  // there.
  std::string host = {}, other_host = {}, other_namespace = {};
  std::vector<Fault> faults = {};   // only these, as far as they are possible; none: all that are
  bool verbose = false;             // prints every line of every process,
  std::string label = {};           // behind this
  std::string logs = "chaos-logs";  // where those of runs are kept that went wrong
  bool launched = false;            // see there
};

struct Outcome {
  // What is wrong, in words; nothing: it has ended, kept what its mode promises, and no process has
  // ended that should not have.
  std::vector<std::string> wrong;
  std::string log = {};  // of a run that went wrong
  std::string how = {};  // this run was, if not all are alike
  Verdict verdict;
  bool hung = false;       // no task was ended for a minute
  double seconds = 0;      // of all
  int rollbacks = 0;       // servers went back to a checkpoint
  int no_checkpoints = 0;  // that could not be written
  int two_masters = 0;     // a stopped leader went on when another one led already
  std::int64_t tasks = 0;  // ended, also again after a rollback
  int faults = 0;
  int moves = 0;  // other numbers of servers were reached
  int visits = 0,
      compared = 0;  // of strangers, and those whose target's counters could be compared
  int exits = 0;     // that no kill explains
  std::string exits_text = {};
  std::int64_t again = 0;  // tasks that were handed out again,
  std::int64_t lost = 0;   // of which so many since what a leader said on trust has not happened
  // Seconds until it was mended, by what has happened: mending.h.
  std::map<std::string, std::vector<double>> waits;
};

// Which faults can happen in such a run. `left_out` is told in words what cannot, and why.
std::vector<Fault> possible_faults(const RunOptions& options, std::vector<std::string>& left_out);
// How many processes these kill, at most, and as many more as a job has by itself: what
// `--restarts` is to be.
int restarts_for(const RunOptions& options, const std::vector<Event>& events);
Outcome run(const RunOptions& options);

}  // namespace trireme::chaos
