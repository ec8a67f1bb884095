// A parameter server as a process.

#include <thread>

#include "base/error.h"
#include "distributed/coordination/membership.h"
#include "distributed/launch/role.h"
#include "distributed/server/parameter_server.h"

namespace trireme::distributed {

void run_server(const RoleOptions& options) {
  const std::unique_ptr<Store> store = open_store(options);
  const LeaseKeeper lease(*store, {.seconds = 5});
  Membership members(*store, options.prefix);
  const std::optional<int> place = members.claim_place("server", options.servers, lease);
  if (!place) fail_usage("all places of parameter servers are taken");
  ParameterServerOptions server{.transport = {.security = security_of(options)}};
  server.shard.place = *place;
  ParameterServer running(server);
  // By its place, so that whoever takes it over is the same member to others.
  members.join("server", std::to_string(*place), "127.0.0.1:" + std::to_string(running.port()),
               lease);
  while (!options.stop || !options.stop()) std::this_thread::sleep_for(Milliseconds(50));
  running.stop(in(Milliseconds(1000)));
}

}  // namespace trireme::distributed
