// Leaders, members, leases and the security of the wire, at commit 802a32a: 13, 15, 20 and 21.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "base/error_test.h"
#include "distributed/collectives/generations.h"
#include "distributed/control/job_control_test.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/job/job_address.h"
#include "distributed/monitor/http.h"
#include "distributed/placement/authority.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Clock = std::chrono::steady_clock;

// A server whose port can be chosen, and that can be replaced by one without data.
class Server {
 public:
  Server(Store& store, int place, int places, int port = 0)
      : lease_(store, {.seconds = 60}), members_(store, kJob), name_(std::to_string(place)) {
    EXPECT_EQ(members_.claim_place("server", places, lease_, "server_" + name_), place);
    ParameterServerOptions options;
    options.transport.address = "127.0.0.1:" + std::to_string(port);
    options.transport.security = kTestSecurity;
    options.shard.place = place;
    options.other = [&](Shard& shard) {
      keeper_.emplace(store, shard, KeeperOptions{.name = "server_" + name_});
      return
          [this](const Frame& request, Answer& answer) { return keeper_->handle(request, answer); };
    };
    testing::at_old_port([&] {
      keeper_.reset();
      server_.emplace(options);
      return true;
    });
    members_.join("server", name_, "127.0.0.1:" + std::to_string(server_->port()), lease_);
  }
  ~Server() {
    server_->stop(in(Milliseconds(0)));
    keeper_.reset();
  }
  int port() const { return server_->port(); }

 private:
  LeaseKeeper lease_;
  Membership members_;
  const std::string name_;
  std::optional<ServerKeeper> keeper_;
  std::optional<ParameterServer> server_;
};

// A job with servers whose leader works only when the test says so.
class QuietJob {
 public:
  explicit QuietJob(bool synchronous) {
    for (int place = 0; place < 2; ++place) {
      servers_.push_back(std::make_unique<Server>(*memory_, place, 2));
    }
    MasterOptions master;
    master.prefix = kJob;
    master.server.security = kTestSecurity;
    master.epochs = 100;
    master.tasks = [](std::int64_t) { return CountTrainer::tasks(2000); };
    master.hold = true;
    master.lease = 60;
    master_ = std::make_unique<Master>(*memory_, master);
    JobControlOptions control;
    control.prefix = kJob;
    control.servers = 2;
    control.synchronous = synchronous;
    control.security = kTestSecurity;
    control_ = std::make_unique<JobControl>(store_, *master_, control);
  }
  // The leader works until the condition holds, for at most `most`.
  bool look_until(const std::function<bool()>& done, Milliseconds most = Milliseconds(60000)) {
    for (const Deadline until = in(most); Clock::now() < until;) {
      control_->look();
      if (done()) return true;
      std::this_thread::sleep_for(Milliseconds(5));
    }
    return false;
  }
  std::unique_ptr<LeaseKeeper> join(const std::string& name) {
    auto lease = std::make_unique<LeaseKeeper>(*memory_, LeaseOptions{.seconds = 600});
    Membership(*memory_, kJob).join("trainer", name, "", *lease);
    return lease;
  }
  void restart_server(std::size_t place) {
    const int port = servers_.at(place)->port();
    servers_[place].reset();
    servers_[place] = std::make_unique<Server>(*memory_, static_cast<int>(place), 2, port);
  }
  std::optional<JobView> view() { return read_job_view(*memory_, kJob); }
  CutStore& store() { return store_; }

 private:
  const std::unique_ptr<Store> memory_ = make_memory_store();
  CutStore store_{*memory_};  // of the leader
  std::vector<std::unique_ptr<Server>> servers_;
  std::unique_ptr<Master> master_;
  std::unique_ptr<JobControl> control_;
};

// --- 13: a publication that is lost

TEST(Fault13, ALostPublicationOfNewMembersIsRepeated) {
  QuietJob job(/*synchronous=*/true);
  std::atomic<bool> lose = false;
  std::atomic<int> lost = 0;
  job.store().loses = [&](const Transaction& transaction) {
    for (const Action& action : transaction.then) {
      const auto* put = std::get_if<Put>(&action);
      if (put == nullptr || put->key != view_key(kJob) || !lose.exchange(false)) continue;
      ++lost;
      return true;
    }
    return false;
  };
  const auto first = job.join("trainer_0");
  const auto has_members = [&](std::size_t count) {
    return [&job, count] { return job.view() && job.view()->members.size() == count; };
  };
  ASSERT_TRUE(job.look_until(has_members(1)));
  lose = true;
  const auto second = job.join("trainer_1");
  EXPECT_TRUE(job.look_until(has_members(2), Milliseconds(10000)))
      << "the view with the new member was never published again";
  EXPECT_EQ(lost, 1);
}

// --- 15: more members than a transaction has conditions

struct Party {
  Party(Store& store, const std::string& name)
      : lease(store, {.seconds = 600}),
        generations(store, {"ring/", name, 1, "-", Milliseconds(50)}) {
    generations.join(lease);
  }
  LeaseKeeper lease;
  Generations generations;
};

TEST(Fault15, MoreMembersThanOneTransactionCompares) {
  constexpr std::size_t kMembers = kMostActions + 22;
  const auto store = make_memory_store();
  std::vector<std::unique_ptr<Party>> parties;
  for (std::size_t i = 0; i < kMembers; ++i) {
    parties.push_back(std::make_unique<Party>(*store, "member" + std::to_string(i)));
  }
  for (const auto& party : parties) party->generations.answer(party->lease);
  EXPECT_EQ(error_of([&] {
              EXPECT_TRUE(comes_true([&] {
                parties[0]->generations.propose();
                return parties[0]->generations.current().number >= 1;
              }));
            }),
            "no error");
  EXPECT_EQ(parties[0]->generations.current().members.size(), kMembers);
}

// --- 20: smaller faults of the control plane

TEST(Fault20, AServerThatRestartsAtItsAddressHasNothing) {
  QuietJob job(/*synchronous=*/false);
  ASSERT_TRUE(job.look_until([&] { return job.view() && job.view()->rollbacks == 1; }));
  job.restart_server(0);
  EXPECT_TRUE(job.look_until([&] { return job.view()->rollbacks == 2; }, Milliseconds(10000)))
      << "a server that has lost all its data was taken for the old one";
}

TEST(Fault20, OnlyTheLeaderEndsTheJob) {
  const auto memory = make_memory_store();
  CutStore store(*memory);
  std::atomic<int> guarded = 0, unguarded = 0;
  store.loses = [&](const Transaction& transaction) {
    for (const Action& action : transaction.then) {
      const auto* put = std::get_if<Put>(&action);
      if (put != nullptr && put->key == kJob + "done") {
        ++(transaction.when.empty() ? unguarded : guarded);
      }
    }
    return false;
  };
  MasterOptions options;
  options.prefix = kJob;
  options.server.security = kTestSecurity;
  options.tasks = [](std::int64_t) { return std::vector<std::string>{"a", "b"}; };
  const Master master(store, options);
  const LeaseKeeper lease(*memory, {.seconds = 60});
  Membership(*memory, kJob).join("trainer", "a", "", lease);
  Network network;
  TaskClient client(*memory, network, {.prefix = kJob, .name = "a", .security = kTestSecurity});
  for (Taken taken; !(taken = client.take(4)).all_done;) {
    if (taken.tasks.empty()) std::this_thread::sleep_for(Milliseconds(5));
    else client.finish(taken.tasks);
  }
  EXPECT_EQ(unguarded, 0) << "the job was ended without the guard of the leader";
  EXPECT_EQ(guarded, 1);
}

// The time of a lease begins when it is requested, not when the answer arrives.
TEST(Fault20, ALeaseCountsFromBeforeTheRequest) {
  class LateStore : public CutStore {
   public:
    using CutStore::CutStore;
    std::int64_t grant(std::int64_t seconds) override {
      const auto start = Clock::now();
      const std::int64_t id = CutStore::grant(seconds);
      std::this_thread::sleep_until(start + std::chrono::seconds(seconds));
      cut = true;
      return id;
    }
  };
  const auto store = make_memory_store();
  LateStore late(*store);
  const LeaseKeeper keeper(late, {.seconds = 2});
  EXPECT_TRUE(keeper.lost()) << "a lease that has ended counts as held";
}

// --- 21: the security of the wire

// The client end of a connection, without any library.
class Caller {
 public:
  explicit Caller(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Caller() { ::close(socket_); }
  void send(const std::string& text) const {
    EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // All that arrives until the server closes, or "" if there is nothing for that long.
  std::string answer(int milliseconds) const {
    std::string text;
    char part[4096];
    pollfd file{socket_, POLLIN, 0};
    while (::poll(&file, 1, milliseconds) == 1) {
      const ssize_t count = ::recv(socket_, part, sizeof part, 0);
      if (count <= 0) break;
      text.append(part, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  const int socket_;
};

TEST(Fault21, ProbesDoNotWaitForIdleConnections) {
  Registry registry;
  Health health;
  HttpOptions options;
  options.patience = Milliseconds(60000);
  const HttpServer server(options, monitor_pages(registry, health, "a job"));
  std::vector<std::unique_ptr<Caller>> idle;
  for (int i = 0; i < 20; ++i) idle.push_back(std::make_unique<Caller>(server.port()));
  const Caller probe(server.port());
  probe.send("GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_THAT(probe.answer(10000), StartsWith("HTTP/1.1 200 OK\r\n"))
      << "a health check waits for idle connections";
}

// A job has one set of certificates, so the one of a trainer is that of the leader.
TEST(Fault21, ATrainerGivesNoOrdersOfTheLeader) {
  const Security of_trainer = make_credentials(30, seconds_since_1970());
  ParameterServer server({.transport = {.address = "127.0.0.1:0", .security = of_trainer}});
  Network network;
  Connection connection(
      network, {.address = "127.0.0.1:" + std::to_string(server.port()), .security = of_trainer});
  Frame request;
  request.header.op = static_cast<std::uint8_t>(Op::set_map);
  request.header.sequence = 1'000'000'000;  // the epoch of a leadership
  request.payload = Payload(SlotMap::balanced(1).to_bytes());
  EXPECT_EQ(connection.ask(std::move(request), in(Milliseconds(60000))).header.code, Code::refused)
      << "a trainer has changed the map";
}

TEST(Fault21, NoTokenIsSentInClearToAnotherMachine) {
  EXPECT_THAT(
      error_of([] { connect_etcd({.address = "10.0.0.1:2379", .security = {.token = "secret"}}); }),
      HasSubstr("certificates"));
  ::setenv("TRIREME_JOB_TOKEN", "secret", 1);
  EXPECT_THAT(error_of([] { open_store({.store = "10.0.0.1:2379"}, Milliseconds(100)); }),
              HasSubstr("certificates"));
}

TEST(Fault21, TheServerOfTheStoreIsNotOpenToOtherMachines) {
  const auto store = make_memory_store();
  EXPECT_THAT(error_of([&] {
                EtcdServer(*store,
                           EtcdServerOptions{.address = "0.0.0.0:0", .security = {.token = "t"}});
              }),
              HasSubstr("certificates"));
}

// Anybody can make handshakes fail, so lines about them are limited.
TEST(Fault21, FailedHandshakesAreFewLines) {
  const Security security = make_credentials(30, seconds_since_1970());
  const FrameServer server({.address = "127.0.0.1:0", .security = security},
                           [](const Peer&, Frame, Answer&) {});
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 30; ++i) {
    const Caller caller(server.port());
    caller.send("no handshake at all, but a line of text that is long enough to be one\r\n");
    caller.answer(10000);
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 10) << text;
}

}  // namespace
}  // namespace trireme::distributed
