#pragma once

// Serves a Store through the part of the interface of etcd that EtcdStore uses, so that a local job
// needs no etcd. It keeps nothing on disk, since it lives as long as the job.

#include <memory>
#include <string>

#include "distributed/coordination/security.h"
#include "distributed/coordination/store.h"

namespace trireme::distributed {

struct EtcdServerOptions {
  std::string address = "127.0.0.1:0";  // port 0: any free port
  Security security = {};
};

class EtcdServer {
 public:
  // The store outlives the server. Errors: usage for insufficient security: check_security(); io if
  // the address is not available.
  EtcdServer(Store& store, const EtcdServerOptions& options);
  ~EtcdServer();  // ends open streams
  int port() const;
  std::int64_t refused() const;  // callers without the token

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::distributed
