#pragma once

// The time until work continues after a fault, if no other fault was active then and until it was
// mended.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "faults.h"
#include "group_watch.h"
#include "havoc.h"
#include "writers.h"

namespace trireme::chaos {

class Mending {
 public:
  using Steady = std::chrono::steady_clock;
  // `members`: of an all-reduce; 0: none. The other arguments outlive the object.
  Mending(Havoc& havoc, LeaderWatch& leaders, int members) : havoc_(havoc), leaders_(leaders) {
    if (members > 0) group_.emplace(members);
  }

  // Executes the event. Returns whether it happened.
  bool happen(const Event& event);
  // A line of a process. Returns whether it is for measurements only.
  bool hear(const std::string& name, const std::string& line);
  // A process reports that tasks ended.
  void progress(const std::string& name, Steady::time_point when);
  void went_back() { needs_rollback_ = false; }  // the servers, to a checkpoint
  void gone(const std::string& name) { writers_.gone(name); }
  void poll();
  // Seconds, by fault and, for some, by what mends it. Faults that are not mended yet took at least
  // this long.
  std::map<std::string, std::vector<double>> waits();

 private:
  void begin(const Event& event, std::int64_t epoch);
  void give_up();
  std::vector<std::string> all_processes() const;

  Havoc& havoc_;
  LeaderWatch& leaders_;
  std::optional<GroupWatch> group_;
  WriterWatch writers_;
  std::optional<std::string> waiting_;  // for progress, after this
  std::string killed_;                  // its progress does not count
  bool needs_rollback_ = false;         // before progress counts
  std::optional<std::int64_t>
      led_by_;  // before progress counts: another leader than that of this epoch
  std::optional<Steady::time_point> etcd_back_;
  Steady::time_point since_ = {};
  std::map<std::string, std::vector<double>> waits_;
};

}  // namespace trireme::chaos
