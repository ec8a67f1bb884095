#pragma once

// Messages between the launchers of a job, as keys of the store:
//
// - launcher/2: exists as long as it lives
// - launcher_state/2: a LauncherState
// - over: written by launcher 0 when the job is over, "well" or the reason

#include <optional>
#include <string>
#include <vector>

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
  // Takes part as launcher `rank`. The store outlives it. Errors: as Store; usage if another
  // process has that rank.
  Roster(Store& store, std::string prefix, int rank);

  // Throws if another process has the rank now, after this one was disconnected for long. Errors:
  // usage.
  void check() const { session_.check(); }
  // The number of earlier launchers of this rank.
  int earlier() const { return earlier_; }
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
  std::string key(const char* kind, int rank) const;

  Store& store_;
  const std::string prefix_;
  const int rank_;
  bool begun_ = false;
  int earlier_ = 0;
  StoreSession session_;
};

}  // namespace trireme::distributed
