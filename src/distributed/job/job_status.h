#pragma once

// The processes and the progress of a job, by its store.

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
  std::vector<BadTask> bad;  // ended badly, not completed since
  std::optional<JobProgress> progress;
  std::optional<Wanted> wanted;
  std::optional<Limits> limits;
  std::optional<Generation> group;        // of trainers with common steps
  std::optional<JobView> view;            // of parameter servers
  std::vector<std::int64_t> checkpoints;  // that can be restored, ascending
  bool done = false;                      // all epochs are over
};
// Errors: Unavailable; data.
JobStatus read_status(Store& store, const std::string& prefix);

// Tasks in the store, when no master changes them any more. Errors: as Store; data.
TaskState tasks_left(Store& store, const std::string& prefix);

// "5 s", "3 min", "2 h".
std::string age(std::int64_t seconds);
// Failed tasks for people: a line for each, at most a few. Empty if there are none.
std::string text_of_left_out(const std::vector<BadTask>& bad);
// For people. `now` in seconds of Unix time.
std::string text_of(const JobRecord& record, const JobStatus& status, std::int64_t now);
// One JSON object on several lines.
std::string json_of(const JobRecord& record, const JobStatus& status);

}  // namespace trireme::distributed
