#pragma once

// For tests: a whole job in this process, but for the Program. Every record of its data adds one to a row of its own, so
// what was lost or learned twice is seen exactly.

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "distributed/control/job_control.h"
#include "distributed/control/server_keeper.h"
#include "distributed/coordination/membership.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/master/task_client.h"
#include "distributed/server/cluster_test.h"
#include "distributed/server/parameter_server.h"

namespace trireme::distributed {

inline const std::string kJob = "job/";

// A server of the job; without its destructor's good manners when it is killed.
class TestServer {
 public:
  TestServer(Store& store, const std::string& name, int places, const std::string& folder)
      : store_(store), lease_(store, {.seconds = 60}), members_(store, kJob) {
    const std::optional<int> place = members_.claim_place("server", places, lease_, name);
    EXPECT_TRUE(place.has_value());
    place_ = place.value_or(0);
    ParameterServerOptions options{.transport = {.security = kTestSecurity}};
    options.shard.place = place_;
    options.other = [this](const Frame& request, Answer& answer) {
      return keeper_ && keeper_->handle(request, answer);
    };
    server_.emplace(options);
    keeper_.emplace(store_, server_->shard(),
                    KeeperOptions{.name = name, .folder = folder, .prefix = kJob + "checkpoint/"});
    members_.join("server", std::to_string(place_), "127.0.0.1:" + std::to_string(server_->port()),
                  lease_);
  }
  int place() const { return place_; }
  Shard& shard() { return server_->shard(); }

 private:
  Store& store_;
  LeaseKeeper lease_;
  Membership members_;
  int place_ = 0;
  std::optional<ServerKeeper> keeper_;
  std::optional<ParameterServer> server_;
};

struct CountJobOptions {
  int servers = 2, trainers = 2;
  std::int64_t records = 2000, epochs = 2;
  double every = 0.2;  // seconds between checkpoints
  std::string folder = {};
  bool resume = false;
};

class CountJob {
 public:
  static constexpr std::int64_t kTask = 40, kBatch = 10;  // records

  explicit CountJob(const CountJobOptions& options)
      : options_(options), store_(make_memory_store()) {
    for (int i = 0; i < options.servers; ++i) add_server(options.servers);
    start_master();
    for (int i = 0; i < options.trainers; ++i) {
      trainers_.emplace_back([this, i] { train("trainer_" + std::to_string(i)); });
    }
  }
  ~CountJob() {
    join();
    stop_master();
  }

  Store& store() { return *store_; }
  void add_server(int places) {
    servers_.push_back(std::make_unique<TestServer>(*store_, "server_" + std::to_string(started_++),
                                                    places, options_.folder));
  }
  // With all that it held; another one takes its place.
  void kill_server(std::size_t i) {
    servers_.at(i).reset();
    servers_.at(i) =
        std::make_unique<TestServer>(*store_, "server_" + std::to_string(started_++),
                                     static_cast<int>(servers_.size()), options_.folder);
  }
  void drop_server(std::size_t i) { servers_.erase(servers_.begin() + static_cast<long>(i)); }
  // The leader dies, and another one leads.
  void replace_master() {
    stop_master();
    start_master();
  }
  void want_servers(int servers) { store_->put(wanted_servers_key(kJob), std::to_string(servers)); }
  // How many tasks of this epoch have been ended, by what trainers hear.
  std::int64_t finished() const { return finished_; }
  bool over() const { return over_; }
  void wait_for_tasks(std::int64_t count) const {
    for (int i = 0; i < 3000 && finished_ < count && !over_; ++i) {
      std::this_thread::sleep_for(Milliseconds(10));
    }
  }
  void join() {
    for (std::thread& trainer : trainers_) trainer.join();
    trainers_.clear();
  }
  std::vector<std::string> said() const {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  bool has_said(const std::string& text) const {
    for (const std::string& line : said()) {
      if (line.find(text) != std::string::npos) return true;
    }
    return false;
  }

  // Of each record, when all is over.
  std::vector<float> counts() {
    ParameterClient client(network_, client_options("reader"));
    client.declare(0, table());
    std::vector<Id> ids(static_cast<std::size_t>(options_.records));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
    std::vector<float> rows(2 * ids.size()), counts;
    client.lookup(0, ids, rows.data(), Create::no);
    for (std::size_t i = 0; i < ids.size(); ++i) counts.push_back(rows[2 * i]);
    return counts;
  }
  // Of the sum of all records in a dense parameter.
  float dense_count() {
    ParameterClient client(network_, client_options("reader"));
    client.declare({dense()});
    float sum[2];
    client.pull(0, sum);
    return sum[0];
  }

 private:
  static TableDeclaration table() { return count_table(); }
  static DenseParameter dense() {
    static const float zeros[2] = {0, 0};
    return {0, {.name = "sum", .rows = 1, .columns = 2, .rule = RowRule::sgd()}, zeros};
  }
  std::vector<std::string> tasks() const {
    std::vector<std::string> all;
    for (std::int64_t first = 0; first < options_.records; first += kTask) {
      all.push_back(std::to_string(first));
    }
    return all;
  }

  void start_master() {
    MasterOptions options;
    options.prefix = kJob;
    options.server.security = kTestSecurity;
    options.epochs = options_.epochs;
    options.tasks = [this](std::int64_t) { return tasks(); };
    options.hold = true;
    options.lease = 2;
    master_ = std::make_unique<Master>(*store_, options);
    JobControlOptions control;
    control.prefix = kJob;
    control.servers = options_.servers;
    control.security = kTestSecurity;
    control.folder = options_.folder;
    control.every = options_.every;
    control.resume = options_.resume;
    control.move_bytes = 16 << 10;
    control.say = [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      said_.push_back(text);
    };
    leading_ = true;
    control_ = std::thread([this, control] {
      JobControl all(*store_, *master_, control);
      while (leading_) {
        all.look();
        std::this_thread::sleep_for(Milliseconds(5));
      }
    });
  }
  void stop_master() {
    leading_ = false;
    control_.join();
    master_.reset();
  }

  ClientOptions client_options(const std::string& name) {
    return {.view = [this] { return wait_for_view(0).servers; },
            .security = kTestSecurity,
            .sender = static_cast<std::uint32_t>(std::hash<std::string>{}(name)),
            .attempt = Milliseconds(500)};
  }
  JobView wait_for_view(std::uint32_t after) {
    for (;;) {
      const std::optional<JobView> view = read_job_view(*store_, kJob);
      if (view && view->generation > after) return *view;
      std::this_thread::sleep_for(Milliseconds(5));
    }
  }

  // Counts records of one task after the other.
  void train(const std::string& name) {
    LeaseKeeper lease(*store_, {.seconds = 60});
    Membership(*store_, kJob).join("trainer", name, "", lease);
    TaskClient tasks(*store_, network_, {.prefix = kJob, .name = name, .security = kTestSecurity});
    JobView view = wait_for_view(0);
    ClientOptions options = client_options(name);
    options.view = [&] {
      const JobView newest = wait_for_view(0);
      if (newest.rollbacks != view.rollbacks) throw StaleGeneration("back to a checkpoint");
      return newest.servers;
    };
    ParameterClient client(network_, options);
    const auto declare = [&] {
      client.join(view.generation, 0);
      client.declare(0, table());
      client.declare({dense()});
    };
    bool declared = false;
    for (Taken taken; !taken.all_done;) {
      try {
        if (!declared) declare();
        declared = true;
        taken = tasks.take(2);
        if (taken.rollbacks != view.rollbacks) throw StaleGeneration("a later task");
        for (const Task& task : taken.tasks) count(client, task, taken.epoch);
        if (!taken.tasks.empty()) finished_ += tasks.finish(taken.tasks);
        else std::this_thread::sleep_for(Milliseconds(5));
      } catch (const StaleGeneration&) {
        view = wait_for_view(view.generation);
        declared = false;
      }
    }
    over_ = true;
  }
  void count(ParameterClient& client, const Task& task, std::int64_t epoch) {
    const std::int64_t first = std::stoll(task.data);
    for (std::int64_t batch = 0; batch < kTask / kBatch; ++batch) {
      std::vector<Id> ids;
      for (std::int64_t i = 0; i < kBatch; ++i)
        ids.push_back(static_cast<Id>(first + batch * kBatch + i));
      const std::vector<float> down(2 * ids.size(), -1);
      const PushId push =
          PushId::of_task(static_cast<std::uint32_t>(task.id), static_cast<std::uint32_t>(epoch),
                          static_cast<std::uint32_t>(batch));
      client.push(0, ids, down.data(), {.rate = 1}, push);
      const float all[2] = {-static_cast<float>(kBatch), 0};
      client.push(0, all, {.rate = 1}, push);
    }
    std::this_thread::sleep_for(Milliseconds(2));
  }

  const CountJobOptions options_;
  const std::unique_ptr<Store> store_;
  Network network_;
  int started_ = 0;
  std::vector<std::unique_ptr<TestServer>> servers_;
  std::unique_ptr<Master> master_;
  std::atomic<bool> leading_ = false, over_ = false;
  std::atomic<std::int64_t> finished_ = 0;
  std::thread control_;
  std::vector<std::thread> trainers_;
  mutable std::mutex mutex_;
  std::vector<std::string> said_;
};

}  // namespace trireme::distributed
