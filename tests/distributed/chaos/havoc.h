#pragma once

// Does what faults say to the processes, wires and files of a run, and undoes what lasts only a while.

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "clock.h"
#include "disk.h"
#include "distributed/launch/supervisor.h"
#include "faults.h"
#include "keys.h"
#include "links.h"
#include "network.h"

namespace trireme::chaos {

// All outlive the havoc.
struct Parts {
  distributed::Supervisor& children;
  Keys& keys;
  LeaderWatch& leaders;
  Links& links;
  Disk& disk;
  Clock& clock;
  Network& network;
};

class Havoc {
 public:
  using Time = std::chrono::steady_clock;
  Havoc(const Parts& parts, std::function<void(const std::string&)> say)
      : parts_(parts), say_(std::move(say)) {}

  // False: there is nothing to do it to at the moment. In verbose words to say().
  bool happen(const Event& event);
  // What has lasted long enough ends.
  void look();
  bool lasts() const { return !lasting_.empty(); }
  bool lasts(Fault fault) const;
  // How often a master that led was stopped and went on when another one led already.
  int two_masters() const { return two_masters_; }
  // When etcd was back the last time.
  std::optional<Time::time_point> etcd_back() const { return etcd_back_; }
  // The process that was killed last led the job.
  bool killed_leader() const { return killed_leader_; }

 private:
  struct Lasting {
    Fault fault;
    Time::time_point until;
    std::function<void()> undo;
    pid_t stopped = 0;
  };
  struct Chosen {
    std::string name;
    pid_t process;
  };
  std::optional<Chosen> one(const char* role, std::uint32_t which) const;
  bool kill(const char* role, const Event& event);
  bool stop(const char* role, const Event& event);
  bool stopped(pid_t process) const;  // by another event, too
  bool strain(const Event& event);
  bool damage(Disk::Damage how, const Event& event);
  bool restart_etcd(const Event& event);
  void jump(const Event& event);
  void last(const Event& event, double seconds, std::function<void()> undo);

  const Parts parts_;
  const std::function<void(const std::string&)> say_;
  std::vector<Lasting> lasting_;
  int two_masters_ = 0;
  bool killed_leader_ = false;
  std::optional<Time::time_point> etcd_back_;
};

}  // namespace trireme::chaos
