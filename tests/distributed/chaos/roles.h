#pragma once

// The processes of the chaos runner's job: master and servers as jobs have them, and trainers that count records.

#include <cstdint>
#include <string>

#include "distributed/launch/role.h"

namespace trireme::chaos {

inline constexpr const char* kPrefix = "chaos/";

struct CountJob {
  std::string mode = "asynchronous";
  std::int64_t records = 4000;
  std::int64_t epochs = 10;
  std::string folder = {};  // of checkpoints
};

// Runs a role until it is told to stop, or the job is over. Trainers print a line for tasks that they have ended.
void run_role(const std::string& role, const distributed::RoleOptions& options,
              const CountJob& job);

// What was counted when all is over: how many records were counted less and more often than once in each epoch, and by how much.
struct Verdict {
  std::int64_t lost = 0, doubled = 0, sum_error = 0;
  bool exact() const { return lost == 0 && doubled == 0 && sum_error == 0; }
  // What the mode promises.
  bool kept() const { return exact(); }
};
Verdict check(distributed::Store& store, const distributed::Security& security,
              const CountJob& job);

}  // namespace trireme::chaos
