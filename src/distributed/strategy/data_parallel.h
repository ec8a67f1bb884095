#pragma once

// Data parallelism: all members train copies of one model, each on batches of its own, and a step
// of all together is that of one process with the batches joined: the loss being a mean over
// examples, gradients are averaged by examples. Members may die, leave and join between steps:
// collectives/elastic_group.h.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "distributed/collectives/bucketed_all_reduce.h"
#include "distributed/collectives/elastic_group.h"
#include "trireme/trainer.h"

namespace trireme::distributed {

struct DataParallelOptions {
  ElasticOptions group;
  std::size_t bucket_bytes = 4 * 1024 * 1024;  // these as in BucketOptions
  bool overlap = true;
  // As ElasticState::found; may call set_state().
  std::function<std::int64_t(std::int64_t generation)> found = {};
  // This member is in another group than before. Returns whether the step's batch still counts; if
  // not, step() throws StaleGeneration.
  std::function<bool()> entered = {};
};

// One thread calls all functions.
class DataParallel {
 public:
  // `batch`: a value of the Program, such as an input, whose axis 0 counts the examples of a batch.
  // Store and Program outlive the object.
  DataParallel(Store& store, DataParallelOptions options, Program& program, Value batch);
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  // What the Trainer of this member is to be made with: its gradients become those of all. So does
  // what the Program assigns to f32 parameters that are not trained, such as running statistics:
  // the mean by examples. Once, before the Trainer. Errors: usage, as check_training().
  void extend(TrainerOptions& options);

  // Takes part, with the Trainer's parameters and all that goes with them; those of a group that
  // there is replace them. All members begin with one seed; random numbers differ by member. The
  // trainer outlives this.
  void join(Trainer& trainer);
  // One step with the others; waits for them. `share` false: this member has no batch, takes part
  // with any other one, which must not be empty, and gives nothing to the sum. Where all have none
  // nothing changes. Returns the loss of its own batch. Errors: as ElasticGroup.
  double step(const data::Batch& batch, bool share = true);
  // The examples of all members in the last step: 0 if none had a batch.
  std::int64_t examples() const { return total_; }
  // All that members have in common: parameters, the optimizer's too, as bytes. Errors: data, for
  // those of another model.
  std::vector<std::byte> state();
  void set_state(std::span<const std::byte> bytes);
  std::size_t state_bytes();
  std::int64_t steps() const;                          // committed, by all generations
  int members() const;                                 // in the last step
  int rank() const;                                    // in the last step: 0 for one of them
  std::int64_t generation() const;                     // of the last step's group; 0 before
  std::int64_t breaks() const;                         // as of ElasticGroup
  std::int64_t repeated() const { return repeated_; }  // steps begun anew with another's state

 private:
  // What the Program makes of a parameter that is not trained.
  struct Statistic {
    Value parameter, next;
  };
  void exchange(std::vector<ParameterGradient>& gradients);
  void add(const std::string& key, std::span<const HostTensor> operands);
  void settle();
  void take(const std::string& key, HostTensor& result);
  void average(const std::string& key, HostTensor& result);

  Store& store_;
  const DataParallelOptions options_;
  Program& program_;
  const Value batch_;
  std::vector<Statistic> statistics_;
  Trainer* trainer_ = nullptr;
  BucketedAllReduce buckets_;
  std::unique_ptr<ElasticGroup> group_;
  std::shared_ptr<Group> members_;
  std::int64_t entered_ = 0;  // the generation of which `entered` knows
  std::map<std::string, std::size_t>
      places_;  // of gradients and statistics among those of this step
  bool share_ = true, counted_ = false, replaced_ = false, idle_ = false;  // of this step
  float count_ = 0;         // of this member's examples
  std::int64_t total_ = 0;  // of all
  std::int64_t repeated_ = 0;
};

}  // namespace trireme::distributed
