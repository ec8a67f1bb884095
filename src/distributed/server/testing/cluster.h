#pragma once

// For tests: some parameter servers in this process; their network can fail while their state
// remains.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "distributed/server/client.h"
#include "distributed/server/shard.h"
#include "distributed/table/testing/table.h"
#include "distributed/transport/frame_server.h"
#include "distributed/transport/testing/old_port.h"

namespace trireme::distributed {

inline const Security kTestSecurity = {.token = "open sesame"};

class Cluster {
 public:
  explicit Cluster(int servers, const ShardOptions& options = {}) : options_(options) {
    view_.map = SlotMap::balanced(servers);
    for (int i = 0; i < servers; ++i) add();
    set_map(view_.map);
  }

  // Adds a server without slots.
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
  void open_network(std::size_t i, const std::string& address = "") {
    const std::lock_guard lock(mutex_);
    if (!address.empty()) view_.addresses[i] = address;
    open(i);
  }
  // Loses the state of a server.
  void lose(std::size_t i) {
    cut_network(i);
    ShardOptions options = options_;
    options.place = static_cast<int>(i);
    shards_.at(i) = std::make_unique<Shard>(options);
    open_network(i);
  }

  // Sets the map on all servers, and then for clients.
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
    return {.view = [this] { return view(); },
            .security = kTestSecurity,
            .sender = sender,
            .deadline = Milliseconds(120000)};
  }

 private:
  void open(std::size_t i) {
    Shard* const shard = shards_[i].get();
    FrameServerOptions options = {
        .address = view_.addresses[i], .service = kParameterService, .security = kTestSecurity};
    const Handler handler = [shard](const Peer& peer, Frame request, Answer& answer) {
      shard->handle(peer, std::move(request), answer);
    };
    servers_[i] =
        testing::at_old_port([&] { return std::make_unique<FrameServer>(options, handler); });
    view_.addresses[i] = "127.0.0.1:" + std::to_string(servers_[i]->port());
  }

  const ShardOptions options_;
  Network network_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<std::unique_ptr<FrameServer>> servers_;
  mutable std::mutex mutex_;
  ServerView view_;
};

// Repeatedly breaks the streams of one server while it exists; `done` grows between two breaks,
// however slow the machine is.
class CutStreams {
 public:
  CutStreams(Cluster& cluster, const std::atomic<int>& done)
      : thread_([this, &cluster, &done] {
          for (std::size_t i = 0; !stop_; i = (i + 1) % cluster.size()) {
            cluster.cut_network(i);
            cluster.open_network(i);
            const int before = done;
            do {  // longer than reopening a stream takes
              std::this_thread::sleep_for(std::chrono::milliseconds(150));
            } while (!stop_ && done == before);
          }
        }) {}
  ~CutStreams() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
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
