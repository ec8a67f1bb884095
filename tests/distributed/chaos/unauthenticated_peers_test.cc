#include "unauthenticated_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "distributed/launch/role_metrics.h"
#include "distributed/monitor/http.h"
#include "distributed/placement/authority.h"
#include "distributed/transport/connection.h"

namespace trireme::chaos {
namespace {

using namespace distributed;
using ::testing::HasSubstr;

class ChaosStrangers : public ::testing::Test {
 protected:
  void start(const Security& security) {
    security_ = security;
    server_.emplace(ParameterServerOptions{.transport = {.security = security}});
    watch_server(registry_, *server_);
    http_.emplace(HttpOptions{}, monitor_pages(registry_, health_, "a server"));
  }
  Target target() const {
    return {"server_0", kParameterService, "127.0.0.1:" + std::to_string(server_->port()),
            "127.0.0.1:" + std::to_string(http_->port())};
  }
  // A process of the job gets an answer.
  bool answers() {
    Network network;
    Security security = security_;
    Connection connection(
        network, {.address = target().address, .service = kParameterService, .security = security});
    Frame frame;
    frame.header.op = static_cast<std::uint8_t>(Op::get_map);
    return connection.ask(std::move(frame), in(Milliseconds(30000))).header.code == Code::ok;
  }

  Security security_;
  std::optional<ParameterServer> server_;
  Registry registry_;
  Health health_;
  std::optional<HttpServer> http_;
};

TEST_F(ChaosStrangers, AreRefusedAndCounted) {
  start({.token = "open sesame"});
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Visit visit = chaos::visit(target(), security_, seed);
    EXPECT_EQ(visit.wrong, "") << seed << " " << visit.text;
    EXPECT_TRUE(visit.compared) << seed << " " << visit.text;
  }
  const TransportStatistics counted = server_->transport();
  EXPECT_EQ(counted.unauthenticated_peers, 8u);
  EXPECT_GE(counted.malformed, 28u);
  EXPECT_GE(counted.replayed, 8u);
  EXPECT_GE(counted.corrupt, 4u);
  EXPECT_TRUE(answers());
}

TEST_F(ChaosStrangers, WithoutACertificateOfTheJobNobodyIsHeard) {
  start(make_credentials(1, seconds_since_1970()));
  security_.name = kCertificateName;
  const Visit visit = chaos::visit(target(), security_, 1);
  EXPECT_EQ(visit.wrong, "") << visit.text;
  EXPECT_TRUE(visit.compared) << visit.text;
  EXPECT_EQ(server_->transport().unauthenticated_peers, 0u);
  EXPECT_GE(server_->transport().malformed, 7u);
  EXPECT_TRUE(answers());
}

TEST_F(ChaosStrangers, WhoIsNotCountedIsNoticed) {
  start({.token = "open sesame"});
  Registry empty;
  for (const char* name : {"unauthenticated_peers", "malformed", "replayed", "corrupt"}) {
    empty.counter("trireme_transport_" + std::string(name) + "_total", "Never any.");
  }
  const HttpServer http(HttpOptions{}, monitor_pages(empty, health_, "another"));
  Target other = target();
  other.metrics = "127.0.0.1:" + std::to_string(http.port());
  EXPECT_THAT(chaos::visit(other, security_, 1).wrong, HasSubstr("the counters do not show it"));
}

TEST_F(ChaosStrangers, WhoIsNotThereIsNotCompared) {
  start({.token = "open sesame"});
  const Target gone = target();
  server_->stop(std::chrono::steady_clock::now());
  const Visit visit = chaos::visit(gone, security_, 1);
  EXPECT_EQ(visit.wrong, "");
  EXPECT_FALSE(visit.compared);
}

}  // namespace
}  // namespace trireme::chaos
