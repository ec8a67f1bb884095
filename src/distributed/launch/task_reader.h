#pragma once

// The batches of a trainer: those of the tasks that it takes from the master, ahead of time.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "distributed/master/task_client.h"
#include "trireme/data.h"

namespace trireme::distributed {

// Batches [first, last) of an epoch.
struct BatchRange {
  std::int64_t first = 0, last = 0;
};
// "12 28", and back. Errors: data.
std::string text_of(const BatchRange& range);
BatchRange range_of(const std::string& task);
// The tasks of an epoch over so many batches.
std::vector<std::string> tasks_of(std::int64_t batches, std::int64_t task_batches);

// A task's batches are those of the epoch that a single process would have, whatever cuts them: the same for every reader of
// the same data, and each time.
class TaskReader {
 public:
  struct Read {
    data::Batch batch;
    std::uint32_t task = 0, epoch = 0, number = 0;  // the batch within its task
    bool last = false;                              // of its task
    std::uint32_t rollbacks = 0;                    // as Taken
    std::int64_t place = 0;                         // among the batches of all epochs, from 0
  };

  // All must outlive the reader.
  TaskReader(TaskClient& client, const data::Batches& batches)
      : client_(client), batches_(batches) {}

  // The next batch; nothing if there is none at the moment.
  std::optional<Read> next();
  // The one after it, which next() will give; nullptr if there is none at the moment. It may be of the next task, and is taken
  // from the master then. Until the next call.
  const Read* peek();
  // All that was read has been learned: tells the master of the tasks that are through.
  void finish();
  // The job has gone back to a checkpoint so often: tasks of before are nobody's any more.
  void forget_before(std::uint32_t rollbacks);
  // The trainer leaves: what is not finished is handed out again.
  void leave();
  bool all_done() const { return all_done_; }

 private:
  struct Current {
    Task task;
    std::int64_t epoch = 0;
    BatchRange range;
    std::int64_t at = 0;
    std::uint32_t rollbacks = 0;
  };
  void take();
  std::optional<Read> read();

  TaskClient& client_;
  const data::Batches& batches_;
  std::deque<Current> tasks_;
  std::optional<Read> peeked_;  // of the first task
  std::vector<Task> through_;
  std::uint32_t rollbacks_ = 0;  // of those that are through
  std::int64_t numbered_ = -1;   // the epoch of epoch_
  std::optional<data::NumberedBatches> epoch_;
  bool all_done_ = false;
};

}  // namespace trireme::distributed
