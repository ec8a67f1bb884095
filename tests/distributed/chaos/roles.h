#pragma once

// The processes of the chaos runner's job: master and servers as jobs have them, and trainers that
// count records.

#include <cstdint>
#include <map>
#include <string>

#include "distributed/launch/role.h"

namespace trireme::chaos {

inline constexpr const char* kPrefix = "chaos/";

struct CountJob {
  std::string mode = "asynchronous";  // or "geo", "synchronous", "all_reduce"
  std::int64_t records = 4000;
  std::int64_t epochs = 10;
  std::string folder = {};  // of checkpoints
  // A file that is there once no more faults happen: trainers take no time for their work any more.
  std::string calm = {};
};
// What a trainer takes for a piece of work.
distributed::Milliseconds work_time(const CountJob& job,
                                    distributed::Milliseconds while_faults_happen);

// Runs a role until it is told to stop, or the job is over. Trainers print a line for tasks that
// they have ended.
void run_role(const std::string& role, const distributed::RoleOptions& options,
              const CountJob& job);
// How much of an epoch a trainer gets done in a second at most, while faults happen.
double epochs_per_second(const CountJob& job);

// How often each task was handed out again, over all epochs.
using Again = std::map<std::int64_t, std::int64_t>;

// What was counted when all is over.
struct Verdict {
  std::int64_t lost = 0,
               doubled =
                   0;  // records that were counted less and more often than once in each epoch
  std::int64_t sum_error = 0;  // by how much in all
  std::int64_t beyond =
      0;            // of those that were doubled: more often than their task was handed out again
  int unequal = 0;  // all-reduce: members whose counts are others
  std::int64_t not_served = 0;  // records, and the sum, of which the last export has another count
  // What the mode promises. Tasks are handed out again in all modes; steps that all take together
  // learn them again.
  bool kept(const std::string& mode) const {
    if (not_served > 0) return false;
    if (mode == "asynchronous" || mode == "geo") return lost == 0 && doubled == 0 && sum_error == 0;
    return lost == 0 && beyond == 0 && unequal == 0;
  }
};
Verdict check(distributed::Store& store, const distributed::Security& security, const CountJob& job,
              const Again& again);

}  // namespace trireme::chaos
