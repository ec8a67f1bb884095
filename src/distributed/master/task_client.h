#pragma once

// The requests of a trainer to the current leader.
//
// A leader without the store continues provisionally. The client accepts its answers only while the
// store does not answer here either: only the store can name another leader, so no trainer works
// for two leaders. The client repeats requests that the old leader did not write to the new leader.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distributed/coordination/async_store_read.h"
#include "distributed/coordination/election.h"
#include "distributed/master/pace.h"
#include "distributed/master/protocol.h"
#include "distributed/master/task_queue.h"
#include "distributed/transport/connection.h"

namespace trireme::distributed {

struct TaskClientOptions {
  std::string prefix;  // of the keys of the job, as in the master
  std::string name;    // of this trainer among the members
  Security security = {};
  Milliseconds patience{60000};  // most time to look for a master that answers
  // Called while waiting: whether the trainer must leave. Then two seconds remain.
  std::function<bool()> stop = {};
};

struct Taken {
  std::int64_t epoch = 0;       // of all tasks
  std::vector<Task> tasks;      // none: all are handed out, ask again later
  bool all_done = false;        // no more tasks will come
  std::uint32_t rollbacks = 0;  // rollbacks of the job before they were given
};

// Not thread-safe. All calls look for the leader until it answers, for at most the patience; then
// Unavailable.
class TaskClient {
 public:
  // The store and the network outlive the client.
  TaskClient(Store& store, Network& network, TaskClientOptions options);
  ~TaskClient();

  // Takes up to `most` tasks. `held`: the tasks that this trainer has. Other tasks that the master
  // has given it, in an answer that was lost, are given again.
  Taken take(std::uint32_t max_count, const std::vector<Task>& held = {});
  // Returns how many of them still belonged to this trainer. If a request is repeated after a lost
  // answer, completed tasks do not count.
  int finish(const std::vector<Task>& tasks);
  // They ended badly; `why` is a line for people. `ends`: this trainer ends with the error.
  struct GivenBack {
    int count = 0;         // tasks that still belonged to this trainer
    bool learned = false;  // some task of the job is complete, so the job itself is not wrong
  };
  GivenBack give_back(const std::vector<Task>& tasks, const std::string& why, bool ends = false);
  // This trainer leaves: all its tasks are handed out again without counting as bad ends. Returns
  // their number. `most`: how long it looks for a master, instead of its patience.
  int release(std::optional<Milliseconds> timeout = {});
  // Whether the next step may begin, under the name of this trainer. Takes at most about half a
  // second.
  PaceAnswer pace(PaceRequest request);

  // The functions above call `lost` for tasks that were given or ended provisionally and that the
  // next leader may not know: they are handed out again, and their training may be repeated.
  void on_lost(std::function<void(const Task&)> lost) { lost_ = std::move(lost); }

 private:
  enum class Believes { all, what_is_written };
  Frame ask(Frame request, Believes believes, std::optional<Milliseconds> timeout = {});
  Frame request_of(MasterOp op, const std::vector<Task>& tasks, const std::string& why = "") const;
  Frame ask_of(MasterOp op, const std::vector<Task>& tasks, std::uint32_t max_count = 0,
               Believes believes = Believes::all);
  std::optional<Frame> ask_once(const Frame& request, Believes believes, Deadline until);
  bool connect();
  bool store_answers();
  void hear(const Frame& answer);
  void report_again();

  Network& network_;
  const TaskClientOptions options_;
  Election election_;
  AsyncStoreRead<std::optional<Leader>> leaders_;
  std::string address_;  // of the last leader in the store
  std::unique_ptr<Connection> connection_;
  Milliseconds answer_{0};           // time limit of the next answer
  bool answered_ = true;             // that leader has answered once
  std::string problem_;              // of the last attempt
  std::uint64_t leader_ = 0;         // the epoch of the state of the leader that answered last
  std::vector<Task> given_, ended_;  // provisionally, not known to be written
  std::function<void(const Task&)> lost_;
};

}  // namespace trireme::distributed
