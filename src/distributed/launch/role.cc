#include "distributed/launch/role.h"

#include <cstdlib>
#include <thread>

#include "distributed/coordination/etcd_store.h"
#include "distributed/placement/authority.h"
#include "distributed/placement/bootstrap.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kRoleTimeout{120000};
constexpr Milliseconds kRolePoll{200};

}  // namespace

void secure(RoleOptions& options, const RoleAccess& access, const std::string& role) {
  if (!access.credentials.empty()) {
    options.security = read_credentials(access.credentials, seconds_since_1970(), role);
  } else if (const char* token = std::getenv("TRIREME_JOB_TOKEN")) {
    options.security.token = token;
  }
  if (access.etcd.empty()) {
    options.store = access.store;
    options.store_security = options.security;
  } else {
    options.store = access.etcd;
    options.store_security = etcd_security(access.etcd, access.etcd_credentials);
  }
}

std::string own_ip(const RoleOptions& options) {
  const std::string& host = options.host;
  return host.starts_with("[") ? host.substr(1, host.size() - 2) : host;
}

std::unique_ptr<Store> open_store(const RoleOptions& options, Milliseconds answer) {
  std::unique_ptr<Store> store = connect_etcd(
      {.address = options.store, .timeout = answer, .security = options.store_security});
  const Deadline until = in(kRoleTimeout);
  for (;;) {
    try {
      store->commit({});
      return store;
    } catch (const Unavailable&) {
      if (std::chrono::steady_clock::now() >= until || (options.stop && options.stop())) throw;
    }
    std::this_thread::sleep_for(kRolePoll);
  }
}

ProcessMonitorOptions monitor_of(const RoleOptions& options, const std::string& role) {
  return {.job = options.job_name.empty() ? options.prefix : options.job_name,
          .role = role,
          .name = options.name,
          .host = options.metrics_host,
          .port = options.metrics_port};
}

}  // namespace trireme::distributed
