#pragma once

// How the launchers of a job come together: the one of rank 0 serves what they agree by, or etcd
// does; the others find it by the address that they were told, or by a file in a folder that all
// see.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/store.h"
#include "distributed/placement/address.h"
#include "distributed/placement/environment.h"

namespace trireme::distributed {

struct MeetingOptions {
  Placement placement = {};
  OwnAddress own = {};
  bool interface_chosen = false;  // `own` is not just the default
  std::string name = "job";       // of the job, for people who look into etcd
  std::string id =
      {};  // what no other job of that name has; empty: as the placement says, or random
  std::string credentials = {};       // folder: see authority.h
  std::string etcd = {};              // addresses
  std::string etcd_credentials = {};  // folder
  Milliseconds patience{120000};      // for whoever is to come first
  std::function<bool()> stop = {};    // asked now and then: whether to give up
};

class Meeting {
 public:
  // Serves, or waits for rank 0. Errors: usage, for what is not safe enough or cannot be meant; io,
  // if rank 0 has not come in time, or an address cannot be had; Unavailable.
  explicit Meeting(const MeetingOptions& options);
  // Of rank 0: removes what others found it by, and the job's keys from etcd.
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  Store& store() const { return *store_; }
  // For the processes of the job.
  const std::string& address() const { return address_; }          // of the store
  const std::string& prefix() const { return prefix_; }            // of the job's keys
  const std::string& token() const { return token_; }              // empty with certificates
  const std::string& credentials() const { return credentials_; }  // a folder; empty: none
  const std::string& etcd_credentials() const { return etcd_credentials_; }
  bool etcd() const { return !options_.etcd.empty(); }
  // Callers without the token that the store has refused, if it is served here.
  std::int64_t strangers() const { return server_ ? server_->refused() : 0; }

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
  bool told_all() const;  // all that others need but the folder

  const MeetingOptions options_;
  std::string id_, address_, prefix_, token_, credentials_, etcd_credentials_;
  std::string folder_, file_;    // where `file_` tells others of us
  std::string own_credentials_;  // a folder that is ours alone
  Security security_, etcd_security_;
  std::unique_ptr<Store> store_;
  std::optional<EtcdServer> server_;
};

// A key that rank 0 writes when it is there.
inline std::string arrival_key(const std::string& prefix) { return prefix + "launcher/0"; }

// The addresses of etcd and who may ask it. Errors: usage, if they are on another machine and there
// are no certificates.
Security etcd_security(const std::string& addresses, const std::string& folder);

}  // namespace trireme::distributed
