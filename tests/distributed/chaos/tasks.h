#pragma once

// What trainers of steps that all take together share: being a member, and the batches of their
// tasks.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distributed/coordination/membership.h"
#include "distributed/coordination/presence.h"
#include "distributed/launch/role.h"
#include "distributed/master/task_client.h"

namespace trireme::chaos {

// A trainer among the members of its job, also after it was stopped for so long that its lease has
// ended.
class Attendance {
 public:
  // Both outlive the object.
  Attendance(distributed::Store& store, const distributed::RoleOptions& options)
      : store_(store), options_(options) {}
  void stay();  // no error if the store is away
  void leave();
  // Whether it was away since this was asked last: others may have gone on without it.
  bool was_away();

 private:
  distributed::Store& store_;
  const distributed::RoleOptions& options_;
  std::optional<distributed::Presence> presence_;
  std::int64_t absences_ = 0;  // when that was asked last
};

// Tells the runner that so many tasks were ended, now: "progress TASKS TIME", in nanoseconds of the
// steady clock.
void tell_progress(std::int64_t tasks);

// The batches of the tasks that a trainer has, one after the other. Tells of the progress, and
// prints "again TASK" for those that somebody had before, or will have again since the leader that
// gave them was not followed by one that knows.
class Batches {
 public:
  // All outlive the object.
  Batches(distributed::Store& store, distributed::Network& network,
          const distributed::RoleOptions& options, std::int64_t size);

  // If there is no batch: the next one of the task, or, if that is through, of another one. Whether
  // there is one now, and was none.
  bool fill();
  // The records of the batch that is to be counted now; none: null.
  const std::vector<std::uint64_t>* batch() const { return batch_.empty() ? nullptr : &batch_; }
  void next();  // it was counted; and the task is ended, if that was its last one
  bool all_done() const { return taken_.all_done; }
  // As of Taken, of the task that the batch is of.
  std::uint32_t rollbacks() const { return taken_.rollbacks; }
  void forget_before(std::uint32_t rollbacks);
  void release();  // all are handed out again

 private:
  bool take();
  void drop();

  const std::int64_t size_;
  distributed::TaskClient client_;
  distributed::Taken taken_;
  std::int64_t at_;  // records of the task that were counted; all of them if there is none
  std::vector<std::uint64_t> batch_;
};

}  // namespace trireme::chaos
