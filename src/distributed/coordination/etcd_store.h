#pragma once

// A Store that is etcd, or Trireme's own server of the same interface (etcd_server.h).

#include <memory>
#include <string>

#include "distributed/coordination/security.h"
#include "distributed/coordination/store.h"

namespace trireme::distributed {

struct EtcdOptions {
  std::string address = "127.0.0.1:2379";  // several, with commas between: members of one cluster
  Milliseconds timeout{5000};              // of every call
  Security security = {};                  // the token is for Trireme's own server
};

// Does not wait for the server. A server that comes back is found again within 2 seconds. Errors of
// all calls: Unavailable; io, where the server refuses the caller.
std::unique_ptr<Store> connect_etcd(const EtcdOptions& options);

}  // namespace trireme::distributed
