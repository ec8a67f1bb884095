#pragma once

// The options of every process of a job, and its roles.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "distributed/control/ticks.h"
#include "distributed/coordination/store.h"
#include "distributed/job/process_monitor.h"
#include "distributed/transport/connection.h"
#include "trireme/job.h"

namespace trireme::distributed {

struct RoleOptions {
  std::string job;  // the file
  // `job` is a program of the user instead; its trainers publish their work: program_work.h.
  bool program = false;
  std::vector<std::string> set;    // "train.epochs=2"
  std::string output;              // replaces [output] directory
  int threads = 0;                 // 0: as in JobOptions
  int handlers = 0;                // threads of a server for requests; 0: as many as processors
  std::string store;               // address of etcd, or of the launcher
  Security security;               // between processes of the job
  Security store_security;         // of clients of the store
  std::string prefix = "job/";     // of its keys
  std::string host = "127.0.0.1";  // the IP address of this process
  // Where it listens, "IP:port", if not at any free port of `host`, because a proxy is in between.
  // The port is the one of the proxy.
  std::string listens = {};
  std::string name;                   // of this process; no other one has or had it
  int trainers = 1, servers = 0;      // the numbers of the job
  std::optional<int> place = {};      // of a parameter server; unset: the first free one
  Milliseconds place_timeout{15000};  // how long a parameter server waits for a free place
  bool until_done = false;            // without a launcher: standalone_master.h
  std::function<bool()> stop = {};    // called regularly: whether to end
  // Its pages: monitor/http.h.
  std::string job_name = {};               // the name of the job
  std::string metrics_host = "127.0.0.1";  // where it listens
  int metrics_port = 0;                    // 0: any free port
};

// A role with one place (ProcessRegistry): of the trainer that tests and saves after the training.
inline constexpr const char* kChiefRole = "last";

// The address of the store of the job, and the folders of certificates for it and for other
// processes.
struct RoleAccess {
  std::string store, etcd;  // one of both
  std::string credentials, etcd_credentials;
};
// Sets how this process authenticates to others and to the store: by certificates, or by
// $TRIREME_JOB_TOKEN, which is no argument because all users of the machine see arguments. `role`:
// as in read_credentials(). Errors: as read_credentials().
void secure(RoleOptions& options, const RoleAccess& access, const std::string& role = "");

inline const Security& security_of(const RoleOptions& options) { return options.security; }
// Where servers of this process listen.
inline std::string listening_address(const RoleOptions& options) {
  return options.listens.empty() ? options.host + ":0" : options.listens;
}
// The address alone, without the brackets of IPv6.
std::string own_ip(const RoleOptions& options);
// Waits at most two minutes until it answers. Its calls time out after `answer`. Errors:
// Unavailable.
std::unique_ptr<Store> open_store(const RoleOptions& options,
                                  Milliseconds answer = Milliseconds(5000));
ProcessMonitorOptions monitor_of(const RoleOptions& options, const std::string& role);
// Where parameter servers write checkpoints: beside the output of the job.
inline std::string checkpoint_folder(const std::string& output) { return output + "-checkpoints"; }
// Where they write exports.
inline std::string export_folder(const std::string& output) { return output + "-exports"; }

// Where parameter servers keep rows that do not fit into memory; empty without a limit.
inline std::string cold_rows_folder(const Distribution& how, const std::string& output) {
  if (how.memory_limit == 0) return {};
  return how.cold_rows.empty() ? output + "-cold-rows" : how.cold_rows;
}

struct ServerFolders {
  std::string checkpoints;
  std::string cold_rows = {};  // each server makes a folder below it
};
// Runs a parameter server until it must stop.
void serve(const RoleOptions& options, const ServerFolders& folders);
// Runs a master of tasks, and of servers if the job has any, until it must stop. Errors: data if
// all tasks of an epoch failed; as the parts.
struct MasterWork {
  std::int64_t epochs = 1;
  std::function<std::vector<std::string>(std::int64_t epoch)> tasks;
  std::function<std::string(const Task&)> describe = {};  // as in TaskQueueOptions
  std::string checkpoints = {};                           // these as in JobControlOptions
  bool synchronous = false;
  bool group = false;  // trainers are a group with the whole model: GroupControl
  // Time of a task before another trainer gets it, although its owner lives. If batches are not
  // identified by their tasks, that would train them twice.
  Milliseconds patience{10000};
  double every = 60;
  int keep = 2;
  bool resume = false;
  std::optional<Ageing> ageing = {};
  std::string exports = {};  // these as in PublisherOptions
  double export_every = 0;
  std::int64_t export_deltas = 24;
};
void lead(const RoleOptions& options, const MasterWork& work);

// This process is not needed: others have all places of its role. Its exit code is no failure, and
// no other process is started.
class Replaced : public Error {
 public:
  explicit Replaced(const std::string& message) : Error(ErrorKind::io, message) {}
};
inline constexpr int kReplacedCode = 8;

// Each returns when the job is over, or when it must stop; a master without a launcher may throw
// JobStopped (standalone_master.h). Errors: Replaced, for servers; as the parts.
void run_trainer(const RoleOptions& options);
void run_server(const RoleOptions& options);
void run_master(const RoleOptions& options);
// Runs a trainer that is a program of the user, options.job: a path, or a name in PATH. It runs as
// a child process with the environment of member_environment.h; its lines become those of this
// process, and it must leave when `stop` returns true. Returns its exit code, or 128 plus the
// number of the signal that ended it. Errors: usage if there is no such program, or if it fails
// before any trainer has published its work, because it would fail again; io.
int run_program(const RoleOptions& options, const RoleAccess& access,
                const std::vector<std::string>& arguments);

}  // namespace trireme::distributed
