#pragma once

// The part of a checkpoint that the leader keeps besides the data of servers: the state of the job.

#include <cstdint>
#include <string>
#include <string_view>

#include "distributed/master/task_queue.h"
#include "distributed/server/protocol.h"

namespace trireme::distributed {

struct JobSnapshot {
  QueueState queue;
  std::uint64_t updates = 0;  // synchronous steps that changed parameters
  bool over = false;          // all tasks of all epochs were done
  std::int64_t ticks = 0;     // ticks by which rows had aged
  Declarations declared;      // of all servers together; without its blocks
  bool operator==(const JobSnapshot&) const = default;
};

// JSON; ids of tasks as ranges. Errors of the parser: data.
std::string text_of(const JobSnapshot& snapshot);
JobSnapshot job_snapshot_of(std::string_view text);

}  // namespace trireme::distributed
