#pragma once

// Hands the tasks of a job out to its trainers, epoch by epoch. Several masters may run: one leads,
// the others stand by and take over when its lease ends. All that a leader knows is in the Store.
//
// While the store does not answer a leader goes on, on trust: nobody can be elected by a store that
// is away, and if it is away from this master alone, trainers do not believe it (task_client.h). It
// writes what it has done when the store answers again, if nobody has followed it. If its lease has
// ended there meanwhile, and nobody else has led, it leads again, and knows what it knew: those
// that did not lead let it be the first.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "distributed/coordination/election.h"
#include "distributed/master/pace.h"
#include "distributed/master/task_queue.h"
#include "distributed/transport/frame_server.h"

namespace trireme::distributed {

struct MasterOptions {
  std::string prefix;  // of the job's keys, "job/"
  // Of this process, which no other one has or had: whoever knows that it has ended says so by
  // Membership::forget("master", name), and the next one need not wait for its lease. Empty: nobody
  // can.
  std::string name = {};
  FrameServerOptions server = {};  // where trainers ask
  std::string host = "127.0.0.1";  // by which they reach it; the port is the server's
  std::int64_t epochs = 1;
  // The tasks of an epoch, counted from 1: the same ones whoever asks. Called by a thread of the
  // master.
  std::function<std::vector<std::string>(std::int64_t epoch)> tasks;
  std::int64_t lease = 5;  // seconds
  int poison = 3;          // these as in TaskQueueOptions
  Milliseconds least{10000};
  double factor = 5;
  // Whether all_over() is told to trainers only after conclude(): when what was learned has been
  // saved.
  bool hold = false;
  std::function<std::string(const Task&)> describe = {};  // as in TaskQueueOptions
  std::function<void(const std::string&)> say = {};       // what happens, for people
};

// By which whoever leads gives orders: see Election.
struct Leadership {
  std::uint64_t epoch = 0;
  Condition guard;
};

// Where its parts are: the leader's address under `prefix` "master", tasks under "task/", and, when
// all epochs are over, "done".
class Master {
 public:
  // The store outlives the master; where it does not answer, those who ask the master wait for as
  // long as it takes to tell so, once: 2 s is a good limit. Trainers are the members "trainer" of
  // Membership(store, prefix): what those that are gone had is handed out again. Errors: usage; io,
  // if the address cannot be had.
  Master(Store& store, MasterOptions options);
  // Resigns, if it leads.
  ~Master();
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  std::string address() const;
  bool leads() const;
  bool finished() const;                     // all epochs are over, as far as this master knows
  std::optional<TaskCounts> counts() const;  // of a leader
  // All tasks of an epoch have failed, so the job cannot go on: why. No other epoch begins.
  std::optional<std::string> hopeless() const;
  std::int64_t epoch() const;  // of a leader; else 0
  std::optional<Leadership> leadership() const;
  std::int64_t trainers() const;  // there are, as a leader saw last; 1 at least
  TransportStatistics transport() const { return server_->statistics(); }

  // --- Of a leader; each does nothing, and returns nothing or false, where another one leads
  // Until go_on() it hands out no tasks: none at all, or none that are not begun, as a checkpoint
  // wants it. With `hold` it begins with none.
  void pause();
  void drain();
  // `rollbacks` goes with all tasks: JobView.
  void go_on(std::uint32_t rollbacks);
  // The queue, if nothing of it is pending or begun, and the store has it.
  std::optional<QueueState> state_at_rest() const;
  // Puts it back; epoch 0: to the beginning. Errors: as TaskQueue::restore, but for Deposed.
  bool restore(const QueueState& state);
  // Tasks of the epoch that are done. Whoever still learns of one has not heard so.
  struct Done {
    std::int64_t epoch = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> tasks;
    bool operator==(const Done&) const = default;
  };
  std::optional<Done> done() const;
  bool all_over() const;  // all tasks of the last epoch, and conclude() is waited for
  void conclude();        // see MasterOptions::hold
  bool concluded() const;

 private:
  void run();
  void be_known(const LeaseKeeper& lease);
  void lead(const Leader& leader, const LeaseKeeper& lease);
  void begin_lead(const Leader& leader, const LeaseKeeper& lease);
  bool goes_on(const Leader& leader, const Condition& guard);
  bool gives_way() const;
  bool look_again();
  void look();  // what time has changed; with the mutex
  void look_at_epochs();
  bool begin_next();
  bool on_trust() const;
  Frame sign(Frame frame) const;
  void read_queue(const Condition& guard);
  void wait_for_members();
  void lose_gone();
  void tell_bad(const BadTask& task) const;
  void answer(Frame request, Answer& answer);
  Frame take(const Frame& request);
  Frame end(const Frame& request, bool well);
  Frame release(const Frame& request);
  void pace(const Frame& request, Answer& answer);
  void let_go();  // who waits for slower ones and need not any longer
  void end_lead();
  bool wait(Milliseconds most);  // whether to go on

  Store& store_;
  const MasterOptions options_;
  Election election_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false, finished_ = false, over_ = false, concluded_ = false;
  std::optional<TaskQueue> queue_;      // while it leads
  const LeaseKeeper* lease_ = nullptr;  // with it
  // What it knew when it ceased to lead. It holds as long as the key "led" has the epoch since
  // which it knew that.
  std::optional<TaskQueue> former_;
  std::int64_t known_since_ = 0;  // of the queue, or the former one
  bool was_away_ = false;         // the store, since it was asked last
  TaskQueue::Clock::time_point gives_way_until_ = {};
  std::optional<std::string> hopeless_;
  struct Waiting {
    PaceRequest request;
    TaskQueue::Clock::time_point until;
    Answer answer;
  };
  Pace pace_;                     // with the queue
  bool work_changed_ = true;      // since the pace was told who has work
  std::vector<Waiting> waiting_;  // for slower ones; one for each name at most
  Leadership leadership_;         // with it
  enum class Hands { all, begun, none } hands_ = Hands::all;  // out
  std::uint32_t rollbacks_ = 0;
  std::int64_t members_ = 1;                  // trainers there are
  TaskQueue::Clock::time_point looked_ = {};  // for members
  std::optional<FrameServer> server_;
  std::thread thread_;
};

}  // namespace trireme::distributed
