// A parameter server as a process whose place is held by a lease.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/coordination/testing/cut_store.h"
#include "distributed/launch/program_work.h"
#include "distributed/launch/role.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

const std::string kPrefix = "job/";

// A server in this process.
class Serving {
 public:
  explicit Serving(const RoleOptions& options) {
    RoleOptions own = options;
    own.stop = [this] { return stop_.load(); };
    thread_ = std::thread([this, own] {
      try {
        serve(own, {});
      } catch (...) {
        thrown_ = std::current_exception();
      }
      ended_ = true;
    });
  }
  ~Serving() { end(); }
  bool ended() const { return ended_; }
  // Ends it; returns what it threw.
  std::exception_ptr end() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return thrown_;
  }

 private:
  std::atomic<bool> stop_{false}, ended_{false};
  std::exception_ptr thrown_;
  std::thread thread_;
};

class Servers : public ::testing::Test {
 protected:
  Servers() {
    cut_.loses = [this](const Transaction& transaction) {
      for (const Action& action : transaction.then) {
        const auto* put = std::get_if<Put>(&action);
        if (put != nullptr && put->key == kPrefix + "process/server/server_0")
          return lost_joins_-- > 0;
      }
      return false;
    };
    server_.emplace(cut_, EtcdServerOptions{.security = security_});
  }
  RoleOptions options(const std::string& name) const {
    RoleOptions options;
    options.name = name;
    options.prefix = kPrefix;
    options.servers = 1;
    options.store = "127.0.0.1:" + std::to_string(server_->port());
    options.security = options.store_security = security_;
    return options;
  }
  std::string address() {
    const std::vector<ProcessEntry> all = members_.list("server");
    return all.empty() ? "" : all[0].address;
  }
  bool is_there() { return !address().empty(); }

  const Security security_{.token = "open sesame"};
  TestClock clock_;
  const std::unique_ptr<Store> store_ = make_memory_store({.now = [this] { return clock_.now(); }});
  ProcessRegistry members_{*store_, kPrefix};
  CutStore cut_{*store_};  // as servers see it
  std::atomic<int> lost_joins_{0};
  std::optional<EtcdServer> server_;
};

// The lease was renewed, and the store became unavailable before the key of the member was written.
TEST_F(Servers, OneThatHasALeaseAndNoKeyWritesItYet) {
  Serving server(options("server_0"));
  ASSERT_TRUE(wait_until([&] { return is_there(); }));
  const std::string address = this->address();
  lost_joins_ = 3;
  ASSERT_TRUE(members_.forget("server", "server_0"));
  ASSERT_TRUE(wait_until([&] { return is_there(); }));
  EXPECT_LE(lost_joins_, 0);
  EXPECT_EQ(this->address(), address);
  EXPECT_EQ(server.end(), nullptr);
}

// For longer than its lease, and while a new one is granted.
TEST_F(Servers, OneOutlivesAStoreThatIsAway) {
  Serving server(options("server_0"));
  ASSERT_TRUE(wait_until([&] { return is_there(); }));
  cut_.cut = true;
  clock_.advance(std::chrono::seconds(60));  // longer than its lease
  ASSERT_TRUE(wait_until([&] { return !is_there(); }));
  std::this_thread::sleep_for(Milliseconds(500));  // some looks of the server's
  EXPECT_FALSE(server.ended());
  cut_.cut = false;
  EXPECT_TRUE(wait_until([&] { return is_there(); }));
  EXPECT_EQ(server.end(), nullptr);
}

TEST_F(Servers, OneWhosePlaceIsTakenLeaves) {
  Serving server(options("server_0"));
  ASSERT_TRUE(wait_until([&] { return is_there(); }));
  cut_.cut = true;
  clock_.advance(std::chrono::seconds(60));  // longer than its lease
  ASSERT_TRUE(wait_until([&] { return !is_there(); }));
  const LeaseKeeper lease(*store_, {});
  ASSERT_EQ(members_.claim_place("server", 1, lease, "server_1"), 0);
  members_.join({.name = "server_1", .role = "server", .place = 0, .address = "elsewhere:1"},
                lease);
  cut_.cut = false;
  ASSERT_TRUE(wait_until([&] { return server.ended(); }));
  std::string told;
  try {
    std::rethrow_exception(server.end());
  } catch (const Replaced& replaced) {
    told = replaced.what();
  }
  EXPECT_THAT(told, HasSubstr("another parameter server has taken this one's place"));
  EXPECT_EQ(address(), "elsewhere:1");
}

TEST_F(Servers, OneThatNobodyNeedsLeaves) {
  const LeaseKeeper lease(*store_, {});
  ASSERT_EQ(members_.claim_place("server", 1, lease, "server_0"), 0);
  RoleOptions options = this->options("server_1");
  options.place_timeout = Milliseconds(300);
  Serving server(options);
  ASSERT_TRUE(wait_until([&] { return server.ended(); }));
  EXPECT_THROW(std::rethrow_exception(server.end()), Replaced);
}

}  // namespace
}  // namespace trireme::distributed
