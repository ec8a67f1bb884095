#pragma once

// What the processes of a job, its launcher and `trireme job` tell each other by keys of the job's
// store. Behind the job's prefix:
//
//   process/NAME    a process that runs; on its lease
//   tasks           how far the master is that leads; on its lease
//   progress        what trainers have done, as the launcher has heard; on its lease
//   limits          "1 4": the least and the most trainers that the job may have
//   wanted          "3 2": trainers and parameter servers that there are to be. Launchers start trainers and servers, and
//                   end trainers
//   wanted/servers, drained/PLACE   what the master is asked for, and that it has been done: control/job_control.h. The
//                   launcher ends a server that is drained
//   wanted/checkpoint, last-checkpoint   the master is asked for a last checkpoint, and what became of it:
//                   control/last_checkpoint.h
//   stop            "10 120": the job is to end in good order: processes within 10 s, after a last checkpoint, for which there are
//                   120 s; 0: none
//   stopped         what became of that
//
// Errors of all that parse: data, naming the key.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "distributed/control/last_checkpoint.h"
#include "distributed/coordination/store.h"

namespace trireme::distributed {

inline std::string process_prefix(const std::string& job) { return job + "process/"; }
inline std::string tasks_key(const std::string& job) { return job + "tasks"; }
inline std::string progress_key(const std::string& job) { return job + "progress"; }
inline std::string limits_key(const std::string& job) { return job + "limits"; }
inline std::string wanted_key(const std::string& job) { return job + "wanted"; }
inline std::string drained_prefix(const std::string& job) { return job + "drained/"; }
inline std::string stop_key(const std::string& job) { return job + "stop"; }
inline std::string stopped_key(const std::string& job) { return job + "stopped"; }

struct ProcessEntry {
  std::string name, role;
  std::string host;
  std::int64_t pid = 0;
  std::int64_t since = 0;         // seconds of Unix time
  std::string metrics;            // "127.0.0.1:41234", where it tells of itself by HTTP
  std::optional<int> place = {};  // of a parameter server
};
std::string text_of(const ProcessEntry& entry);
ProcessEntry process_of(const std::string& key, const std::string& text);
// Those that run: the master first, then servers, trainers, launchers; by number.
std::vector<ProcessEntry> processes(Store& store, const std::string& job);

struct TaskState {
  std::int64_t epoch = 0, epochs = 0;
  std::int64_t todo = 0, pending = 0, done = 0, failed = 0, refused = 0;
  std::int64_t left_out = 0;  // of all epochs: they have failed
  std::string leader = {};    // which master says so
};
std::string text_of(const TaskState& state);
TaskState task_state_of(const std::string& key, const std::string& text);

struct JobProgress {
  std::int64_t steps = 0, examples = 0;  // of all trainers
  double seconds = 0;                    // since the job began
  double rate = 0;                       // examples per second, of late
  std::optional<double> loss = {};       // mean of late
};
std::string text_of(const JobProgress& progress);
JobProgress progress_of(const std::string& key, const std::string& text);

struct Wanted {
  int trainers = 0, servers = 0;
  friend bool operator==(const Wanted&, const Wanted&) = default;
};
std::string text_of(const Wanted& wanted);
Wanted wanted_of(const std::string& key, const std::string& text);

struct Limits {
  int least = 1, most = 256;  // trainers
};
std::string text_of(const Limits& limits);
Limits limits_of(const std::string& key, const std::string& text);

// How a job is to stop.
struct StopOrder {
  std::chrono::seconds within{
      10};  // in which processes end that are asked to; then they are killed
  std::chrono::seconds checkpoint{0};  // in which a last checkpoint is made before that; 0: none is
  friend bool operator==(const StopOrder&, const StopOrder&) = default;
};
std::string text_of(const StopOrder& order);
// Whatever stands there is an order to stop: numbers that make no sense are put right.
StopOrder stop_order_of(const std::string& text);

// What became of a job that was asked to stop.
struct StopReport {
  double seconds = 0;                       // that it took
  int ended = 0;                            // processes, of which
  std::vector<std::string> killed = {};     // these did not end in time
  TaskState tasks = {};                     // as they are left
  std::optional<LastCheckpoint> last = {};  // if one was asked for
  std::string go_on = {};                   // how the job is resumed
};
std::string text_of(const StopReport& report);
StopReport stop_report_of(const std::string& key, const std::string& text);

inline constexpr int kMostProcesses = 256;  // of a role

}  // namespace trireme::distributed
