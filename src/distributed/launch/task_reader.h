#pragma once

// The batches of a trainer: those of the tasks that it takes from the master, ahead of time.

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
// "batches 12 to 27", of a task.
std::string described(const BatchRange& range);
// The tasks of an epoch over so many batches.
std::vector<std::string> tasks_of(std::int64_t batches, std::int64_t task_batches);

// A task's batches are those of the epoch that a single process would have, whatever cuts them: the
// same for every reader of the same data, and each time. A task whose data are wrong is given back,
// and others are gone on with.
class TaskReader {
 public:
  struct Read {
    data::Batch batch;
    std::uint32_t task = 0, epoch = 0, number = 0;  // the batch within its task
    bool last = false;                              // of its task
    std::uint32_t rollbacks = 0;                    // as Taken
    std::int64_t place = 0;                         // among the batches of all epochs, from 0
  };

  // Told of a task that was given back since a batch of it could not be read, and why; some batches
  // of it may have been read before.
  using Bad = std::function<void(const Task& task, const std::string& why)>;
  // Told of a task that this trainer has, or has ended, and which is handed out again all the same:
  // TaskClient::on_lost.
  using Lost = std::function<void(const Task& task)>;
  // All must outlive the reader.
  TaskReader(TaskClient& client, const data::Batches& batches, Bad bad = {}, Lost lost = {});
  ~TaskReader();
  TaskReader(const TaskReader&) = delete;
  TaskReader& operator=(const TaskReader&) = delete;

  // The next batch; nothing if there is none at the moment. Errors: as TaskClient; io, of the data.
  std::optional<Read> next();
  // The one after it, which next() will give; nullptr if there is none at the moment, or next() is
  // to find out. It may be of the next task, and is taken from the master then; but not if somebody
  // has had that task before, who may have died of it: then it has to be this trainer's first one.
  // Until the next call.
  const Read* peek();
  // The trainer ends by what has become of the last batch: its task has ended badly, all others are
  // handed out again. Whether some task of the job is done, so that it is not the job that is
  // wrong.
  bool give_back(const std::string& why);
  // All that was read has been learned: tells the master of the tasks that are through.
  void finish();
  // The job has gone back to a checkpoint so often: tasks of before are nobody's any more.
  void forget_before(std::uint32_t rollbacks);
  // The trainer leaves: what is not finished is handed out again. `most`: as TaskClient::release.
  void leave(std::optional<Milliseconds> most = {});
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
  std::uint32_t rollbacks_ = 0;  // of those that are through
  std::int64_t numbered_ = -1;   // the epoch of epoch_
  std::optional<data::NumberedBatches> epoch_;
  bool all_done_ = false;
};

}  // namespace trireme::distributed
