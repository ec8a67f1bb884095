#pragma once

// The processes of the job of the chaos runner: master and servers as in other jobs, and trainers
// that count records.

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
  // This file exists after the last fault: then the work of trainers takes no time.
  std::string calm = {};
};
// The time of a trainer for a piece of work.
distributed::Milliseconds work_time(const CountJob& job,
                                    distributed::Milliseconds while_faults_happen);

// Runs a role until it must stop, or the job is over. Trainers print a line for completed tasks.
void run_role(const std::string& role, const distributed::RoleOptions& options,
              const CountJob& job);
// The largest part of an epoch that a trainer completes in a second while faults happen.
double epochs_per_second(const CountJob& job);

// How often each task was handed out again, over all epochs.
using Again = std::map<std::int64_t, std::int64_t>;

// The final counts.
struct Verdict {
  std::int64_t lost = 0,
               doubled = 0;     // records with fewer and more counts than epochs
  std::int64_t sum_error = 0;   // sum of the differences
  std::int64_t beyond = 0;      // doubled ones: more often than their task was handed out again
  int unequal = 0;              // all-reduce: members with other counts
  std::int64_t not_served = 0;  // records, and the sum, with another count in the last export
  // The promise of the mode. All modes hand out tasks again; common steps train them again.
  bool kept(const std::string& mode) const {
    if (not_served > 0) return false;
    if (mode == "asynchronous" || mode == "geo") return lost == 0 && doubled == 0 && sum_error == 0;
    return lost == 0 && beyond == 0 && unequal == 0;
  }
};
Verdict check(distributed::Store& store, const distributed::Security& security, const CountJob& job,
              const Again& again);

}  // namespace trireme::chaos
