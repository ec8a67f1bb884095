#pragma once

// Messages between the launchers of a job, as keys of the store, besides the registry of processes,
// where the rank of a launcher is its place:
//
// - launcher_state/2: a LauncherState
// - over: written by launcher 0 when the job is over, "well" or the reason

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distributed/coordination/process_registry.h"
#include "distributed/coordination/store_session.h"
#include "distributed/launch/progress.h"
#include "distributed/placement/address.h"

namespace trireme::distributed {

struct LauncherState {
  enum class Phase : std::uint8_t {
    working,
    well,    // all its trainers have ended well
    failed,  // it reports that the job cannot continue
    left,    // it was ordered to end
  };
  int trainers = 0, servers = 0;  // running ones
  Totals totals = {};
  Phase phase = Phase::working;
  ErrorKind kind = ErrorKind::io;  // of a failure
  std::string reason = {};
  std::string machine = machine_name();

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("trainers", trainers);
    visit("servers", servers);
    visit("steps", totals.steps);
    visit("losses", totals.losses);
    visit("examples", totals.examples);
    visit("phase", phase);
    visit("kind", kind);
    visit("reason", reason);
    visit("machine", machine);
  }
};
std::string text_of(const LauncherState& state);
// Errors: data.
LauncherState launcher_state_of(const std::string& text);

class Roster {
 public:
  static constexpr std::int64_t kLease = 10;  // seconds
  // Takes part as launcher `rank`, on a lease of `lease` seconds. The store outlives it. Errors: as
  // Store; usage if another process has that rank.
  Roster(Store& store, std::string prefix, int rank, std::int64_t lease = kLease);

  // Throws if another process has the rank now, after this one was disconnected for long. Errors:
  // usage.
  void check() const { session_.check(); }
  // The number of earlier launchers of this rank.
  int earlier() const { return earlier_; }
  // Registers this process. Errors: as Store.
  void join(const ProcessEntry& process);
  // Writes a key as long as this launcher lives, soon and again if it was lost.
  void publish(const std::string& key, std::string value) {
    session_.publish(key, std::move(value));
  }
  void tell(const LauncherState& state);

  struct Other {
    int rank = 0;
    bool alive = false;
    LauncherState state;
  };
  // All launchers so far, except this one.
  std::vector<Other> others();
  std::optional<std::string> over();
  void set_over(const std::string& how);

 private:
  void take_place(const LeaseKeeper& lease);
  std::string state_key() const;

  Store& store_;
  ProcessRegistry registry_;
  const std::string prefix_;
  const int rank_;
  const std::int64_t lease_time_;  // seconds
  bool begun_ = false;
  int earlier_ = 0;
  StoreSession session_;
};

}  // namespace trireme::distributed
