// What is not sent in clear to other machines, and lines of the log that anybody could cause.

#include "distributed/coordination/security.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/error.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/coordination/handshakes.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/job/job_address.h"

namespace trireme::distributed {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string refused(const std::string& addresses, const Security& security) {
  return error_of(ErrorKind::usage,
                  [&] { connect_etcd({.address = addresses, .security = security}); });
}

// Fault 21: `trireme job --store HOST:PORT` sent the token of the job to any host.
TEST(StoreSecurity, NoTokenIsSentInClearToAnotherMachine) {
  for (const char* addresses : {"10.0.0.1:2379", "store.example:2379", "[2001:db8::1]:2379",
                                "127.0.0.1.example:2379", "127.0.0.1:2379,10.0.0.1:2379"}) {
    EXPECT_THAT(refused(addresses, {.token = "secret"}),
                AllOf(HasSubstr("is not sent there in clear"), Not(HasSubstr("secret"))))
        << addresses;
    EXPECT_THAT(refused(addresses, {}), HasSubstr("both sides need certificates there"));
  }
  ::setenv("TRIREME_JOB_TOKEN", "secret", 1);
  EXPECT_THAT(
      error_of(ErrorKind::usage, [] { open_store({.store = "10.0.0.1:2379"}, Milliseconds(100)); }),
      HasSubstr("is not sent there in clear"));
  ::unsetenv("TRIREME_JOB_TOKEN");
}

TEST(StoreSecurity, LoopbackNeedsNoCertificates) {
  EXPECT_NE(connect_etcd({.address = "127.0.0.1:1,127.0.0.2:1"}), nullptr);
  EXPECT_NE(connect_etcd({.address = "localhost:1", .security = {.token = "t"}}), nullptr);
  EXPECT_THAT(refused("127.0.0.1:1", {.key = "k"}), HasSubstr("all required"));
}

TEST(StoreSecurity, AServerIsNotOpenToOtherMachines) {
  const auto store = make_memory_store();
  const auto serve = [&](const std::string& address, const Security& security) {
    return error_of(ErrorKind::usage, [&] {
      EtcdServer(*store, EtcdServerOptions{.address = address, .security = security});
    });
  };
  EXPECT_THAT(serve("0.0.0.0:0", {.token = "t"}), HasSubstr("need certificates"));
  EXPECT_THAT(serve("127.0.0.1:0", {}), HasSubstr("needs the job's token"));
}

// Each failed handshake was a line in the log, and anybody can make handshakes fail.
TEST(LineLimit, OneLineInEachInterval) {
  LineLimit limit(std::chrono::seconds(10));
  const LineLimit::Clock::time_point start{};
  EXPECT_EQ(limit.due(start), 0u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(limit.due(start + std::chrono::seconds(i)), std::nullopt);
  EXPECT_EQ(limit.due(start + std::chrono::seconds(10)), 5u);
  EXPECT_EQ(limit.due(start + std::chrono::seconds(19)), std::nullopt);
  EXPECT_EQ(limit.due(start + std::chrono::seconds(40)), 1u);
}

}  // namespace
}  // namespace trireme::distributed
