#pragma once

// How rows of tables grow old while a job is under way: time is counted in ticks of the job's own,
// so that what goes does not depend on how fast it is. A tick is an epoch, or so many tasks that
// have been ended.

#include <cstdint>

#include "distributed/master/task_queue.h"
#include "distributed/table/table.h"

namespace trireme::distributed {

struct Ageing {
  std::int64_t tick_tasks = 0;  // 0: a tick is an epoch
  Eviction eviction = {};       // at every tick
};

// How many ticks a job's tasks stand for: epochs count from 1, all of them have as many tasks.
std::int64_t ticks_of(const Ageing& ageing, std::int64_t epoch, std::int64_t tasks,
                      std::int64_t ended);
// The tasks of an epoch.
inline std::int64_t tasks_of(const TaskCounts& counts) {
  return counts.todo + counts.pending + counts.done + counts.failed;
}

}  // namespace trireme::distributed
