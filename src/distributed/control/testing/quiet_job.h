#pragma once

// For tests: a job with servers whose leader works only when the test says so, and whose store
// fails for this leader alone. The test is its only trainer.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/testing/wait_until.h"
#include "distributed/checkpoint/testing/checkpoint.h"
#include "distributed/control/leader_keys.h"
#include "distributed/control/testing/job_control.h"
#include "distributed/coordination/testing/failing_store.h"

namespace trireme::distributed {

struct QuietJobOptions {
  int servers = 2, surplus = 0;  // surplus ones have no place in the map yet
  bool synchronous = false;
  bool checkpoints = true;
  double every = 3600;  // seconds between checkpoints
};

class QuietJob {
 public:
  static constexpr std::int64_t kTasks = 200, kRecords = kTasks * CountTrainer::kTask;

  explicit QuietJob(const QuietJobOptions& options)
      : options_(options),
        failing_(*store_),
        folder_path_(options.checkpoints ? folder_.path() + "/checkpoints" : "") {
    const int places = options.servers + options.surplus;
    for (int i = 0; i < places; ++i) {
      servers_.push_back(std::make_unique<TestServer>(*store_, "server_" + std::to_string(i),
                                                      places, folder_path_));
    }
    MasterOptions master;
    master.prefix = kJob;
    master.server.security = kTestSecurity;
    master.epochs = 100;
    master.tasks = [](std::int64_t) { return CountTrainer::tasks(kRecords); };
    master.hold = true;
    master.lease = 60;
    master.min_timeout = Milliseconds(600000);
    master_ = std::make_unique<Master>(*store_, master);
    lead_anew(options.every);
  }

  // As the next leader, which knows only what is in the store. `every`: as in the options.
  void lead_anew(double every = 3600) {
    JobControlOptions control;
    control.prefix = kJob;
    control.servers = options_.servers;
    control.synchronous = options_.synchronous;
    control.security = kTestSecurity;
    control.folder = folder_path_;
    control.every = every;
    control.move_slots = kSlots;  // few moves, each with all failure points
    control.saved = [this](std::int64_t, double, std::uint64_t) { ++saved_; };
    control_ = std::make_unique<JobControl>(failing_, *master_, control);
  }
  // The leader works until the condition holds.
  template <class Done>
  bool poll_until(const Done& done) {
    return wait_until([&] { return control_->poll(), done(); });
  }
  // The process of a server ends with all its data, and another one gets its place and its address.
  void restart_server(std::size_t i) {
    const int port = servers_.at(i)->port();
    servers_[i].reset();
    servers_[i] =
        std::make_unique<TestServer>(*store_, "server_" + std::to_string(i) + "_again",
                                     static_cast<int>(servers_.size()), folder_path_, port);
  }
  Store& store() { return *store_; }
  FailingStore& failing() { return failing_; }
  Master& master() { return *master_; }
  int saved() const { return saved_; }
  // The queue of tasks in the newest checkpoint.
  std::optional<QueueState> saved_state() {
    checkpoint::Catalog catalog(*store_, {.folder = folder_path_, .prefix = kJob + "checkpoint/"});
    const std::vector<checkpoint::Committed> list = catalog.list();
    if (list.empty()) return std::nullopt;
    return job_snapshot_of(catalog.manifest(list[0]).snapshot).queue;
  }
  Shard& shard(std::size_t i) { return servers_.at(i)->shard(); }
  std::optional<JobView> view() { return read_job_view(*store_, kJob); }
  bool has(const std::string& key) { return store_->get(key).has_value(); }
  // Nothing is left to do of a move or a rollback.
  bool at_rest() {
    return view() && !has(moving_key(kJob)) && !has(rolling_key(kJob)) && !has(leftovers_key(kJob));
  }
  void want_servers(int servers) { store_->put(wanted_servers_key(kJob), std::to_string(servers)); }
  // At rest on that number of servers, with balanced slots that all servers know.
  bool is_on(int servers) {
    if (!at_rest()) return false;
    const SlotMap map = view()->servers.map;
    if (map.servers() != servers || view()->servers.addresses.size() != std::size_t(servers)) {
      return false;
    }
    for (int server = 0; server < servers; ++server) {
      if (shard(static_cast<std::size_t>(server)).map() != map) return false;
    }
    const SlotMap goal = map.moved_to(servers);
    for (int slot = 0; slot < kSlots; ++slot) {
      if (map.owner(slot) != goal.owner(slot)) return false;
    }
    return true;
  }

  // --- Trainers
  std::unique_ptr<LeaseKeeper> join(const std::string& name) {
    auto lease = std::make_unique<LeaseKeeper>(*store_, LeaseOptions{.seconds = 600});
    ProcessRegistry(*store_, kJob).join({.name = name, .role = "trainer"}, *lease);
    return lease;
  }
  // Trains and finishes `count` tasks; adds one to each record of theirs.
  void train(std::uint32_t count) {
    TaskClient tasks(*store_, network_,
                     {.prefix = kJob, .name = "test", .security = kTestSecurity});
    const auto client = this->client();
    Taken taken;
    ASSERT_TRUE(poll_until([&] { return !(taken = tasks.take(count)).tasks.empty(); }));
    for (const Task& task : taken.tasks) {
      const std::vector<Id> ids = ids_of(std::stoll(task.data));
      const std::vector<float> minus(2 * ids.size(), -1);
      const PushId push = PushId::of_task(static_cast<std::uint32_t>(task.id),
                                          static_cast<std::uint32_t>(taken.epoch), 0);
      client->push(0, ids, minus.data(), {.rate = 1}, push);
    }
    ASSERT_EQ(tasks.finish(taken.tasks), static_cast<int>(taken.tasks.size()));
  }
  // The tasks that are done by the queue have been trained once on servers, and no others.
  void expect_exact() {
    const std::optional<Master::Done> done = master_->done();
    ASSERT_TRUE(done.has_value());
    std::vector<float> wanted(kRecords, 0);
    for (const auto& [first, last] : done->tasks) {
      std::fill(wanted.begin() + first * CountTrainer::kTask,
                wanted.begin() + last * CountTrainer::kTask, 1.0f);
    }
    std::vector<Id> ids(kRecords);
    std::iota(ids.begin(), ids.end(), Id{0});
    std::vector<float> rows(2 * ids.size());
    client()->lookup(0, ids, rows.data(), Create::no);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(rows[2 * i], wanted[i]) << "record " << i;
    }
  }
  // Each row, and each block of dense parameters, is on one server of the map only.
  void expect_no_copies(std::uint64_t rows) {
    std::uint64_t found = 0, blocks = 0;
    for (std::size_t i = 0; i < view()->servers.addresses.size(); ++i) {
      for (const TableReport& table : shard(i).tables()) found += table.statistics.rows;
      for (const auto& [number, own] : shard(i).declarations().blocks) blocks += own.size();
    }
    EXPECT_EQ(found, rows);
    EXPECT_EQ(blocks, CountTrainer::kSums);
  }

 private:
  static std::vector<Id> ids_of(std::int64_t first) {
    std::vector<Id> ids(static_cast<std::size_t>(CountTrainer::kTask));
    std::iota(ids.begin(), ids.end(), static_cast<Id>(first));
    return ids;
  }
  std::unique_ptr<ParameterClient> client() {
    ClientOptions options;
    options.view = [this] { return view().value().servers; };
    options.security = kTestSecurity;
    auto client = std::make_unique<ParameterClient>(network_, options);
    client->join(view().value().generation, 0);
    CountTrainer::declare(*client, Mode::asynchronous);
    return client;
  }

  const QuietJobOptions options_;
  const std::unique_ptr<Store> store_ = make_memory_store();
  FailingStore failing_;
  checkpoint::MemoryDirectory folder_;
  const std::string folder_path_;
  Network network_;
  std::vector<std::unique_ptr<TestServer>> servers_;
  std::unique_ptr<Master> master_;
  std::atomic<int> saved_ = 0;
  std::unique_ptr<JobControl> control_;
};

}  // namespace trireme::distributed
