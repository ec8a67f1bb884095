#pragma once

// How the launchers of a job find each other. The launcher of rank 0 serves the store of the job,
// unless etcd is the store. The others find it by its address, or by a file in a shared folder.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/coordination/store.h"
#include "distributed/placement/address.h"
#include "distributed/placement/environment.h"

namespace trireme::distributed {

struct BootstrapOptions {
  Placement placement = {};
  OwnAddress own = {};
  bool interface_chosen = false;  // `own` is not just the default
  std::string name = "job";       // of the job, for people who look into etcd
  std::string id = {};  // unique among jobs of that name; empty: from the placement, or random
  std::string credentials = {};       // folder: see authority.h
  std::string etcd = {};              // addresses
  std::string etcd_credentials = {};  // folder
  Milliseconds patience{120000};      // time to wait for rank 0
  std::function<bool()> stop = {};    // called while waiting: whether to give up
};

class Bootstrap {
 public:
  // Serves the store, or waits for rank 0. Errors: usage for options that are unsafe or contradict
  // each other; io if rank 0 does not start in time, or an address is not available; Unavailable.
  explicit Bootstrap(const BootstrapOptions& options);
  // Rank 0 removes its file and the keys of the job from etcd.
  ~Bootstrap();
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;

  Store& store() const { return *store_; }
  // For the processes of the job.
  const std::string& address() const { return address_; }          // of the store
  const std::string& prefix() const { return prefix_; }            // of the job's keys
  const std::string& token() const { return token_; }              // empty with certificates
  const std::string& credentials() const { return credentials_; }  // a folder; empty: none
  const std::string& etcd_credentials() const { return etcd_credentials_; }
  bool etcd() const { return !options_.etcd.empty(); }
  // Callers without the token that the store refused, if it is served here.
  std::int64_t unauthenticated_peers() const { return server_ ? server_->refused() : 0; }

 private:
  bool first() const { return options_.placement.rank == 0; }
  void check() const;
  void secure();
  void serve();
  void serve_own();
  void tell();
  void begin_in_etcd();
  void find();
  bool find_once(std::string& why);
  std::unique_ptr<Store> connect() const;
  bool published_all() const;  // whether the others know everything except the folder

  const BootstrapOptions options_;
  std::string id_, address_, prefix_, token_, credentials_, etcd_credentials_;
  std::string folder_, file_;    // `file_` has our address for the others
  std::string own_credentials_;  // a folder for this process only
  Security security_, etcd_security_;
  std::unique_ptr<Store> store_;
  std::optional<EtcdServer> server_;
};

// A key that rank 0 writes when it is ready.
inline std::string arrival_key(const std::string& prefix) {
  return place_key(prefix, "launcher", 0);
}

// The security for etcd at these addresses. Errors: usage if they are on another machine and there
// are no certificates.
Security etcd_security(const std::string& addresses, const std::string& folder);

}  // namespace trireme::distributed
