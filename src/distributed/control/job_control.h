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
  // The addresses of `count` servers by place; nothing if a place is empty.
  std::optional<std::vector<std::string>> servers(int count);
  int wanted_servers();
  bool gone(std::size_t place, const std::string& address);
  std::vector<std::string> trainers();
  void roll_back(const std::vector<std::string>& addresses);
  bool load(std::int64_t checkpoint, const JobSnapshot& snapshot);
  void begin_generation(const std::vector<std::string>& members, int known);
  void regroup(const std::vector<std::string>& members);
  bool reshard();
  void change_servers(int servers);
  void report_moves(int servers);
  void intend(const std::string& what);
  void move(const SlotMove& move);
  void publish_map(const SlotMap& map, std::vector<Action> more, int known);
  void publish(std::vector<Action> more = {});
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
  Mover mover_;
  Publisher publisher_;
  JobView view_;
  bool placed_ = false;
  bool ticks_published_ = false;                     // to all servers
  std::optional<Master::Done> completed_published_;  // likewise
  Clock::time_point done_at_ = {};                   // its time
  int saved_ = 0;                                    // checkpoints by this leader
  std::optional<SlotsMoving> moving_;
};

}  // namespace trireme::distributed
