#pragma once

// A training process of a job. It takes part, its Program and the options of its Trainer are
// changed by the strategy of the job, and then it trains the tasks that it gets. A job file
// (trainer.cc) or a program of the user (member.cc) defines the Program.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "distributed/control/group_member.h"
#include "distributed/control/job_view.h"
#include "distributed/control/synchronous_turn.h"
#include "distributed/coordination/async_store_read.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/coordination/store_session.h"
#include "distributed/launch/role.h"
#include "distributed/launch/role_metrics.h"
#include "distributed/launch/task_reader.h"
#include "distributed/master/step_clock.h"
#include "distributed/strategy/data_parallel.h"
#include "distributed/strategy/server_training.h"
#include "trireme/job.h"

namespace trireme::distributed {

// Where servers of the job write, for messages of a trainer.
struct JobFolders {
  std::string checkpoints, exports;
};

// For one thread.
class TrainingMember {
 public:
  // Takes part in the job. Errors: as Store.
  explicit TrainingMember(const RoleOptions& options);
  TrainingMember(const TrainingMember&) = delete;
  TrainingMember& operator=(const TrainingMember&) = delete;

  // Changes the options for the Trainer. Making it rewrites the Program. Call it once; the Program
  // outlives this object. Errors: usage.
  void extend(Program& program, TrainerOptions& made, const Distribution& how,
              const JobFolders& folders);
  // Trains until all epochs are over, or it must stop. `after_step`: for steps of this process with
  // a batch, from 1. The Trainer is used as long as this object exists. Errors: as the parts; io
  // instead of errors caused by a batch if others were trained: another process must continue.
  using AfterStep = std::function<void(std::int64_t step, double loss)>;
  void train(Trainer& trainer, const data::Batches& batches, const AfterStep& after_step = {});

  // For one of the processes that trained, when all have: it tests and saves, and then reports it.
  bool is_chief() const { return chief_; }
  void conclude();

  // Tables on servers become parameters of the Trainer, as in ServerTraining. Returns false, and
  // prints the folders of checkpoints and exports, if they are too large.
  bool gather_tables();

  Store& store() { return *store_; }

 private:
  void join_parallel(Program& program, TrainerOptions& made, const Distribution& how);
  void join_servers(Program& program, TrainerOptions& made, const Distribution& how);
  void keep_pace(std::uint32_t lead);
  ServerView newest_servers();
  void leave(TaskReader& reader);
  void given_back(const Task& task, const std::string& why);
  void fail(TaskReader& reader, const Error& error);
  void rejoin(TaskReader& reader);
  void enter(JobView view, TaskReader& reader);
  std::int64_t found_group(std::int64_t generation);
  bool enter_group();
  void train_in_parallel(TaskReader& reader, const data::Batches& batches);
  void train_by_servers(TaskReader& reader);
  void prefetch_next(const TaskReader::Read& read, TaskReader& reader);
  void train_by_servers_together(TaskReader& reader);
  bool enter_turn(SynchronousTurn& turn, TaskReader& reader);
  void end_by_servers();
  void leave_members();
  void check_session();
  void patiently(const std::function<void()>& ask) const;
  bool stopped() const { return options_.stop && options_.stop(); }
  void report(double loss, std::int64_t examples);
  void tell();
  bool is_concluded();
  std::string concluded_key() const { return options_.prefix + "concluded"; }

  const RoleOptions options_;
  const std::unique_ptr<Store> store_;
  ProcessMonitor monitor_;  // reads none of the following members
  LeaseWriter lease_writer_;
  TrainerMetrics metrics_;
  ProcessRegistry registry_;
  std::optional<StoreSession> session_;  // as a trainer; always there
  std::int64_t absences_ = 0;            // its value at the start of the last generation
  Network network_;
  Distribution::Mode mode_ = Distribution::Mode::all_reduce;
  bool prefetch_ = false;
  JobFolders folders_;  // without exports: the job makes none
  Trainer* trainer_ = nullptr;
  std::optional<GroupMember> group_;
  std::optional<DataParallel> parallel_;
  TaskReader* reader_ = nullptr;               // while it trains
  std::optional<TaskReader::Read> read_ = {};  // the batch of this member in common steps
  std::optional<JobView> view_;                // the current one
  std::optional<AsyncStoreRead<std::optional<JobView>>> views_;  // for the client,
  bool servers_notified_ = false;                                // which has got one
  std::optional<ParameterClient> client_;
  std::optional<ServerTraining> by_servers_;
  std::optional<TaskClient> tasks_;
  std::optional<StepClock> clock_;  // for bounded staleness
  AfterStep after_step_;
  bool chief_ = false;
  std::int64_t own_steps_ = 0;             // with a batch, in every mode
  std::int64_t steps_ = 0, examples_ = 0;  // not reported yet, as losses_
  double losses_ = 0;
  std::chrono::steady_clock::time_point reported_ = {};
};

}  // namespace trireme::distributed
