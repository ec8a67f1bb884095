#pragma once

// What the launchers of a job tell each other, by keys of the store:
//
//   launcher/2         there as long as it lives
//   launcher_state/2   how far it is: "trainers servers steps losses examples phase kind machine reason"
//   over               written by launcher 0 when the job is over: "well", or why not

#include <optional>
#include <string>
#include <vector>

#include "distributed/coordination/presence.h"
#include "distributed/launch/progress.h"
#include "distributed/placement/address.h"

namespace trireme::distributed {

struct LauncherState {
  enum class Phase : std::uint8_t {
    working,
    well,    // all its trainers have ended well
    failed,  // the job cannot go on, it says
    left,    // it was asked to end
  };
  int trainers = 0, servers = 0;  // that run
  Totals totals = {};
  Phase phase = Phase::working;
  ErrorKind kind = ErrorKind::io;  // of a failure
  std::string reason = {};
  std::string machine = machine_name();
};
std::string text_of(const LauncherState& state);
// Errors: data.
LauncherState launcher_state_of(const std::string& text);

class Roster {
 public:
  // Takes part as launcher `rank`. The store outlives it. Errors: as Store; usage, if another
  // process has that rank.
  Roster(Store& store, std::string prefix, int rank);

  // Throws if another process has the rank by now, this one having been cut off for long. Errors:
  // usage.
  void check() const { presence_.check(); }
  // How many launchers of this rank there were before.
  int earlier() const { return earlier_; }
  void tell(const LauncherState& state);

  struct Other {
    int rank = 0;
    bool alive = false;
    LauncherState state;
  };
  // All that have been there, but this one.
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
  Presence presence_;
};

}  // namespace trireme::distributed
