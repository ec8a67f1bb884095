#pragma once

// The batches of a trainer: those of the tasks that it takes from the master, read ahead.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
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
// "batches 12 to 27", for a task.
std::string described(const BatchRange& range);
// The tasks of an epoch of `batches` batches.
std::vector<std::string> tasks_of(std::int64_t batches, std::int64_t task_batches);

// The batches of a task are those of the epoch of a single process, however it is cut: the same for
// every reader of the same data, each time. A task with wrong data is returned, and reading
// continues with others.
class TaskReader {
 public:
  struct Read {
    data::Batch batch;
    std::uint32_t task = 0, epoch = 0, number = 0;  // the batch within its task
    bool last = false;                              // of its task
    std::uint32_t rollbacks = 0;                    // as in Taken
    std::int64_t place = 0;                         // among the batches of all epochs, from 0
  };

  // Called for a task that was returned because a batch of it could not be read; earlier batches of
  // it may have been read.
  using Bad = std::function<void(const Task& task, const std::string& why)>;
  // Called for a task that this trainer has, or has ended, and that is handed out again:
  // TaskClient::on_lost.
  using Lost = std::function<void(const Task& task)>;
  // All arguments outlive the reader.
  TaskReader(TaskClient& client, const data::Batches& batches, Bad bad = {}, Lost lost = {});
  ~TaskReader();
  TaskReader(const TaskReader&) = delete;
  TaskReader& operator=(const TaskReader&) = delete;

  // Returns the next batch; nothing if there is none at the moment. Errors: as TaskClient; io of
  // the data.
  std::optional<Read> next();
  // Returns the batch after it, which next() will return; null if there is none at the moment, or
  // only next() can find out. It may be of the next task, which is then taken from the master; but
  // not if another trainer had that task before, which may have failed because of it: then it must
  // be the first task of this trainer. Valid until the next call.
  const Read* peek();
  // The trainer ends because of the last batch: its task ended badly, and all others are handed out
  // again. Returns whether some task of the job is done, so that the job itself is not wrong.
  bool give_back(const std::string& why);
  // All batches that were read are trained: reports completed tasks to the master.
  void finish();
  // The job returned to a checkpoint for the `rollbacks`th time: earlier tasks are void.
  void forget_before(std::uint32_t rollbacks);
  // The trainer leaves: unfinished tasks are handed out again. `timeout`: as TaskClient::release.
  void leave(std::optional<Milliseconds> timeout = {});
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
  bool have();
  std::optional<Read> read();
  void lose(const Task& task);
  Read read_batch();

  TaskClient& client_;
  const data::Batches& batches_;
  const Bad bad_;
  const Lost lost_;
  std::optional<Task> last_;  // of the last batch
  std::deque<Current> tasks_;
  std::optional<Read> peeked_;  // of the first task
  std::vector<Task> through_;
  std::uint32_t rollbacks_ = 0;  // of completed tasks
  std::int64_t numbered_ = -1;   // the epoch of epoch_
  std::optional<data::NumberedBatches> epoch_;
  bool all_done_ = false;
};

}  // namespace trireme::distributed
