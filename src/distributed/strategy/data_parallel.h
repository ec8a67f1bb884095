#pragma once

// Data parallelism: all members train copies of one model, each on its own batches. A common step
// equals a step of one process with all batches joined: the loss is a mean over examples, so
// gradients are averaged by examples. Members may fail, leave and join between steps:
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
  std::size_t bucket_bytes = 4 * 1024 * 1024;  // this and the next as in BucketOptions
  bool overlap = true;
  // As ElasticState::found. It may call set_state().
  std::function<std::int64_t(std::int64_t generation)> found = {};
  // Called when this member has entered another group. Returns whether the batch of the step is
  // still valid; if not, step() throws StaleGeneration.
  std::function<bool()> entered = {};
};

// For one thread.
class DataParallel {
 public:
  // `batch`: a value of the Program, such as an input, whose axis 0 is the number of examples of a
  // batch. Store and Program outlive the object.
  DataParallel(Store& store, DataParallelOptions options, Program& program, Value batch);
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  // Changes the options for the Trainer of this member: its gradients become those of all members.
  // So do values that the Program assigns to f32 parameters that are not trained, such as running
  // statistics: their mean by examples. Call it once, before making the Trainer. Errors: usage, as
  // check_training().
  void extend(TrainerOptions& options);

  // Joins the group with the parameters and the state of the Trainer. The state of an existing
  // group replaces them. All members start with one seed; random numbers differ by member. The
  // trainer outlives this object.
  void join(Trainer& trainer);
  // Runs one step with the other members and waits for them. With `share` false, this member has no
  // batch: it runs any batch that is not empty and adds nothing to the sum. If no member has a
  // batch, nothing changes. Returns the loss of its own batch. Errors: as ElasticGroup.
  double step(const data::Batch& batch, bool share = true);
  // Returns the examples of all members in the last step; 0 if none had a batch.
  std::int64_t examples() const { return total_; }
  // The common state as bytes: parameters and the state of the optimizer. Errors: data if it
  // belongs to another model.
  std::vector<std::byte> state();
  void set_state(std::span<const std::byte> bytes);
  std::size_t state_bytes();
  std::int64_t steps() const;       // committed, in all generations
  int members() const;              // in the last step
  int rank() const;                 // in the last step
  std::int64_t generation() const;  // of the group of the last step; 0 before
  std::int64_t breaks() const;      // as of ElasticGroup
  std::int64_t repeated() const {
    return repeated_;
  }  // steps repeated with the state of another member

 private:
  // The new value that the Program computes for a parameter that is not trained.
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
  std::int64_t entered_ = 0;  // the generation for which `entered` was called
  std::map<std::string, std::size_t>
      places_;  // of gradients and statistics among those of this step
  bool share_ = true, counted_ = false, replaced_ = false, idle_ = false;  // of this step
  float count_ = 0;         // examples of this member
  std::int64_t total_ = 0;  // examples of all members
  std::int64_t repeated_ = 0;
};

}  // namespace trireme::distributed
