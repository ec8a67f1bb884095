#pragma once

// How a launcher executes orders to its running job (job_keys.h): scale, and stop. Each of several
// launchers handles its share.

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "distributed/job/job_orders.h"
#include "distributed/launch/supervisor.h"

namespace trireme::distributed {

// The share of `processes` processes of a role for the launcher of that rank.
inline int share_of(int rank, int world, int processes) {
  return processes / world + (rank < processes % world ? 1 : 0);
}

struct ScaleControllerOptions {
  std::string prefix;  // of the keys of the job
  Wanted wanted;       // initial numbers of the whole job
  // Allowed numbers of trainers. Unset: any number, and all wanted trainers must live.
  std::optional<Limits> limits = {};
  int rank = 0, world = 1;  // of launchers
  std::function<void(const std::string&)> say = {};
};

// For one thread.
class ScaleController {
 public:
  // Rank 0 writes the initial numbers. The store and the supervisor outlive the object. Errors: as
  // Store.
  ScaleController(Store& store, ScaleControllerOptions options, Supervisor& children);
  ScaleController(const ScaleController&) = delete;
  ScaleController& operator=(const ScaleController&) = delete;

  // Starts and ends processes when the wanted numbers change, or a server is drained.
  void poll();
  // The wanted numbers now.
  Wanted wanted() const { return wanted_; }
  // Places of parameter servers: servers that must end have theirs until they are drained.
  int places() const { return places_; }
  // Whether the job continues with this number of trainers when no others can be started.
  bool enough(int trainers) const;
  // The orders as last read: whether, since when and how the job must end.
  OrdersState orders() const { return orders_->state(); }
  // For rank 0: publishes the result, and leaves a moment to read it.
  void stopped(const StopReport& report);

 private:
  void scale(const Wanted& wanted);
  void scale_trainers(int share);
  int share_of(int processes) const;
  void end_drained(const std::vector<Entry>& drained);
  void check_stop(const OrdersState& orders);
  void forget(const Entry& order);
  void say(const std::string& text) const;

  Store& store_;
  const ScaleControllerOptions options_;
  Supervisor& children_;
  Wanted wanted_;
  int places_;
  std::int64_t seen_ = 0;                                    // revision of the last wanted numbers
  bool stopping_ = false;                                    // there is an order to stop
  std::chrono::steady_clock::time_point next_drained_ = {};  // time of the next look at them
  // Orders to end a drained server that were executed: their keys and revisions.
  std::set<std::pair<std::string, std::int64_t>> ended_;
  std::optional<JobOrders> orders_;
};

}  // namespace trireme::distributed
