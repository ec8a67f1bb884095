#pragma once

// Messages between the processes of a job, its launcher and `trireme job`, as keys of the store of
// the job. After the prefix of the job:
//
// - process/ROLE/NAME, place/ROLE/2: the running processes: coordination/process_registry.h
// - tasks: the progress of the leading master; on its lease
// - progress: the progress of trainers, as the launcher knows it; on its lease
// - orders/limits: "1 4", the minimum and maximum number of trainers of the job
// - orders/wanted: "3 2", the wanted numbers of trainers and parameter servers. Launchers start
//   trainers and servers, and end trainers
// - orders/servers, orders/drained/PLACE: the order to the master, and its completion. The launcher
//   ends a drained server
// - orders/checkpoint, orders/last-checkpoint: the order for a last checkpoint, and its result
// - orders/stop: "10 120", an order to end: processes end within 10 s, after a last checkpoint
//   within 120 s; 0: no checkpoint
// - orders/stopped: the result of that
//
// Errors of all parsers: data, with the key.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "distributed/control/last_checkpoint.h"
#include "distributed/coordination/process_registry.h"

namespace trireme::distributed {

inline std::string tasks_key(const std::string& job) { return job + "tasks"; }
inline std::string progress_key(const std::string& job) { return job + "progress"; }
inline std::string limits_key(const std::string& job) { return orders_prefix(job) + "limits"; }
inline std::string wanted_key(const std::string& job) { return orders_prefix(job) + "wanted"; }
inline std::string stop_key(const std::string& job) { return orders_prefix(job) + "stop"; }
inline std::string stopped_key(const std::string& job) { return orders_prefix(job) + "stopped"; }

struct TaskState {
  std::int64_t epoch = 0, epochs = 0;
  std::int64_t todo = 0, pending = 0, done = 0, failed = 0, refused = 0;
  std::int64_t left_out = 0;  // of all epochs: failed tasks
  std::string leader = {};    // the master that reports this

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("epoch", epoch);
    visit("epochs", epochs);
    visit("todo", todo);
    visit("pending", pending);
    visit("done", done);
    visit("failed", failed);
    visit("refused", refused);
    visit("left_out", left_out);
    visit("leader", leader);
  }
};
std::string text_of(const TaskState& state);
TaskState task_state_of(const std::string& key, const std::string& text);

struct JobProgress {
  std::int64_t steps = 0, examples = 0;  // of all trainers
  double seconds = 0;                    // since the start of the job
  double rate = 0;                       // recent examples per second
  std::optional<double> loss = {};       // recent mean

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("steps", steps);
    visit("examples", examples);
    visit("seconds", seconds);
    visit("rate", rate);
    visit("loss", loss);
  }
};
std::string text_of(const JobProgress& progress);
JobProgress progress_of(const std::string& key, const std::string& text);

struct Wanted {
  int trainers = 0, servers = 0;
  friend bool operator==(const Wanted&, const Wanted&) = default;
};
std::string text_of(const Wanted& wanted);
Wanted wanted_of(const std::string& key, const std::string& text);

inline constexpr int kMaxProcesses = 4096;  // of a role: as many as a slot map has servers

struct Limits {
  int min = 1, max = kMaxProcesses;  // trainers
};
std::string text_of(const Limits& limits);
Limits limits_of(const std::string& key, const std::string& text);

// How a job must end.
struct StopOrder {
  // Time for processes to end; then they are killed.
  std::chrono::seconds within{10};
  std::chrono::seconds checkpoint{0};  // limit for a last checkpoint before that; 0: none
  friend bool operator==(const StopOrder&, const StopOrder&) = default;
};
std::string text_of(const StopOrder& order);
// Any text is an order to stop: invalid numbers are corrected.
StopOrder stop_order_of(const std::string& text);

// The result of an order to stop.
struct StopReport {
  double seconds = 0;                       // its time
  int ended = 0;                            // processes, of which
  std::vector<std::string> killed = {};     // these did not end in time
  std::optional<TaskState> tasks = {};      // the final state; none if the store did not answer
  std::optional<LastCheckpoint> last = {};  // if one was ordered
  std::string go_on = {};                   // how to resume the job

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("seconds", seconds);
    visit("ended", ended);
    visit("killed", killed);
    visit("tasks", tasks);
    visit("last", last);
    visit("go_on", go_on);
  }
};
std::string text_of(const StopReport& report);
StopReport stop_report_of(const std::string& key, const std::string& text);

}  // namespace trireme::distributed
