#pragma once

// What every process of a job is told, and what it makes of it.

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
  // Instead `job` is a program of the user's, whose trainers say what is to be done: program_work.h
  bool program = false;
  std::vector<std::string> set;    // "train.epochs=2"
  std::string output;              // instead of [output] directory
  int threads = 0;                 // 0: as in JobOptions
  std::string store;               // address of etcd, or of the launcher
  Security security;               // of the job's processes among themselves
  Security store_security;         // of whoever asks the store
  std::string prefix = "job/";     // of its keys
  std::string host = "127.0.0.1";  // the IP address that this process is reached by
  // Where it listens, "IP:port", if not at any free port of `host`: there is something between. The
  // port is that by which it is reached.
  std::string listens = {};
  std::string name;                 // of this process, which no other one has or had
  int trainers = 1, servers = 0;    // as many as the job is to have
  std::optional<int> place = {};    // of a parameter server; nothing: the first that is free
  bool until_done = false;          // no launcher looks after it: unattended.h
  std::function<bool()> stop = {};  // asked now and then: whether to end in good order
  // What it tells of itself: monitor/http.h.
  std::string job_name = {};               // what the job is called
  std::string metrics_host = "127.0.0.1";  // where it listens
  int metrics_port = 0;                    // 0: any that is free
};

// A role with one place (Membership): of the trainer that tests and saves when all have trained.
inline constexpr const char* kChiefRole = "last";

// Where the job's store is, and the folders of certificates for it and for other processes.
struct RoleAccess {
  std::string store, etcd;  // one of both
  std::string credentials, etcd_credentials;
};
// Sets who this process is to others and to the store: by certificates, or by $TRIREME_JOB_TOKEN,
// which is not among the arguments, since all users of the machine see those. Errors: as
// read_credentials.
void secure(RoleOptions& options, const RoleAccess& access);

inline const Security& security_of(const RoleOptions& options) { return options.security; }
// Where servers of this process listen.
inline std::string listening_address(const RoleOptions& options) {
  return options.listens.empty() ? options.host + ":0" : options.listens;
}
// The address as it stands alone, without the brackets of IPv6.
std::string own_ip(const RoleOptions& options);
// Waits until it answers, two minutes at most. Its calls end in `answer`. Errors: Unavailable.
std::unique_ptr<Store> open_store(const RoleOptions& options,
                                  Milliseconds answer = Milliseconds(5000));
ProcessMonitorOptions monitor_of(const RoleOptions& options, const std::string& role);
// Where parameter servers write checkpoints: beside the job's output.
inline std::string checkpoint_folder(const std::string& output) { return output + "-checkpoints"; }
// And exports.
inline std::string export_folder(const std::string& output) { return output + "-exports"; }

// Where parameter servers keep rows that do not fit into memory; empty where there is no limit.
inline std::string cold_rows_folder(const Distribution& how, const std::string& output) {
  if (how.memory_limit == 0) return {};
  return how.cold_rows.empty() ? output + "-cold-rows" : how.cold_rows;
}

struct ServerFolders {
  std::string checkpoints;
  std::string cold_rows = {};  // below it each server makes one of its own
};
// A parameter server. Returns when it is told to stop.
void serve(const RoleOptions& options, const ServerFolders& folders);
// A master of tasks, and of servers if the job has any. Returns when it is told to stop. Errors:
// data, if all tasks of an epoch have failed; as the parts.
struct MasterWork {
  std::int64_t epochs = 1;
  std::function<std::vector<std::string>(std::int64_t epoch)> tasks;
  std::function<std::string(const Task&)> describe = {};  // as in TaskQueueOptions
  std::string checkpoints = {};                           // these as in JobControlOptions
  bool synchronous = false;
  bool group = false;  // trainers are a group that has all that is learned: GroupControl
  // What a task may take before it is given to somebody else, too, though its owner lives. Where
  // batches are not known by their tasks, that would be learning them twice.
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

// This process is not needed: others have all places of its role. It ends with this code, which is
// no failure, and none is started in its place.
class Replaced : public Error {
 public:
  explicit Replaced(const std::string& message) : Error(ErrorKind::io, message) {}
};
inline constexpr int kReplacedCode = 8;

// Each returns when the job is over, or when it is told to stop; a master that no launcher looks
// after may throw JobStopped (unattended.h). Errors: Replaced, of servers; as the parts.
void run_trainer(const RoleOptions& options);
void run_server(const RoleOptions& options);
void run_master(const RoleOptions& options);
// A trainer that is a program of the user's, options.job: a path, or a name that is looked for in
// PATH. It runs as a child with the environment of member_environment.h; its lines become this
// process's, and it is asked to leave when `stop` says so. Its exit code, 128 and the number of the
// signal that ended it. Errors: usage, if there is no such program, or if it fails by itself before
// any trainer has said what is to be done, since it would do so again; io.
int run_program(const RoleOptions& options, const RoleAccess& access,
                const std::vector<std::string>& arguments);

}  // namespace trireme::distributed
