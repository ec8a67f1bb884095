#pragma once

// For tests: some parameter servers in this process, whose network may go down while what they hold stays.

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "distributed/server/client.h"
#include "distributed/server/shard.h"
#include "distributed/table/table_test.h"
#include "distributed/transport/frame_server.h"

namespace trireme::distributed {

inline const Security kTestSecurity = {.token = "open sesame"};

class Cluster {
 public:
  explicit Cluster(int servers, const ShardOptions& options = {}) : options_(options) {
    view_.map = SlotMap::balanced(servers);
    for (int i = 0; i < servers; ++i) add();
    set_map(view_.map);
  }

  // Another server, which has no slots.
  void add() {
    ShardOptions options = options_;
    options.place = static_cast<int>(shards_.size());
    shards_.push_back(std::make_unique<Shard>(options));
    servers_.emplace_back();
    const std::lock_guard lock(mutex_);
    view_.addresses.emplace_back("127.0.0.1:0");
    open(shards_.size() - 1);
  }
  void cut_network(std::size_t i) { servers_.at(i).reset(); }
  void open_network(std::size_t i) {
    const std::lock_guard lock(mutex_);
    open(i);
  }
  // All that it held is gone.
  void lose(std::size_t i) {
    cut_network(i);
    ShardOptions options = options_;
    options.place = static_cast<int>(i);
    shards_.at(i) = std::make_unique<Shard>(options);
    open_network(i);
  }

  // To all servers, and then to who asks.
  void set_map(const SlotMap& map) {
    for (const auto& shard : shards_) ASSERT_TRUE(shard->set_map(map, 1));
    const std::lock_guard lock(mutex_);
    view_.map = map;
  }
  void set_members(std::uint32_t generation, int members) {
    for (const auto& shard : shards_) ASSERT_TRUE(shard->set_members(generation, members, 1));
  }
  ServerView view() const {
    const std::lock_guard lock(mutex_);
    return view_;
  }
  Shard& shard(std::size_t i) { return *shards_.at(i); }
  const FrameServer& server(std::size_t i) const { return *servers_.at(i); }
  std::size_t size() const { return shards_.size(); }
  Network& network() { return network_; }
  ClientOptions client(std::uint32_t sender = 1) {
    return {.view = [this] { return view(); }, .security = kTestSecurity, .sender = sender};
  }

 private:
  void open(std::size_t i) {
    Shard* const shard = shards_[i].get();
    FrameServerOptions options = {.address = view_.addresses[i], .security = kTestSecurity};
    const Handler handler = [shard](const Peer& peer, Frame request, Answer& answer) {
      shard->handle(peer, std::move(request), answer);
    };
    // Its old port may be somebody's for a moment, such as that of a connection to it.
    for (int attempt = 0; servers_[i] == nullptr; ++attempt) {
      try {
        servers_[i] = std::make_unique<FrameServer>(options, handler);
      } catch (const Error&) {
        if (attempt == 100) throw;
        std::this_thread::sleep_for(Milliseconds(20));
      }
    }
    view_.addresses[i] = "127.0.0.1:" + std::to_string(servers_[i]->port());
  }

  const ShardOptions options_;
  Network network_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<std::unique_ptr<FrameServer>> servers_;
  mutable std::mutex mutex_;
  ServerView view_;
};

// A table in which every push of a gradient of -1 at rate 1 counts one.
inline TableDeclaration count_table(Mode mode = Mode::asynchronous) {
  TableDeclaration declaration;
  declaration.options.name = "counts";
  declaration.options.width = 2;
  declaration.mode = mode;
  return declaration;
}

}  // namespace trireme::distributed
