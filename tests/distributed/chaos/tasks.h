#pragma once

// Common code of trainers with common steps: membership, and the batches of their tasks.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distributed/coordination/process_registry.h"
#include "distributed/coordination/store_session.h"
#include "distributed/launch/role.h"
#include "distributed/master/task_client.h"

namespace trireme::chaos {

// A trainer among the members of its job, also after its lease expired while it was stopped.
class Attendance {
 public:
  // Both outlive the object.
  Attendance(distributed::Store& store, const distributed::RoleOptions& options)
      : store_(store), options_(options) {}
  void stay();  // no error if the store is unavailable
  void leave();
  // Whether it was disconnected since the last call: others may have continued without it.
  bool was_away();

 private:
  distributed::Store& store_;
  const distributed::RoleOptions& options_;
  std::optional<distributed::StoreSession> session_;
  std::int64_t absences_ = 0;  // at the last call
};

// Reports to the runner that this number of tasks ended now: "progress TASKS TIME", in nanoseconds
// of the steady clock.
void report_progress(std::int64_t tasks);

// The batches of the tasks of a trainer, one after another. Reports progress, and prints "again
// TASK" for tasks that another trainer had before, or will have again because the next leader does
// not know of them.
class Batches {
 public:
  // All arguments outlive the object.
  Batches(distributed::Store& store, distributed::Network& network,
          const distributed::RoleOptions& options, std::int64_t size);

  // Without a batch: takes the next one of the task, or else of another task. Returns whether there
  // is a new one.
  bool fill();
  // The records of the current batch; null if there is none.
  const std::vector<std::uint64_t>* batch() const { return batch_.empty() ? nullptr : &batch_; }
  void next();  // it was counted; ends the task after its last one
  bool all_done() const { return taken_.all_done; }
  // As Taken, for the task of the batch.
  std::uint32_t rollbacks() const { return taken_.rollbacks; }
  void forget_before(std::uint32_t rollbacks);
  void release();  // all are handed out again

 private:
  bool take();
  void drop();

  const std::int64_t size_;
  distributed::TaskClient client_;
  distributed::Taken taken_;
  std::int64_t at_;  // counted records of the task; all of them without a task
  std::vector<std::uint64_t> batch_;
};

}  // namespace trireme::chaos
