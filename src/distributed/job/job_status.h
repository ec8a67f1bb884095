#pragma once

// What runs of a job and how far it is, as its store says.

#include <optional>
#include <string>
#include <vector>

#include "distributed/collectives/generations.h"
#include "distributed/control/job_view.h"
#include "distributed/job/job_keys.h"
#include "distributed/job/job_record.h"
#include "distributed/master/task_queue.h"

namespace trireme::distributed {

struct JobStatus {
  std::vector<ProcessEntry> processes;
  std::optional<TaskState> tasks;
  std::vector<BadTask> bad;  // that have ended badly, and were not done since
  std::optional<JobProgress> progress;
  std::optional<Wanted> wanted;
  std::optional<Limits> limits;
  std::optional<Generation> group;        // of trainers that are kept in step
  std::optional<JobView> view;            // of parameter servers
  std::vector<std::int64_t> checkpoints;  // that can be restored, ascending
  bool done = false;                      // all epochs are over
};
// Errors: Unavailable; data.
JobStatus read_status(Store& store, const std::string& prefix);

// Tasks as the store has them, when no master changes them any more. Errors: as Store; data.
TaskState tasks_left(Store& store, const std::string& prefix);

// "5 s", "3 min", "2 h".
std::string age(std::int64_t seconds);
// Of tasks that were left out, for people: a line for each, of a few at most. Empty if there are
// none.
std::string text_of_left_out(const std::vector<BadTask>& bad);
// For people: `now` in seconds of Unix time.
std::string text_of(const JobRecord& record, const JobStatus& status, std::int64_t now);
// One JSON object, in lines.
std::string json_of(const JobRecord& record, const JobStatus& status);

}  // namespace trireme::distributed
