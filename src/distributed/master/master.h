#pragma once

// Hands out the tasks of a job to its trainers, epoch by epoch. Several masters may run: one leads,
// the others are standbys and take over when its lease expires. The Store has the whole state of
// the leader.
//
// While the store does not answer, a leader continues provisionally. A store that is unavailable
// cannot elect another leader. If it is unavailable to this master only, trainers do not accept its
// answers (task_client.h). It writes its changes when the store answers again, unless another
// master has led. If its lease expired meanwhile and no other master has led, it leads again with
// its state: the standbys let it go first.

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "distributed/coordination/election.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/master/pace.h"
#include "distributed/master/task_queue.h"
#include "distributed/transport/frame_server.h"

namespace trireme::distributed {

struct MasterOptions {
  std::string prefix;  // of the keys of the job, "job/"
  // The entry of this process; the master adds its role and its address. A process that knows of
  // its end calls ProcessRegistry::forget("master", name), so that the next leader need not wait
  // for the lease. Without a name it is not registered.
  ProcessEntry process = {};
  FrameServerOptions server = {};  // for requests of trainers
  std::string host = "127.0.0.1";  // where trainers reach it; the port is that of the server
  std::int64_t epochs = 1;
  // Returns the tasks of an epoch, counted from 1; always the same ones. A thread of the master
  // calls it.
  std::function<std::vector<std::string>(std::int64_t epoch)> tasks;
  std::int64_t lease = 5;  // seconds
  int poison = 3;          // these as in TaskQueueOptions
  Milliseconds min_timeout{10000};
  double factor = 5;
  // Whether trainers learn of all_over() only after conclude(), when the result has been saved.
  bool hold = false;
  std::function<std::string(const Task&)> describe = {};  // as in TaskQueueOptions
  std::function<void(const std::string&)> say = {};       // receives events, for people
};

// Guards the orders of the leader: see Election.
struct Leadership {
  std::uint64_t epoch = 0;
  Condition guard;
};

// Its keys: the address of the leader under `prefix` "master", tasks under "task/", and, when all
// epochs are over, "done".
class Master {
 public:
  // The store outlives the master. Requests wait until a store that does not answer has failed
  // once: 2 s is a good limit. Trainers are those of ProcessRegistry(store, prefix);
  // tasks of lost ones are handed out again. Errors: usage; io if the address is not available.
  Master(Store& store, MasterOptions options);
  // Resigns if it leads.
  ~Master();
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  std::string address() const;
  bool leads() const;
  bool finished() const;                     // all epochs are over, to the knowledge of this master
  std::optional<TaskCounts> counts() const;  // of a leader
  // Writes a key of the leader, on its lease. Does nothing for another master. Errors: Unavailable.
  void publish(const std::string& key, const std::string& value);
  // Rethrows an error that no other attempt of this master can fix, such as keys of the job that
  // are not valid. It neither leads nor stands by any more.
  void check() const;
  // Returns why the job cannot continue, if all tasks of an epoch failed. No other epoch begins.
  std::optional<std::string> hopeless() const;
  std::int64_t epoch() const;  // of a leader; else 0
  std::optional<Leadership> leadership() const;
  std::int64_t trainers() const;  // as the leader read last; at least 1
  TransportStatistics transport() const { return server_->statistics(); }

  // --- For a leader. If another master leads, these do nothing and return nothing or false.
  // Until go_on() it hands out no tasks, or only tasks that were handed out before, as a checkpoint
  // needs. With `hold` it starts without any.
  void pause();
  void drain();
  // `rollbacks` is sent with all tasks: JobView.
  void go_on(std::uint32_t rollbacks);
  // Returns the queue if no task is pending or begun, and the store has all changes.
  std::optional<QueueState> state_at_rest() const;
  // Restores it; epoch 0: to the start. Errors: as TaskQueue::restore, except Deposed.
  bool restore(const QueueState& state);
  // Completed tasks of the epoch. A trainer that still trains one does not know yet.
  struct Done {
    std::int64_t epoch = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> tasks;
    bool operator==(const Done&) const = default;
  };
  std::optional<Done> done() const;
  bool all_over() const;  // all tasks of the last epoch; it waits for conclude()
  void conclude();        // see MasterOptions::hold
  bool concluded() const;

 private:
  void run();
  void fail();
  void report_trouble(const std::string& why);
  void be_known(const LeaseKeeper& lease);
  void lead(const Leader& leader, const LeaseKeeper& lease);
  void begin_lead(const Leader& leader, const LeaseKeeper& lease);
  bool goes_on(const Leader& leader, const Condition& guard);
  bool gives_way() const;
  bool poll_again();
  void poll();  // applies changes by time; the caller holds the mutex
  void check_epochs();
  bool begin_next();
  bool store_unreachable() const;
  Frame sign(Frame frame) const;
  void read_queue(const Condition& guard);
  void wait_for_members();
  void lose_gone();
  void report_bad(const BadTask& task) const;
  void answer(Frame request, Answer& answer);
  Frame take(const Frame& request);
  Frame end(const Frame& request, bool well);
  Frame release(const Frame& request);
  void pace(const Frame& request, Answer& answer);
  void let_go();  // answers trainers that need not wait any longer
  void end_lead();
  bool wait(Milliseconds timeout);  // whether to continue

  Store& store_;
  const MasterOptions options_;
  Election election_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false, finished_ = false, over_ = false, concluded_ = false;
  std::optional<TaskQueue> queue_;      // while it leads
  const LeaseKeeper* lease_ = nullptr;  // while it leads
  // Its state when it stopped leading. It is valid while the key "led" has the epoch of that state.
  std::optional<TaskQueue> former_;
  std::int64_t known_since_ = 0;  // the epoch of the queue, or of the former one
  bool was_away_ = false;         // the store was unavailable since it was last used
  TaskQueue::Clock::time_point gives_way_until_ = {};
  std::optional<std::string> hopeless_;
  std::exception_ptr failure_;  // as check()
  std::string trouble_;         // the last reported problem; of the thread
  struct Waiting {
    PaceRequest request;
    TaskQueue::Clock::time_point until;
    Answer answer;
  };
  Pace pace_;                     // exists with the queue
  bool work_changed_ = true;      // since the pace last received the working trainers
  std::vector<Waiting> waiting_;  // for slower trainers; at most one for each name
  Leadership leadership_;         // while it leads
  enum class Hands { all, begun, none } hands_ = Hands::all;  // out
  std::uint32_t rollbacks_ = 0;
  std::int64_t members_ = 1;                  // number of trainers
  TaskQueue::Clock::time_point polled_ = {};  // time of the last read of members
  std::optional<FrameServer> server_;
  std::thread thread_;
};

}  // namespace trireme::distributed
