#pragma once

// How the leader of a job controls its parameter servers. It assigns their slots and orders
// checkpoints. When a server was replaced, all servers return to the last checkpoint. It publishes
// the members of synchronous steps.
//
// Rows age by the progress of the job, and servers remove rows that are not worth their place:
// ticks.h.
//
// Slots move between servers, a few at a time, when the number of servers changes:
// wanted_servers_key().
//
// Checkpoints are cuts through the whole job: checkpoint_coordinator.h. With some of them, tables
// are exported for serving: publisher.h.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "distributed/control/checkpoint_coordinator.h"
#include "distributed/control/job_view.h"
#include "distributed/control/mover.h"
#include "distributed/control/order_keys.h"
#include "distributed/control/orders.h"
#include "distributed/control/publisher.h"
#include "distributed/control/server_clients.h"
#include "distributed/control/ticks.h"
#include "distributed/master/master.h"

namespace trireme::distributed {

struct JobControlOptions : CheckpointCoordinatorOptions {
  int servers = 1;
  bool synchronous = false;
  Security security = {};
  int deltas = 7;                       // between two full checkpoints
  std::optional<Ageing> ageing = {};    // rows age and are removed
  std::uint64_t move_bytes = 1u << 20;  // approximate size of one move
  int move_slots = 512;                 // most slots of one move
  PublisherOptions exports = {};
  // As `saved` and `not_saved`, for exports.
  std::function<void(std::int64_t number)> exported = {};
  std::function<void()> not_exported = {};
};

// Slots in transit to other servers.
struct SlotsMoving {
  using Clock = std::chrono::steady_clock;
  explicit SlotsMoving(std::uint64_t next_bytes) : bytes(next_bytes) {}
  std::uint64_t bytes;  // of the next move
  int slots = 0, moves = 0;
  std::uint64_t rows = 0;        // in these slots
  double longest = 0, last = 0;  // seconds for which slots were refused
  Clock::time_point since = Clock::now(), next = since;
};

// One thread calls poll() repeatedly.
class JobControl {
 public:
  // All arguments outlive the object. The master has the option `hold`.
  JobControl(Store& store, Master& master, const JobControlOptions& options);

  // Does what is due now if this master leads. Unreachable servers are tried again at the next
  // call. Errors: those that no later call can fix.
  void poll();

 private:
  using Clock = std::chrono::steady_clock;
  void begin(const Leadership& leadership);
  void poll_as_leader();
  // Servers by place.
  struct Servers {
    std::vector<std::string> addresses;
    std::vector<std::int64_t> instances;
    bool operator==(const Servers&) const = default;
  };
  Servers published_servers() const { return {view_.servers.addresses, view_.instances}; }
  // The first `count` servers; nothing if a place is empty.
  std::optional<Servers> servers(int count);
  void aim(const Servers& servers, std::uint64_t epoch);
  int wanted_servers();
  bool gone(std::size_t place, const std::string& address);
  std::vector<std::string> trainers();
  void roll_back(const Servers& servers);
  SlotMap map_to_load();
  bool load(std::int64_t checkpoint, const JobSnapshot& snapshot, int servers);
  std::uint32_t next_generation();
  void begin_generation(JobView& next, const std::vector<std::string>& members, int known);
  void regroup(const std::vector<std::string>& members);
  bool reshard();
  bool finish_reshard();
  void change_servers(int servers);
  void report_moves(int servers);
  void intend(const std::string& what);
  void move(const SlotMove& move);
  void publish_map(JobView next, std::vector<Action> more, int known);
  void put(std::vector<Action> actions);
  void publish(JobView next, std::vector<Action> more = {});
  std::int64_t ticks_due() const;
  std::int64_t ticks_at(const QueueState& queue) const;
  void grow_old();
  void publish_ticks();
  void publish_completed(bool at_once = false);
  bool save(const QueueState& queue, bool over);
  void export_for_serving(std::int64_t checkpoint, const Declarations& declared);

  Store& store_;
  Master& master_;
  const JobControlOptions options_;
  Network network_;
  CheckpointCoordinator checkpoints_;
  ServerClients server_clients_;
  Servers aimed_;  // those of server_clients_
  Mover mover_;
  Publisher publisher_;
  // As the store has it. A change is made in a copy, which replaces it when it was committed: so a
  // change that fails is due again.
  JobView view_;
  std::int64_t view_revision_ = 0;  // that wrote it; 0: none
  // The highest generation that servers may have received, published or not. It is not used again
  // for other members: an order with it may still arrive.
  std::uint32_t last_generation_ = 0;
  bool placed_ = false;
  // Synchronous jobs: the servers may be in another generation than the view, for instance because
  // a leader failed before it published theirs.
  bool regroup_due_ = false;
  // The key of it exists; and servers may have slots and blocks that have moved.
  bool leftovers_noted_ = false, leftovers_ = false;
  bool ticks_published_ = false;                     // to all servers
  std::optional<Master::Done> completed_published_;  // likewise
  Clock::time_point done_at_ = {};                   // its time
  int saved_ = 0;                                    // checkpoints by this leader
  std::optional<SlotsMoving> moving_;
  bool balance_known_ = false;  // whether slots were looked at that an earlier leader did not move
};

}  // namespace trireme::distributed
