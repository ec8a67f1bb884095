#include "distributed/launch/role.h"

#include "distributed/coordination/etcd_store.h"

namespace trireme::distributed {

std::unique_ptr<Store> open_store(const RoleOptions& options) {
  return connect_etcd({.address = options.store, .security = security_of(options)});
}

}  // namespace trireme::distributed
