// Parameter servers and their clients at commit 802a32a: faults 14 and 16 to 19.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "base/comes_true_test.h"
#include "base/error_test.h"
#include "data/test_files.h"
#include "distributed/checkpoint/checkpoint_test.h"
#include "distributed/control/fleet.h"
#include "distributed/control/server_keeper.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/rpc.h"
#include "distributed/server/cluster_test.h"
#include "distributed/server/parameter_server.h"
#include "distributed/transport/connection.h"
#include "distributed/transport/frame_server.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;

// --- 14: a step of all members, on a full disk

constexpr int kWidth = 1024;  // rows of 4 KB, so that a small disk is soon full

// A small file system that is nearly full as long as the ballast lies there.
class SmallDisk {
 public:
  SmallDisk() : mounted_(::mount("tmpfs", folder().c_str(), "tmpfs", 0, "size=4m") == 0) {
    if (!mounted_) return;
    const int file = ::open(ballast().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    EXPECT_EQ(::posix_fallocate(file, 0, 7 << 19), 0);
    ::close(file);
  }
  ~SmallDisk() {
    if (mounted_) ::umount(folder().c_str());
  }
  bool mounted() const { return mounted_; }
  const std::string& folder() const { return directory_.path(); }
  void make_room() { std::filesystem::remove(ballast()); }

 private:
  std::string ballast() const { return folder() + "/ballast"; }
  const data::TestDirectory directory_;
  const bool mounted_;
};

TableDeclaration row_table(bool limited) {
  TableDeclaration declaration{.options = small_options(RowRule::sgd(), kWidth),
                               .mode = Mode::synchronous};
  declaration.spill = limited;
  if (limited) declaration.options.memory_limit = 64 << 10;
  return declaration;
}

// A step that was not applied is not counted as applied: members repeat it in the next generation.
TEST(Fault14, AStepThatWasNotAppliedIsRepeatedByTheNextGeneration) {
  SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small file system";
  Cluster cluster(1, ShardOptions{.folder = disk.folder(), .write_buffer = 128 << 10});
  cluster.set_members(1, 1);
  ParameterClient client(cluster.network(), cluster.client(1));
  client.declare(0, row_table(/*limited=*/true));
  client.join(1, 0);
  const std::vector<float> ones(kWidth, 1);
  const auto take_step = [&](std::uint64_t step) {
    client.begin_step(step);
    client.push(0, std::vector<Id>{step}, ones.data(), {.rate = 1});
    client.finish_step();
  };
  std::uint64_t step = 0;
  auto training = std::async(std::launch::async, [&] {
    EXPECT_THROW(for (;; ++step) take_step(step + 1), StaleGeneration);
  });
  const auto no_space = [&] {
    for (const RequestCount& count : cluster.shard(0).requests()) {
      if (count.op == Op::finish_step && count.code == Code::no_space) return true;
    }
    return false;
  };
  ASSERT_TRUE(comes_true(no_space));
  cluster.shard(0).set_members(2, 1, 1);
  training.get();
  Fleet leader(cluster.network(), kTestSecurity,
               [](std::size_t, const std::string&) { return false; });
  leader.aim(cluster.view().addresses, 1);
  const std::uint64_t done = leader.progress(1).step;
  disk.make_room();
  client.join(2, 0);
  for (std::uint64_t next = done + 1; next <= step + 3; ++next) take_step(next);
  SparseTable one(row_table(/*limited=*/false).options);
  for (Id id = 1; id <= step + 3; ++id) one.update(std::vector<Id>{id}, ones.data(), {.rate = 1});
  EXPECT_EQ(client.digest(0), one.digest()) << "the gradients of a step were lost";
}

// --- 16: the gradients of a step take memory for each member

TEST(Fault16, MoreGradientsThanTheLimitAreSummedInTurn) {
  constexpr int kMembers = 6;
  constexpr std::size_t kFloats = 20000;
  Cluster cluster(1, {.held_bytes = 3 * kFloats * sizeof(float) / 2});  // of six gradients
  cluster.set_members(1, kMembers);
  const DenseDeclaration declaration{
      .name = "w", .rows = 1, .columns = kFloats, .mode = Mode::synchronous};
  const std::vector<float> weights(kFloats, 1), gradient(kFloats, 0.5f);
  std::vector<std::unique_ptr<ParameterClient>> clients;
  for (int rank = 0; rank < kMembers; ++rank) {
    ClientOptions options = cluster.client(static_cast<std::uint32_t>(rank) + 1);
    options.attempt = Milliseconds(500);
    options.deadline = Milliseconds(10000);
    clients.push_back(std::make_unique<ParameterClient>(cluster.network(), options));
    clients.back()->declare({{0, declaration, weights}});
    clients.back()->join(1, static_cast<std::uint32_t>(rank));
  }
  std::vector<std::thread> members;
  for (const auto& client : clients) {
    members.emplace_back([&] {
      EXPECT_EQ(error_of([&] {
                  client->begin_step(1);
                  client->push(0, gradient.data(), {.rate = 1});
                  client->finish_step();
                }),
                "no error")
          << "a member was not served";
    });
  }
  for (std::thread& member : members) member.join();
}

// --- 17: answers and repeated requests on a slow link

std::string address_of(int port) { return "127.0.0.1:" + std::to_string(port); }

// Requests that a client sends without reading an answer are not all handled.
TEST(Fault17, AnswersThatTheNetworkDoesNotTakeAreLimited) {
  constexpr int kRequests = 200;
  std::atomic<int> handled = 0;
  FrameServer server({.security = kTestSecurity}, [&](const Peer&, Frame, Answer& answer) {
    ++handled;
    Frame frame;
    frame.payload.append(std::string(90000, 'x'));
    answer(std::move(frame));
  });
  const auto channel =
      grpc::CreateChannel(address_of(server.port()), grpc::InsecureChannelCredentials());
  const Method method("/trireme.Transport/Frames", channel, true);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + Milliseconds(60000));
  context.AddMetadata("authorization", kTestSecurity.token);
  const auto stream = method.open(&context);
  for (int i = 1; i <= kRequests; ++i) {
    Frame frame;
    frame.header.request = static_cast<std::uint32_t>(i);
    frame.payload.append("?");
    const auto header = encode_header(frame.header, 1, checksum_of(frame.payload));
    ASSERT_TRUE(stream->Write(
        {std::string(reinterpret_cast<const char*>(header.data()), header.size()) + "?"}));
  }
  for (const Deadline until = in(Milliseconds(3000));
       handled < kRequests && Clock::now() < until;) {
    std::this_thread::sleep_for(Milliseconds(5));
  }
  EXPECT_LT(handled, kRequests) << "answers wait, without any limit, for a client that reads none";
  int answers = 0;
  for (Message answer; answers < kRequests && stream->Read(&answer);) ++answers;
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

// A request is not sent again as long as its stream lives.
TEST(Fault17, ASlowServerIsAskedOnce) {
  Shard shard({});
  ASSERT_TRUE(shard.set_map(SlotMap::balanced(1), 1));
  std::atomic<int> lookups = 0;
  FrameServer server({.security = kTestSecurity},
                     [&](const Peer& peer, Frame request, Answer& answer) {
                       if (static_cast<Op>(request.header.op) == Op::lookup) {
                         // Longer than some attempts, unless it is asked again at once.
                         const Deadline until = in(Milliseconds(1000));
                         const int now = ++lookups;
                         while (now == 1 && lookups == 1 && Clock::now() < until) {
                           std::this_thread::sleep_for(Milliseconds(2));
                         }
                       }
                       shard.handle(peer, std::move(request), answer);
                     });
  ClientOptions options;
  options.view = [&] { return ServerView{SlotMap::balanced(1), {address_of(server.port())}}; };
  options.security = kTestSecurity;
  options.attempt = Milliseconds(20);
  options.deadline = Milliseconds(60000);
  Network network;
  ParameterClient client(network, options);
  client.declare(0, count_table());
  std::vector<float> rows(6, 7);
  client.lookup(0, std::vector<Id>{1, 2, 3}, rows.data());
  EXPECT_EQ(lookups, 1) << "lookups of one call";
}

// --- 18: the threads of a server

// The processor decides how many requests are handled at once: with one processor, one.
TEST(Fault18, AsManyHandlersAsProcessors) {
  cpu_set_t all, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;
  bool open = false;
  FrameServer server({.security = kTestSecurity}, [&](const Peer&, Frame request, Answer& answer) {
    {
      std::unique_lock lock(mutex);
      ++inside;
      changed.notify_all();
      changed.wait(lock, [&] { return open; });
    }
    answer(std::move(request));
  });
  Network network;
  Connection connection(network, {.address = address_of(server.port()), .security = kTestSecurity});
  std::vector<Pending> answers;
  for (int i = 0; i < 4; ++i) answers.push_back(connection.send({}, in(Milliseconds(60000))));
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, Milliseconds(60000), [&] { return inside >= 1; }));
    EXPECT_FALSE(changed.wait_for(lock, Milliseconds(2000), [&] { return inside >= 2; }))
        << "two requests are handled at once on one processor";
    open = true;
  }
  changed.notify_all();
  for (Pending& answer : answers) answer.get();
  ::sched_setaffinity(0, sizeof all, &all);
}

// --- 19: a table that is replaced while its slots move

TEST(Fault19, TablesAreReplacedWhileSlotsMove) {
  const auto store = make_memory_store();
  const checkpoint::MemoryDirectory folder;
  std::optional<ServerKeeper> keeper;
  ParameterServer server(
      {.transport = {.security = kTestSecurity}, .other = [&](Shard& shard) {
         keeper.emplace(*store, shard, KeeperOptions{.name = "server_0", .folder = folder.path()});
         return
             [&](const Frame& request, Answer& answer) { return keeper->handle(request, answer); };
       }});
  constexpr std::uint32_t kTables = 20;
  LoadOrder load;
  for (std::uint32_t table = 0; table < kTables; ++table) {
    TableDeclaration declaration = count_table();
    declaration.options.name += std::to_string(table);
    load.declared.tables[table] = to_bytes(declaration);
  }
  std::atomic<bool> stop = false;
  std::vector<std::thread> movers;
  for (std::uint32_t mover = 0; mover < 4; ++mover) {
    movers.emplace_back([&, mover] {
      for (std::uint32_t table = mover; !stop; table = (table + 1) % kTables) {
        Frame drop = order(Op::drop_slots);
        drop.header.table = table;
        *drop.payload.extend<SlotRange>(1) = {0, 1};
        Answer nobody(nullptr, 0, 0);
        keeper->handle(drop, nobody);
      }
    });
  }
  Network network;
  Connection connection(network, {.address = address_of(server.port()), .security = kTestSecurity});
  const Deadline until = in(Milliseconds(60000));
  for (int i = 0; i < 2000 && Clock::now() < until; ++i) {
    Frame request = order(Op::load, text_of(load));
    request.header.sequence = 1;
    EXPECT_EQ(connection.ask(std::move(request), in(Milliseconds(60000))).header.code, Code::ok);
  }
  stop = true;
  for (std::thread& mover : movers) mover.join();
  server.stop(in(Milliseconds(0)));
  keeper.reset();
}

}  // namespace
}  // namespace trireme::distributed
