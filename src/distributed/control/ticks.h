#pragma once

// How rows of tables age while a job runs. Time is counted in ticks of the job, so that evictions
// do not depend on its speed. A tick is an epoch, or a number of completed tasks.

#include <cstdint>

#include "distributed/master/task_queue.h"
#include "distributed/table/table.h"

namespace trireme::distributed {

struct Ageing {
  std::int64_t tick_tasks = 0;  // 0: a tick is an epoch
  Eviction eviction = {};       // at every tick
};

// The ticks of the tasks of a job: epochs count from 1, and all have the same number of tasks.
std::int64_t ticks_of(const Ageing& ageing, std::int64_t epoch, std::int64_t tasks,
                      std::int64_t ended);
// The number of tasks of an epoch.
inline std::int64_t tasks_of(const TaskCounts& counts) {
  return counts.todo + counts.pending + counts.done + counts.failed;
}

}  // namespace trireme::distributed
