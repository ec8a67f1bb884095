#pragma once

// Serves a Store by the part of etcd's interface that EtcdStore speaks, so that the processes of a
// local job need no etcd beside them. It keeps nothing on disk: it lives as long as the job.

#include <memory>
#include <string>

#include "distributed/coordination/security.h"
#include "distributed/coordination/store.h"

namespace trireme::distributed {

struct EtcdServerOptions {
  std::string address = "127.0.0.1:0";  // port 0: any that is free
  Security security = {};
};

class EtcdServer {
 public:
  // The store outlives the server. Errors: io, if the address cannot be had.
  EtcdServer(Store& store, const EtcdServerOptions& options);
  ~EtcdServer();  // streams that are open are ended
  int port() const;
  std::int64_t refused() const;  // callers without the token

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::distributed
