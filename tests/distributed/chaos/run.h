#pragma once

// One run of a job under faults: of one that counts records with our own trainers, or of the
// product's own trainers (launched.h).

#include <map>
#include <string>
#include <vector>

#include "faults.h"
#include "roles.h"

namespace trireme::chaos {

struct RunOptions {
  std::string program;  // this program, which runs roles
  std::uint64_t seed = 1;
  double seconds = 30;  // duration of the faults
  double pause = 4;     // average seconds between them
  CountJob job = {};    // the run chooses its folder and epochs
  int trainers = 2, servers = 2, masters = 2;
  bool etcd = false;  // a real one, which is restarted, too; else that of the launcher
  // Addresses of this network namespace and of another one with every second process:
  // namespaces.sh. Empty: proxies between processes. With namespaces, processes need certificates.
  std::string host = {}, other_host = {}, other_namespace = {};
  std::vector<Fault> faults = {};   // only these, if possible; none: all possible ones
  bool verbose = false;             // prints every line of every process,
  std::string label = {};           // after this
  std::string logs = "chaos-logs";  // logs of failed runs
  bool launched = false;            // see launched.h
};

struct Outcome {
  // Failures as text. Empty: it ended, its mode kept its promise, and no process ended
  // unexpectedly.
  std::vector<std::string> wrong;
  std::string log = {};  // of a failed run
  std::string how = {};  // properties of this run, if runs differ
  Verdict verdict;
  bool hung = false;       // no task ended for a minute
  double seconds = 0;      // in total
  int rollbacks = 0;       // servers returned to a checkpoint
  int no_checkpoints = 0;  // failed ones
  int two_masters = 0;     // a stopped leader continued when another one led already
  std::int64_t tasks = 0;  // ended, with repetitions after a rollback
  int faults = 0;
  int moves = 0;  // completed changes of the number of servers
  int visits = 0,
      compared = 0;  // of unauthenticated_peers; those with comparable counters
  int exits = 0;     // without a kill
  std::string exits_text = {};
  std::int64_t again = 0;  // tasks that were handed out again,
  std::int64_t lost = 0;   // of these, because provisional changes of a leader were lost
  // Seconds until a fault was mended, by fault: mending.h.
  std::map<std::string, std::vector<double>> waits;
};

// The faults that can happen in such a run. `left_out` receives the others with reasons.
std::vector<Fault> possible_faults(const RunOptions& options, std::vector<std::string>& left_out);
// The most processes that these faults kill, plus the default of a job: the value of `--restarts`.
int restarts_for(const RunOptions& options, const std::vector<Event>& events);
Outcome run(const RunOptions& options);

}  // namespace trireme::chaos
