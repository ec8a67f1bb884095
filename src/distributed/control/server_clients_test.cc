#include "distributed/control/server_clients.h"

#include <gmock/gmock.h>

#include "base/testing/error.h"
#include "distributed/server/testing/cluster.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

// Otherwise the leader would not look for the replacement of a server until the deadline, which is
// long for slow requests.
TEST(ServerClients, DoesNotWaitForAServerThatIsGone) {
  Network network;
  int asked = 0;
  ServerClients server_clients(network, kTestSecurity,
                               [&](std::size_t server, const std::string& address) {
                                 EXPECT_EQ(server, 1u);
                                 EXPECT_EQ(address, "127.0.0.1:1");
                                 return ++asked == 2;
                               });
  server_clients.aim({"127.0.0.1:2", "127.0.0.1:1"}, 1);
  try {
    server_clients.ask(1, order(Op::describe), Milliseconds(600000));
    FAIL() << "no process listens there";
  } catch (const Unavailable& error) {
    EXPECT_THAT(error.what(), HasSubstr("server 1 at 127.0.0.1:1 is gone"));
  }
}

}  // namespace
}  // namespace trireme::distributed
