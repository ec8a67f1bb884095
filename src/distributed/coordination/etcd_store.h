#pragma once

// A Store in etcd, or in our server with the same interface (etcd_server.h).

#include <memory>
#include <string>

#include "distributed/coordination/security.h"
#include "distributed/coordination/store.h"

namespace trireme::distributed {

struct EtcdOptions {
  std::string address = "127.0.0.1:2379";  // separated by commas if several: members of one cluster
  Milliseconds timeout{5000};              // of every call
  Security security = {};                  // the token is for our server only
};

// Does not wait for the server. Reconnects to a restarted server within 2 seconds. Errors: usage
// for insufficient security: check_store_security(). Errors of all calls: Unavailable; io if the
// server refuses the caller.
std::unique_ptr<Store> connect_etcd(const EtcdOptions& options);

}  // namespace trireme::distributed
