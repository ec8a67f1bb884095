#pragma once

// How long it takes until work goes on after something has happened, where nothing else was the
// matter: then, nor until it was mended.

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
  // `members`: of an all-reduce; 0: it is none. The others outlive the object.
  Mending(Havoc& havoc, LeaderWatch& leaders, int members) : havoc_(havoc), leaders_(leaders) {
    if (members > 0) group_.emplace(members);
  }

  // Lets it happen. Whether it did.
  bool happen(const Event& event);
  // A line of a process. Whether it is about what is measured alone.
  bool hear(const std::string& name, const std::string& line);
  // Tasks were ended by a process, when it says so.
  void progress(const std::string& name, Steady::time_point when);
  void went_back() { needs_rollback_ = false; }  // the servers, to a checkpoint
  void gone(const std::string& name) { writers_.gone(name); }
  void look();
  // Seconds, by what has happened and, of some, by what mends it. What is not mended by now took at
  // least so long.
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
  std::string killed_;                  // whose progress does not count
  bool needs_rollback_ = false;         // before that progress counts
  std::optional<std::int64_t> led_by_;  // the same: another leader than the one of this epoch
  std::optional<Steady::time_point> etcd_back_;
  Steady::time_point since_ = {};
  std::map<std::string, std::vector<double>> waits_;
};

}  // namespace trireme::chaos
