#pragma once

// What a trainer asks of the master that leads, whoever that is at the moment.
//
// A leader from which the store is away goes on, on trust. It is believed only while the store does
// not answer here either: whoever follows it is found by the store alone, so nobody works for both.
// What it has been told, and has not written yet, is told to the one that follows it, which may
// know nothing of it.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distributed/coordination/election.h"
#include "distributed/coordination/glance.h"
#include "distributed/master/pace.h"
#include "distributed/master/protocol.h"
#include "distributed/master/task_queue.h"
#include "distributed/transport/connection.h"

namespace trireme::distributed {

struct TaskClientOptions {
  std::string prefix;  // of the job's keys, as the master has it
  std::string name;    // of this trainer among the members
  Security security = {};
  Milliseconds patience{60000};  // with which it looks for a master that answers
  // Asked now and then: whether the trainer is to leave. Then it has two seconds more of that.
  std::function<bool()> stop = {};
};

struct Taken {
  std::int64_t epoch = 0;   // of all tasks
  std::vector<Task> tasks;  // none: all are handed out, ask again later
  bool all_done = false;    // there will be none any more
  std::uint32_t rollbacks =
      0;  // how often the job went back to a checkpoint before they were given
};

// Not safe for several threads at once. All calls look for the leader until it answers, for as long
// as the patience; then Unavailable.
class TaskClient {
 public:
  // The store and the network outlive the client.
  TaskClient(Store& store, Network& network, TaskClientOptions options);
  ~TaskClient();

  // As many as `most`, or fewer. `held`: what this trainer has already; whatever else the master
  // thinks that it has, since an answer was lost, it is given again.
  Taken take(std::uint32_t most, const std::vector<Task>& held = {});
  // How many of them were still this trainer's. Asked again after a lost answer, those that are
  // done do not count.
  int finish(const std::vector<Task>& tasks);
  // They ended badly; `why` is a line for people. `ends`: this trainer ends by it, too.
  struct GivenBack {
    int count = 0;         // how many were still this trainer's
    bool learned = false;  // some task of the job is done, so it is not the job that is wrong
  };
  GivenBack give_back(const std::vector<Task>& tasks, const std::string& why, bool ends = false);
  // This trainer leaves: all that it has is handed out again, and does not count as ended badly. Of
  // how many tasks. `most`: for how long it looks for a master, if not for as long as its patience.
  int release(std::optional<Milliseconds> most = {});
  // Whether the next step may begin: asked under this trainer's name. Answered within half a second
  // or so.
  PaceAnswer pace(PaceRequest request);

  // `lost` is called within the functions above for tasks that were given or ended on trust, and of
  // which the next leader may know nothing: they are handed out again, and what was learned of them
  // may be learned again.
  void on_lost(std::function<void(const Task&)> lost) { lost_ = std::move(lost); }

 private:
  enum class Believes { all, what_is_written };
  Frame ask(Frame request, Believes believes, std::optional<Milliseconds> most = {});
  Frame request_of(MasterOp op, const std::vector<Task>& tasks, const std::string& why = "") const;
  Frame ask_of(MasterOp op, const std::vector<Task>& tasks, std::uint32_t most = 0,
               Believes believes = Believes::all);
  std::optional<Frame> ask_once(const Frame& request, Believes believes, Deadline until);
  bool connect();
  bool store_answers();
  void hear(const Frame& answer);
  void tell_again();

  Network& network_;
  const TaskClientOptions options_;
  Election election_;
  Glance<std::optional<Leader>> leaders_;
  std::string address_;  // of the last leader that the store has named
  std::unique_ptr<Connection> connection_;
  Milliseconds answer_{0};  // in which the next answer is to come
  bool answered_ = true;    // that leader has, once
  std::string problem_;     // of the last attempt
  std::uint64_t leader_ =
      0;  // who has answered last, by the epoch since which it knows what it does
  std::vector<Task> given_, ended_;  // by it, on trust, and not known to be written
  std::function<void(const Task&)> lost_;
};

}  // namespace trireme::distributed
