#pragma once

// Executes faults on the processes, connections and files of a run, and undoes temporary ones.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "clock.h"
#include "disk.h"
#include "exits.h"
#include "faults.h"
#include "keys.h"
#include "links.h"
#include "network.h"
#include "unauthenticated_peers.h"

namespace trireme::chaos {

// The parts of a run; faults are possible for those that are set. All outlive the havoc.
struct Parts {
  // The processes of a role, by name.
  std::function<std::map<std::string, pid_t>(const std::string& role)> processes;
  Exits& exits;
  Disk& disk;
  Clock& clock;
  // Silences the store, or ends that.
  std::function<void(bool silent)> silence_store = {};
  // Changes the wanted number of trainers or servers by `amount`. Returns a description; empty if
  // that is impossible now.
  std::function<std::string(Fault what, double amount)> scale = {};
  // A process that unauthenticated_peers can call, and the credentials of the job.
  std::function<FindTarget(std::uint32_t which)> target = {};
  std::function<distributed::Security()> security = {};
  Keys* keys = nullptr;
  LeaderWatch* leaders = nullptr;
  Links* links = nullptr;
  Network* network = nullptr;
};

class Havoc {
 public:
  using Time = std::chrono::steady_clock;
  Havoc(Parts parts, std::function<void(const std::string&)> say)
      : parts_(std::move(parts)), say_(std::move(say)) {}

  // Returns false if nothing can be hit at the moment. Describes it to say().
  bool happen(const Event& event);
  // Ends temporary faults that are due.
  void poll();
  // The same for visits in progress; waits for them.
  void end_visits();
  bool lasts() const { return !lasting_.empty() || unauthenticated_peers_.busy(); }
  bool lasts(Fault fault) const;
  std::map<std::string, pid_t> processes(const std::string& role) const {
    return parts_.processes(role);
  }
  // The last killed process.
  const std::string& killed() const { return killed_; }
  // It was the leader.
  bool killed_leader() const { return killed_leader_; }
  // When etcd last came back.
  std::optional<Time::time_point> etcd_back() const { return etcd_back_; }

  struct Counts {
    // How often a stopped leader continued when another one led already.
    int two_masters = 0;
    int visits = 0,
        compared = 0;        // of unauthenticated_peers; those whose counters could be compared
    std::string wrong = {};  // mistakes of targets
  };
  const Counts& counts() const { return counts_; }

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
  bool leads(const std::string& name) const;
  bool kill(const char* role, const Event& event);
  void kill(const Event& event, const Chosen& chosen);
  bool kill_all(const char* role, const Event& event);
  bool stop(const char* role, const Event& event);
  bool stopped(pid_t process) const;  // also by another event
  bool strain(const Event& event);
  bool strain_wire(const Event& event);
  bool damage(Disk::Damage how, const Event& event);
  bool restart_etcd(const Event& event);
  bool scale(const Event& event);
  bool send_unauthenticated_peers(const Event& event);
  void check_unauthenticated_peers(bool wait);
  void jump(const Event& event);
  void last(const Event& event, double seconds, std::function<void()> undo);

  const Parts parts_;
  const std::function<void(const std::string&)> say_;
  std::vector<Lasting> lasting_;
  Strangers unauthenticated_peers_;
  Counts counts_;
  std::string killed_;
  bool killed_leader_ = false;
  std::optional<Time::time_point> etcd_back_;
};

}  // namespace trireme::chaos
