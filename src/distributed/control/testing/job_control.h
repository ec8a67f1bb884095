#pragma once

// For tests: a whole job in this process without the Program: its trainers count records.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "distributed/control/job_control.h"
#include "distributed/control/last_checkpoint.h"
#include "distributed/control/server_keeper.h"
#include "distributed/control/testing/count_trainer.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/coordination/testing/cut_store.h"
#include "distributed/server/parameter_server.h"
#include "distributed/server/testing/cluster.h"

namespace trireme::distributed {

inline const std::string kJob = "job/";

// A server of the job; killing it skips the work of its destructor.
class TestServer {
 public:
  // `port` 0: any free port.
  TestServer(Store& store, const std::string& name, int places, const std::string& folder,
             int port = 0)
      : store_(store), lease_(store, {.seconds = 60}), members_(store, kJob) {
    const std::optional<int> place = members_.claim_place("server", places, lease_, name);
    EXPECT_TRUE(place.has_value());
    place_ = place.value_or(0);
    ParameterServerOptions options{
        .transport = {.address = "127.0.0.1:" + std::to_string(port), .security = kTestSecurity}};
    options.shard.place = place_;
    options.other = [&](Shard& shard) {
      keeper_.emplace(
          store_, shard,
          KeeperOptions{.name = name, .folder = folder, .prefix = kJob + "checkpoint/"});
      return
          [this](const Frame& request, Answer& answer) { return keeper_->handle(request, answer); };
    };
    testing::at_old_port([&] { server_.emplace(options); });
    members_.join({.name = name,
                   .role = "server",
                   .place = place_,
                   .address = "127.0.0.1:" + std::to_string(server_->port()),
                   .instance = lease_.id()},
                  lease_);
  }
  // First no more orders arrive, then the keeper finishes, then its data end.
  ~TestServer() {
    server_->stop(in(Milliseconds(0)));
    keeper_.reset();
  }
  Shard& shard() { return server_->shard(); }
  int port() const { return server_->port(); }

 private:
  Store& store_;
  LeaseKeeper lease_;
  ProcessRegistry members_;
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
  std::uint64_t move_bytes = 256 << 10;
  std::optional<Ageing> ageing = {};
  PublisherOptions exports = {};
  Milliseconds slow{20};  // time of a task when trainers are slowed down
  std::int64_t dies_after =
      -1;  // after this number of tasks trainer 0 leaves its trained tasks unfinished
};

class CountJob {
 public:
  explicit CountJob(const CountJobOptions& options)
      : options_(options),
        memory_(make_memory_store({.now = [this] { return clock_.now(); }})),
        store_(std::make_unique<CutStore>(*memory_)) {
    store_->patience = Milliseconds(200);
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
  // With all its data; another one takes its place.
  void kill_server(std::size_t i) {
    servers_.at(i).reset();
    servers_.at(i) =
        std::make_unique<TestServer>(*store_, "server_" + std::to_string(started_++),
                                     static_cast<int>(servers_.size()), options_.folder);
  }
  // The leader fails, and another one leads.
  void replace_master() {
    stop_master();
    start_master();
  }
  // From all processes; its data stay.
  void take_store_away() {
    clock_.stop();
    store_->cut = true;
  }
  void bring_store_back() {
    clock_.resume();
    store_->cut = false;
  }
  // The leader has moved slots, and all servers know; but it fails before other processes do.
  void die_at_the_end_of_a_move(const SlotMove& move) {
    stop_master();
    store_->put(kJob + "moving", text_of(move));
    const ServerView view = read_job_view(*store_, kJob).value().servers;
    ServerClients server_clients(network_, kTestSecurity,
                                 [](std::size_t, const std::string&) { return false; });
    server_clients.aim(view.addresses,
                       static_cast<std::uint64_t>(store_->get(kJob + "moving")->modified));
    const SlotMap next = view.map.moved(move.first, move.last, move.to);
    Mover mover(server_clients);
    mover.prepare(move);
    mover.copy(move, next);
    server_clients.set_map(next);
    start_master();
  }
  // Trainers become slower and slower, so that the job does not end before the event that a test
  // waits for, however slow the machine is.
  void slow_down(bool slow) { slow_ = slow; }
  void stop_trainers() {
    stop_ = true;
    join();
  }
  void want_last_checkpoint() { store_->put(last_wanted_key(kJob), "1"); }
  // Returns its result.
  LastCheckpoint last_checkpoint() const {
    for (int i = 0; i < 3000; ++i) {
      if (const auto told = store_->get(last_checkpoint_key(kJob))) {
        return last_checkpoint_of(told->value);
      }
      std::this_thread::sleep_for(Milliseconds(10));
    }
    ADD_FAILURE() << "there is no result of the last checkpoint";
    return {};
  }
  void want_servers(int servers) { store_->put(wanted_servers_key(kJob), std::to_string(servers)); }
  // Completed tasks of this epoch, as trainers report them.
  std::int64_t finished() const { return finished_; }
  bool over() const { return over_; }
  // By all leaders.
  int exports() const { return exports_; }
  int failed_exports() const { return failed_exports_; }
  void wait_for_tasks(std::int64_t count) const {
    for (int i = 0; i < 20000 && finished_ < count && !over_; ++i) {
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
  // The first line with that text; empty if there is none.
  std::string line(const std::string& text) const {
    for (const std::string& line : said()) {
      if (line.find(text) != std::string::npos) return line;
    }
    return "";
  }
  bool has_said(const std::string& text) const { return !line(text).empty(); }
  // The number of checkpoints. The first one need not have number 1: one that begins while trainers
  // declare their tables is dropped.
  std::ptrdiff_t saves() const {
    const std::vector<std::string> lines = said();
    return std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
      return line.starts_with("checkpoint ") && line.find(" MB in ") != std::string::npos;
    });
  }
  // Waits for the line while the job runs.
  bool says(const std::string& text) const {
    for (int i = 0; i < 20000 && !has_said(text) && !over_; ++i) {
      std::this_thread::sleep_for(Milliseconds(10));
    }
    return has_said(text);
  }

  // Adds a table that no trainer uses, with `rows` rows of 16 floats; and the digest of this table
  // on all servers.
  void add_rows(std::int64_t rows) {
    declare_rows();
    std::vector<Id> ids;
    std::vector<float> values;
    for (std::int64_t row = 0; row < rows; ++row) {
      ids.push_back(static_cast<Id>(row * 7919 + 1));
      if (ids.size() < 8192 && row + 1 < rows) continue;
      values.assign(16 * ids.size(), 0.5f);
      rows_->push(1, ids, values.data(), {.rate = 0.1});
      ids.clear();
    }
  }
  // Adds pushes of `tasks` tasks of the last epoch, which is not over: each of 4 batches of 4,096
  // of these rows.
  void add_pushes(std::int64_t rows, std::int64_t tasks) {
    std::vector<Id> ids(4096);
    const std::vector<float> values(16 * ids.size(), 0.25f);
    std::uint64_t at = 1;
    for (std::int64_t task = 0; task < tasks; ++task) {
      for (std::uint32_t batch = 0; batch < 4; ++batch) {
        for (Id& id : ids) {
          at = at * 6364136223846793005u + 1442695040888963407u;
          id = (at >> 33) % static_cast<std::uint64_t>(rows) * 7919 + 1;
        }
        rows_->push(1, ids, values.data(), {.rate = 0.1},
                    PushId::of_task(static_cast<std::uint32_t>(task),
                                    static_cast<std::uint32_t>(options_.epochs), batch));
      }
    }
  }
  std::uint64_t digest_of_rows() { return rows_->digest(1); }
  // The tables of a server, by its place.
  std::vector<TableReport> tables_of(std::size_t server) const {
    return servers_.at(server)->shard().tables();
  }
  // Blocks of dense parameters on all servers.
  std::size_t blocks() const {
    std::size_t count = 0;
    for (const auto& server : servers_) {
      for (const auto& [number, blocks] : server->shard().declarations().blocks)
        count += blocks.size();
    }
    return count;
  }
  CountTrainer::Counts counts() { return CountTrainer(*store_, network_, work("reader")).counts(); }

 private:
  CountWork work(const std::string& name) {
    CountWork work{.prefix = kJob,
                   .name = name,
                   .security = kTestSecurity,
                   .records = options_.records,
                   .finished = [this](std::int64_t tasks) { finish(tasks); },
                   .stop = [this] { return stop_.load(); }};
    if (options_.dies_after >= 0 && name == "trainer_0") {
      work.die = [this] { return finished_ >= options_.dies_after; };
    }
    return work;
  }
  void finish(std::int64_t tasks) {
    finished_ += tasks;
    const std::int64_t all = options_.epochs * options_.records / CountTrainer::kTask;
    const bool almost_done = finished_ > all * 3 / 4;
    const auto until = std::chrono::steady_clock::now() +
                       options_.slow * tasks * (1 + finished_ / 50) * (almost_done ? 20 : 1);
    while (slow_ && !stop_ && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(Milliseconds(2));
    }
  }
  void declare_rows() {
    ClientOptions options;
    options.view = [this] {
      for (;;) {
        if (const auto view = read_job_view(*store_, kJob)) return view->servers;
        std::this_thread::sleep_for(Milliseconds(5));
      }
    };
    options.security = kTestSecurity;
    rows_ = std::make_unique<ParameterClient>(network_, options);
    TableDeclaration table;
    table.options.name = "rows";
    table.options.width = 16;
    table.options.rule = RowRule::adagrad();
    rows_->declare(1, table);
  }
  void train(const std::string& name) {
    const CountWork what = work(name);
    CountTrainer(*store_, network_, what).run();
    if (!what.die && !stop_) over_ = true;
  }

  void start_master() {
    MasterOptions options;
    options.prefix = kJob;
    options.server.security = kTestSecurity;
    options.epochs = options_.epochs;
    options.tasks = [this](std::int64_t) { return CountTrainer::tasks(options_.records); };
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
    control.move_bytes = options_.move_bytes;
    control.ageing = options_.ageing;
    control.exports = options_.exports;
    control.exported = [this](std::int64_t) { ++exports_; };
    control.not_exported = [this] { ++failed_exports_; };
    control.say = [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      said_.push_back(text);
    };
    leading_ = true;
    control_ = std::thread([this, control] {
      JobControl all(*store_, *master_, control);
      while (leading_) {
        all.poll();
        std::this_thread::sleep_for(Milliseconds(5));
      }
    });
  }
  void stop_master() {
    leading_ = false;
    control_.join();
    master_.reset();
  }

  const CountJobOptions options_;
  TestClock clock_;
  const std::unique_ptr<Store> memory_;
  const std::unique_ptr<CutStore> store_;  // as all processes see it
  Network network_;
  std::unique_ptr<ParameterClient> rows_;
  std::atomic<bool> slow_ = false, stop_ = false;
  int started_ = 0;
  std::vector<std::unique_ptr<TestServer>> servers_;
  std::unique_ptr<Master> master_;
  std::atomic<bool> leading_ = false, over_ = false;
  std::atomic<std::int64_t> finished_ = 0;
  std::atomic<int> exports_ = 0, failed_exports_ = 0;
  std::thread control_;
  std::vector<std::thread> trainers_;
  mutable std::mutex mutex_;
  std::vector<std::string> said_;
};

}  // namespace trireme::distributed
