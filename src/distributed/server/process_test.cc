// Servers as processes that are killed, stopped and started again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "distributed/server/testing/cluster.h"
#include "distributed/server/testing/server_process.h"

namespace trireme::distributed {
namespace {

class ServerProcesses : public ::testing::Test {
 protected:
  ServerProcesses() {
    for (int place = 0; place < 2; ++place) {
      servers_.push_back(std::make_unique<testing::ServerProcess>(place, 2));
      view_.addresses.push_back(servers_.back()->address());
    }
    view_.map = SlotMap::balanced(2);
    for (std::size_t i = 0; i < ids_.size(); ++i) ids_[i] = i;
  }
  ClientOptions options() {
    return {.view = [this] { return view_; },
            .security = kTestSecurity,
            .sender = 1,
            .deadline = Milliseconds(120000),
            .attempt = Milliseconds(500)};
  }
  void push_to_all(ParameterClient& client) {
    client.push(0, ids_, std::vector<float>(2 * ids_.size(), -1).data(), {.rate = 1});
  }
  // The counts of the ids of each server; all servers have the same.
  std::vector<float> counts(ParameterClient& client) {
    std::vector<float> rows(2 * ids_.size()), result(2, -1);
    client.lookup(0, ids_, rows.data(), Create::no);
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      float& count = result[static_cast<std::size_t>(view_.map.owner(slot_of(ids_[i])))];
      if (count < 0) count = rows[2 * i];
      EXPECT_EQ(count, rows[2 * i]);
    }
    return result;
  }

  std::vector<std::unique_ptr<testing::ServerProcess>> servers_;
  ServerView view_;
  Network network_;
  std::vector<Id> ids_ = std::vector<Id>(200);
};

TEST_F(ServerProcesses, AKilledServerComesBackWithinSecondsAndTheOtherHasLostNothing) {
  ParameterClient client(network_, options());
  client.declare(0, count_table());
  push_to_all(client);
  push_to_all(client);
  servers_[1]->kill();
  Underway push = client.start_push(0, ids_, std::vector<float>(400, -1).data(), {.rate = 1});
  std::thread restart([&] { servers_[1]->restart(); });
  const auto begin = std::chrono::steady_clock::now();
  push.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  restart.join();
  EXPECT_EQ(counts(client), (std::vector<float>{3, 1}));  // the second one had nothing on disk
}

TEST_F(ServerProcesses, AStoppedServerDelaysAndLosesNothing) {
  ParameterClient client(network_, options());
  client.declare(0, count_table());
  push_to_all(client);
  servers_[0]->pause();
  std::thread later([&] {
    std::this_thread::sleep_for(Milliseconds(2500));  // much longer than an attempt
    servers_[0]->go_on();
  });
  push_to_all(client);
  later.join();
  EXPECT_EQ(counts(client), (std::vector<float>{2, 2}));
  EXPECT_EQ(client.statistics().again, 0u) << "its stream lives, so it has the request";
}

}  // namespace
}  // namespace trireme::distributed
