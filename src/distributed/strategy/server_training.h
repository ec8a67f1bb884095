#pragma once

// Training with parameters on servers: embeddings are sparse tables there, of which a step looks up the rows that it
// needs and pushes their gradients back; all other parameters are dense ones, pulled before a step. Servers have the
// optimizer; what the Trainer was given is not used.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "distributed/server/client.h"
#include "trireme/trainer.h"

namespace trireme::distributed {

struct ServerTrainingOptions {
  Mode mode = Mode::asynchronous;  // not geo
  RowRule rule = RowRule::adagrad();
  Schedule rate = 0.01;  // by the steps of this trainer
  // Of the tables; name, width, rule and initializer are set. Parameters that only gathers with a sparse gradient read
  // become tables.
  TableOptions table = {};
  bool spill = false;  // as in TableDeclaration
  // Trainers whose gradients a synchronous step sums up: each gives its share, so that the sum is their mean.
  int members = 1;
  std::size_t pushes = 4;  // asynchronous: batches whose pushes may be under way
};

// The rule and the rate of an optimizer. Errors: usage, for one that servers do not have.
void set_optimizer(ServerTrainingOptions& options, const Optimizer& optimizer);

// One thread calls all functions.
class ServerTraining {
 public:
  // The client, the Program and what extend() was given to outlive the object.
  ServerTraining(ParameterClient& client, ServerTrainingOptions options, Program& program);
  ~ServerTraining();
  ServerTraining(const ServerTraining&) = delete;
  ServerTraining& operator=(const ServerTraining&) = delete;

  // What the Trainer is to be made with. It rewrites the Program: tables are no parameters of it any more.
  void extend(TrainerOptions& options);
  // Declares everything to the servers. Of dense parameters the first trainer's values count.
  void start(Trainer& trainer);

  // Looks up what a later batch needs, meanwhile. Only asynchronous: in a synchronous step rows are those of the step.
  void prefetch(const data::Batch& batch);
  // One step; gives the loss. `task` as of PushId::of_task, when the batch is part of one. Errors: as of the client;
  // StaleGeneration, when a synchronous step is to be repeated.
  struct TaskBatch {
    std::uint32_t task = 0, epoch = 0, batch = 0;
  };
  double step(const data::Batch& batch, std::optional<TaskBatch> task = std::nullopt);
  // Waits for all pushes, and brings the newest dense parameters here: before evaluating or saving.
  void settle();

  std::uint64_t steps() const { return steps_; }
  // What was rewritten, by the parameters' names.
  std::vector<std::string> tables() const;

 private:
  struct Table {
    std::uint32_t number = 0;
    TableOptions options;
    Value ids;  // all that are looked up in a step; computed from inputs alone
    std::uint64_t pushes = 0;
  };
  struct Dense {
    std::uint32_t number = 0;
    Value parameter;
    std::uint64_t pushes = 0;
  };
  struct Fetched {
    std::vector<Id> ids;  // those that are not negative
    std::vector<float> rows;
    std::optional<Underway> underway;
  };
  using Operands = std::span<const HostTensor>;

  void exchange(std::vector<ParameterGradient>& gradients);
  void make_table(const ParameterGradient& one);
  void make_dense(const ParameterGradient& one);
  void count(const std::string& key, const Value& pushed);
  void look_up(const std::string& key, Operands operands, HostTensor& result);
  void push_rows(const std::string& key, Operands operands);
  void push_dense(const std::string& key, Operands operands);
  std::unique_ptr<Fetched> fetch(Table& table, std::vector<Id> ids);
  PushId push_id() const;
  UpdateStep update() const;
  void pull();
  void wait_for_pushes(std::size_t most);

  ParameterClient& client_;
  const ServerTrainingOptions options_;
  Program& program_;
  Trainer* trainer_ = nullptr;
  std::map<std::string, Table> tables_;  // by parameter
  std::map<std::string, Dense> dense_;
  std::map<std::string, std::deque<std::unique_ptr<Fetched>>>
      ahead_;  // by table, in the order of batches
  struct Push {
    std::vector<Id> ids;
    std::vector<float> values;
    std::optional<Underway> underway;
  };
  std::deque<std::vector<std::unique_ptr<Push>>> pushes_;  // of each step
  std::optional<TaskBatch> task_;
  bool training_ = false;
  std::uint64_t steps_ = 0;
};

}  // namespace trireme::distributed
