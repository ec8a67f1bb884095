#pragma once

// Training with parameters on servers: embeddings are sparse tables there, of which a step looks up
// the rows that it needs and pushes their gradients back; all other parameters are dense ones,
// pulled before a step. Servers have the optimizer's rule. What stands before the rule is part of
// the step, and done here: limits of gradients, penalties and weight decay, and what single
// parameters have of their own. What cannot be kept to so is refused (check_training.h).
//
// In mode geo a trainer takes its own steps for a while, from one task to the next, with its own
// optimizer (that of the Trainer for dense parameters); then it pushes by how much parameters have
// changed, and takes those of the servers.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "distributed/server/client.h"
#include "distributed/strategy/local_rows.h"
#include "trireme/trainer.h"

namespace trireme::distributed {

struct ServerTrainingOptions {
  Mode mode = Mode::asynchronous;
  RowRule rule = RowRule::adagrad();
  Schedule rate = 0.01;  // by the steps of this trainer, or by those of all together
  // Of the tables; name, width, rule and initializer are set. Parameters that only gathers with a
  // sparse gradient read become tables.
  TableOptions table = {};
  bool spill = false;  // as in TableDeclaration
  // Servers count how often a row was looked up by an example that is learned, once for each batch
  // of a task, whoever learns it; and if `clicks` names an input of the Program, with a number for
  // each example, the sum of these.
  bool counts = false;
  std::string clicks = {};
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

  // What the Trainer is to be made with. It rewrites the Program: tables are no parameters of it
  // any more. Errors: usage, as check_training(), and where the optimizer itself would refuse.
  void extend(TrainerOptions& options);
  // Declares everything to the servers. Of dense parameters the first trainer's values count.
  // Again, with the values that they began with, when servers may have lost what they were told.
  void start(Trainer& trainer);
  // What is under way is forgotten: the servers have gone back to a checkpoint, or the members have
  // changed. The next step is number `step` + 1, and `updates` of these have changed something; but
  // a trainer of mode geo goes on in its own schedule.
  void go_on(std::uint64_t step, std::uint64_t updates);

  // Asks servers for rows that the coming step, or one `later`, will read, of which this is the
  // batch: that step then waits for them less, or not at all. They are that old; dense parameters,
  // of which all steps change all, are not asked for ahead. Geo: rows that are not here yet, of a
  // batch of the same task. Synchronous: nothing, since all that a step reads is of that step.
  void prefetch(const data::Batch& batch, std::uint64_t later = 0);
  // One step; gives the loss. A synchronous one is that of one process with the batches of all
  // members joined, the loss being a mean over examples. `task` as of PushId::of_task, when the
  // batch is part of one. Errors: as of the client; StaleGeneration, when a synchronous step is to
  // be repeated, after go_on().
  struct TaskBatch {
    std::uint32_t task = 0, epoch = 0, batch = 0;
    bool last = false;  // of its task: geo pushes after it
    // Asynchronous: how many steps the schedule has come to; without, those of this trainer.
    std::optional<std::uint64_t> step = {};
  };
  double step(const data::Batch& batch, std::optional<TaskBatch> task = std::nullopt);
  // A synchronous step of the others, to which this member has nothing to add.
  void step_without_batch();
  // Of all members in the last synchronous step: 0 if none had a batch.
  std::uint64_t examples() const { return examples_; }
  // Geo: adds what has changed here to what servers have, and takes theirs. Done by step() at the
  // end of a task.
  void push_deltas();
  // Geo: forgets them instead, and takes what servers have. After a step.
  void forget_deltas();
  // Steps whose pushes may not have arrived; and waits until no more than so many are left.
  std::size_t unfinished() const { return pushes_.size(); }
  void wait_for_pushes(std::size_t most = 0);
  // Waits for all pushes, and brings the newest dense parameters here: before evaluating or saving.
  void settle();

  std::uint64_t steps() const { return steps_; }
  // What was rewritten, by the parameters' names; all others but what the Trainer has of its own
  // are dense.
  std::vector<std::string> tables() const;
  std::vector<std::string> dense() const;
  // A table as the parameter that it was, of ids 0 to rows - 1: f32[rows, width]; ids without a row
  // as they would begin.
  std::uint64_t table_bytes(const std::string& name) const;
  Tensor read_table(const std::string& name);
  // When training is over: tables are parameters of the Program and the Trainer again, with the
  // rows that servers have, and lookups are gathers. So the model is saved as one process would.
  // Trains no more. Errors: as of the client.
  void bring_home();

 private:
  struct Table {
    std::uint32_t number = 0;
    TableOptions options;
    std::int64_t rows = 0;         // of the parameter that it was
    Initializer initializer = {};  // of it
    Value ids;                     // all that are looked up in a step; computed from inputs alone
    double rate = 1;               // times the optimizer's
    std::uint64_t pushes = 0, counts = 0;
    std::shared_ptr<LocalRows> local = {};  // geo
  };
  struct Dense {
    std::uint32_t number = 0;
    Value parameter;
    double rate = 1;  // times the optimizer's
    std::uint64_t pushes = 0;
    Tensor base = {};  // geo: as the servers had it last
  };
  struct Fetched {
    std::vector<Id> wanted;  // those that are not negative, of the batch
    std::vector<Id> ids;     // of these, those that are asked for
    std::vector<float> rows;
    std::optional<Underway> underway;
  };
  // Rows that a step needs, asked for ahead of it; by table.
  using Ahead = std::map<std::string, std::unique_ptr<Fetched>>;
  using Operands = std::span<const HostTensor>;

  void exchange(std::vector<ParameterGradient>& gradients);
  void prepare(std::vector<ParameterGradient>& gradients) const;
  void make_table(const ParameterGradient& one);
  void make_dense(const ParameterGradient& one);
  void count(const std::string& name, const Value& pushed);
  void make_counts(const std::string& key, const Value& ids);
  void push_counts(const std::string& key, Operands operands);
  void look_up(const std::string& key, Operands operands, HostTensor& result);
  void push_rows(const std::string& key, Operands operands);
  void push_dense(const std::string& key, Operands operands);
  std::unique_ptr<Fetched> fetch(Table& table, std::vector<Id> wanted, Create create);
  std::vector<Tensor> ids_of(const data::Batch& batch);
  PushId push_id() const;
  UpdateStep update(double factor) const;
  void pull();
  void finish_together(std::uint64_t examples);
  std::unique_ptr<Fetched> take_ahead(const std::string& key, const std::vector<Id>& wanted);
  void look_up_locally(const std::string& key, std::span<const std::int64_t> ids,
                       HostTensor& result);

  ParameterClient& client_;
  const ServerTrainingOptions options_;
  Program& program_;
  Optimizer optimizer_;  // these two as the Trainer was to have them
  UpdateOptions update_options_;
  Trainer* trainer_ = nullptr;
  std::map<std::string, Table> tables_;  // by parameter
  std::map<std::string, Dense> dense_;
  std::map<std::uint64_t, Ahead> ahead_;  // by the number of the step, counted as steps_
  struct Push {
    std::vector<Id> ids;
    std::vector<float> values;
    std::optional<Underway> underway;
  };
  std::deque<std::vector<std::unique_ptr<Push>>> pushes_;  // of each step
  std::optional<TaskBatch> task_;
  std::map<std::string, Tensor> first_;  // values of dense parameters
  bool training_ = false;
  float share_ = 1;  // by which gradients are multiplied
  bool stale_ = false;
  std::uint64_t steps_ = 0, updates_ = 0, examples_ = 0;
};

}  // namespace trireme::distributed
