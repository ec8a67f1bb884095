#pragma once

// Training with parameters on servers. Embeddings are sparse tables there: a step looks up the rows
// that it needs and pushes their gradients. All other parameters are dense: a step pulls them
// first. Servers apply the rule of the optimizer. Everything before the rule is part of the step
// and runs here: limits of gradients, penalties, weight decay, and the settings of single
// parameters. Options that this cannot support are refused (check_training.h).
//
// In mode geo a trainer trains alone for one task with its own optimizer (for dense parameters that
// of the Trainer). Then it pushes the changes of the parameters and pulls the parameters of the
// servers.

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
  // Options of the tables; name, width, rule and initializer are set automatically. Parameters that
  // only gathers with a sparse gradient read become tables.
  TableOptions table = {};
  bool spill = false;  // as in TableDeclaration
  // Servers count the lookups of each row by trained examples, once for each batch of a task,
  // whichever trainer runs it. If `clicks` names an input of the Program with a number for each
  // example, they also sum these numbers.
  bool counts = false;
  std::string clicks = {};
  std::size_t pushes = 4;  // asynchronous: most batches whose pushes are in flight
};

// Sets the rule and the rate of an optimizer. Errors: usage if servers do not have this rule.
void set_optimizer(ServerTrainingOptions& options, const Optimizer& optimizer);

// For one thread.
class ServerTraining {
 public:
  // The client, the Program and the options of extend() outlive the object.
  ServerTraining(ParameterClient& client, ServerTrainingOptions options, Program& program);
  ~ServerTraining();
  ServerTraining(const ServerTraining&) = delete;
  ServerTraining& operator=(const ServerTraining&) = delete;

  // Changes the options for the Trainer. It rewrites the Program: tables are no longer parameters.
  // Errors: usage as check_training(), and as the optimizer itself.
  void extend(TrainerOptions& options);
  // Declares all tables and parameters to the servers. The values of the first trainer initialize
  // dense parameters. Call it again, with the first values, when servers may have lost the
  // declarations.
  void start(Trainer& trainer);
  // Drops all requests in flight: the servers returned to a checkpoint, or the members changed. The
  // next step is number `step` + 1, and `updates` of these steps changed parameters. A trainer of
  // mode geo keeps its own schedule.
  void go_on(std::uint64_t step, std::uint64_t updates);

  // Requests the rows that the next step, or one `later`, will read for this batch, so that the
  // step waits less or not at all. These rows are then older. Dense parameters are not requested
  // ahead, because every step changes all of them. Geo: rows that are not here yet, for a batch of
  // the same task. Synchronous: nothing, because a step reads rows of that step.
  void prefetch(const data::Batch& batch, std::uint64_t later = 0);
  // Runs one step and returns the loss. A synchronous step equals a step of one process with the
  // batches of all members joined; the loss is a mean over examples. `task` as PushId::of_task if
  // the batch belongs to a task. Errors: as the client; StaleGeneration if a synchronous step must
  // be repeated after go_on().
  struct TaskBatch {
    std::uint32_t task = 0, epoch = 0, batch = 0;
    bool last = false;  // of its task; geo pushes after it
    // Asynchronous: the step of the schedule; without it, the steps of this trainer.
    std::optional<std::uint64_t> step = {};
  };
  double step(const data::Batch& batch, std::optional<TaskBatch> task = std::nullopt);
  // Takes part in a synchronous step without examples of its own.
  void step_without_batch();
  // Examples of all members in the last synchronous step; 0 if none had a batch.
  std::uint64_t examples() const { return examples_; }
  // Geo: adds the local changes to the parameters of the servers, and pulls these. step() calls it
  // at the end of a task.
  void push_deltas();
  // Geo: drops the local changes and pulls the parameters of the servers. Call it after a step.
  void forget_deltas();
  // The number of steps with pushes in flight; and a wait until at most `max` remain.
  std::size_t unfinished() const { return pushes_.size(); }
  void wait_for_pushes(std::size_t max = 0);
  // Waits for all pushes and pulls the newest dense parameters, before evaluating or saving.
  void settle();

  std::uint64_t steps() const { return steps_; }
  // Names of the parameters that became tables. All others, except those that only the Trainer has,
  // are dense.
  std::vector<std::string> tables() const;
  std::vector<std::string> dense() const;
  // A table as the parameter that it replaced, for ids 0 to rows - 1: f32[rows, width]. Ids without
  // a row have their initial values.
  std::uint64_t table_bytes(const std::string& name) const;
  Tensor read_table(const std::string& name);
  // Call it after training: tables become parameters of the Program and the Trainer again, with the
  // rows of the servers, and lookups become gathers. So the model is saved as from one process. No
  // training is possible afterwards. Errors: as the client.
  void gather_tables();

 private:
  struct Table {
    std::uint32_t number = 0;
    TableOptions options;
    std::int64_t rows = 0;         // of the parameter that it replaced
    Initializer initializer = {};  // of the parameter
    Value ids;                     // all ids that a step looks up; computed from inputs only
    double rate = 1;               // factor for the rate of the optimizer
    std::uint64_t pushes = 0, counts = 0;
    std::shared_ptr<LocalRows> local = {};  // geo
  };
  struct Dense {
    std::uint32_t number = 0;
    Value parameter;
    double rate = 1;  // factor for the rate of the optimizer
    std::uint64_t pushes = 0;
    Tensor base = {};  // geo: the value that the servers had last
  };
  struct Fetched {
    std::vector<Id> wanted;  // ids of the batch that are not negative
    std::vector<Id> ids;     // the requested ones among them
    std::vector<float> rows;
    std::optional<Underway> underway;
  };
  // Rows that a step needs, requested ahead; by table.
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
  Optimizer optimizer_;  // this and the next as the Trainer would have them
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
  std::map<std::string, Tensor> first_;  // initial values of dense parameters
  bool training_ = false;
  float share_ = 1;  // factor for gradients
  bool stale_ = false;
  std::uint64_t steps_ = 0, updates_ = 0, examples_ = 0;
};

}  // namespace trireme::distributed
