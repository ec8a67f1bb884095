#pragma once

// The store of the job: in this process, or a real etcd that is killed and restarted; and its
// leader.

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "distributed/coordination/election.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/testing/etcd_process.h"

namespace trireme::chaos {

class Keys {
 public:
  // `host`: an address of this machine where it is served, unless it is a real etcd.
  Keys(bool real, const std::string& host, const distributed::Security& security);

  distributed::Store& store() { return *store_; }
  const std::string& address() const { return address_; }
  // Whether it is a real etcd.
  bool real() const { return etcd_.has_value(); }
  void kill() { etcd_->kill(); }
  void restart() { etcd_->restart(); }
  void stop() { etcd_->stop(); }
  void go_on() { etcd_->go_on(); }

 private:
  std::optional<distributed::testing::EtcdProcess> etcd_;
  std::unique_ptr<distributed::Store> store_;
  std::optional<distributed::EtcdServer> server_;
  std::string address_;
};

// Follows the leader in a separate thread, because the store may be unavailable.
class LeaderWatch {
 public:
  using Clock = std::chrono::steady_clock;
  // The store outlives the watch.
  LeaderWatch(distributed::Store& store, const std::string& key);
  ~LeaderWatch();

  struct Seen {
    std::string address;           // of the last leader
    std::int64_t epoch = 0;        // its epoch; 0: none yet
    Clock::time_point since = {};  // when it was first seen
  };
  Seen seen() const;

 private:
  void run();

  distributed::Election election_;
  mutable std::mutex mutex_;
  Seen seen_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace trireme::chaos
