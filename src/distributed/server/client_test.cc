// Clients and servers in one process.

#include "distributed/server/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <thread>

#include "base/testing/error.h"
#include "base/testing/wait_until.h"
#include "distributed/server/testing/cluster.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

// The same calls on servers and on one local table give the same bits.
void compare_with_one_table(int servers, const TableDeclaration& declaration,
                            std::size_t part_bytes) {
  Cluster cluster(servers);
  ClientOptions options = cluster.client();
  options.part_bytes = part_bytes;
  ParameterClient client(cluster.network(), options);
  client.declare(3, declaration);
  SparseTable one(declaration.options);
  const auto width = static_cast<std::size_t>(declaration.options.width);
  Batches batches(static_cast<unsigned>(servers));
  for (int step = 1; step <= 30; ++step) {
    const std::vector<Id> ids = batches.ids(batches.below(300), 200);
    std::vector<float> rows(ids.size() * width), expected(rows);
    const Create create = batches.below(2) == 0 ? Create::yes : Create::no;
    client.lookup(3, ids, rows.data(), create);
    // A repeated id is sent once and counts once for admission.
    std::vector<Id> unique(ids);
    std::sort(unique.begin(), unique.end());
    unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
    std::vector<float> ignored(unique.size() * width);
    one.lookup(unique, ignored.data(), create);
    one.lookup(ids, expected.data(), Create::no);
    ASSERT_EQ(rows, expected);
    const std::vector<float> gradients = batches.floats(ids.size() * width);
    if (declaration.mode == Mode::geo) {
      client.push_deltas(3, ids, gradients.data());
      one.add_deltas(ids, gradients.data());
    } else {
      client.push(3, ids, gradients.data(), {0.1, step});
      one.update(ids, gradients.data(), {0.1, step});
    }
    // Sums of these are exact in any order.
    std::vector<float> counts = batches.floats(2 * ids.size(), 0, 1);
    for (float& count : counts) count = std::round(4 * count);
    client.count(3, ids, counts.data());
    // Repeated ids are sent once, with the sum of their counts.
    std::map<Id, std::array<float, 2>> sums;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      for (std::size_t j = 0; j < 2; ++j) sums[ids[i]][j] += counts[2 * i + j];
    }
    for (const auto& [id, sum] : sums) one.count({&id, 1}, sum.data());
  }
  EXPECT_EQ(client.digest(3), one.digest());
  EXPECT_GT(one.statistics().rows, 100u);
}

TEST(ParameterClient, GivesTheBitsOfOneTable) {
  for (const int servers : {1, 2, 4}) {
    compare_with_one_table(servers, {.options = small_options(RowRule::adagrad())}, 1u << 20);
    compare_with_one_table(servers, {.options = small_options(RowRule::adam())},
                           300);  // many parts
    TableDeclaration declaration = {.options = small_options(RowRule::ftrl(1, 0.01, 0.1)),
                                    .mode = Mode::geo};
    declaration.options.float16 = true;
    compare_with_one_table(servers, declaration, 2000);
  }
}

// Fault 17: a request was sent again after each attempt, and the late answer to the earlier one was
// dropped. So a server that took longer was asked more and more, and no call ended.
TEST(ParameterClient, ASlowServerIsAskedOnce) {
  Shard shard({});
  ASSERT_TRUE(shard.set_map(SlotMap::balanced(1), 1));
  std::atomic<int> views = 0, lookups = 0;
  FrameServer server({.service = kParameterService, .security = kTestSecurity},
                     [&](const Peer& peer, Frame request, Answer& answer) {
                       if (static_cast<Op>(request.header.op) == Op::lookup) {
                         ++lookups;
                         EXPECT_TRUE(wait_until([&] { return views >= 6; }));  // some attempts
                       }
                       shard.handle(peer, std::move(request), answer);
                     });
  ClientOptions options;
  options.view = [&] {
    ++views;
    return ServerView{SlotMap::balanced(1), {"127.0.0.1:" + std::to_string(server.port())}};
  };
  options.security = kTestSecurity;
  options.attempt = Milliseconds(20);
  options.deadline = Milliseconds(60000);
  Network network;
  ParameterClient client(network, options);
  client.declare(0, count_table());
  const std::vector<Id> ids = {1, 2, 3};
  std::vector<float> rows(6, 7);
  client.lookup(0, ids, rows.data());
  EXPECT_EQ(rows, std::vector<float>(6, 0));
  EXPECT_EQ(lookups, 1);
  EXPECT_EQ(client.statistics().again, 0u);
}

TEST(ParameterClient, AdmissionCountsCalls) {
  Cluster cluster(2);
  ParameterClient client(cluster.network(), cluster.client());
  TableDeclaration declaration = count_table();
  declaration.options.admission = 2;
  client.declare(0, declaration);
  const std::vector<Id> ids = {5, 5, 5};
  std::vector<float> rows(6);
  client.lookup(0, ids, rows.data());
  EXPECT_EQ(
      cluster.shard(0).table(0)->statistics().rows + cluster.shard(1).table(0)->statistics().rows,
      0u);
  client.lookup(0, ids, rows.data());
  EXPECT_EQ(
      cluster.shard(0).table(0)->statistics().rows + cluster.shard(1).table(0)->statistics().rows,
      1u);
}

TEST(ParameterClient, DeclarationsAreTheSameOrAnError) {
  Cluster cluster(2);
  ParameterClient client(cluster.network(), cluster.client()),
      other(cluster.network(), cluster.client(2));
  client.declare(1, count_table());
  other.declare(1, count_table());
  TableDeclaration wider = count_table();
  wider.options.width = 3;
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { other.declare(1, wider); }),
              HasSubstr("other options"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { other.declare(1, count_table(Mode::geo)); }),
              HasSubstr("other options"));
  TableDeclaration spilling = count_table();
  spilling.options.name = "cold";
  spilling.spill = true;
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { other.declare(2, spilling); }), HasSubstr("folder"));
  std::vector<float> rows(2);
  const Id id = 1;
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { other.lookup(7, {&id, 1}, rows.data()); }),
              HasSubstr("not been declared"));
  EXPECT_THAT(
      error_of(ErrorKind::usage, [&] { client.push(1, {&id, 1}, rows.data(), {.rate = 0}); }),
      HasSubstr("rate 0"));
  EXPECT_THAT(
      error_of(ErrorKind::usage, [&] { client.push(1, {&id, 1}, rows.data(), {.step = 0}); }),
      HasSubstr("step 0"));
}

TEST(ParameterClient, ARestartedServerIsToldOfItsTables) {
  Cluster cluster(2);
  ParameterClient client(cluster.network(), cluster.client());
  client.declare(0, count_table());
  cluster.lose(1);
  std::thread leader([&] { cluster.shard(1).set_map(cluster.view().map, 2); });
  std::vector<Id> ids(100);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  std::vector<float> rows(200);
  client.lookup(0, ids, rows.data());
  leader.join();
  EXPECT_GT(cluster.shard(1).table(0)->statistics().rows, 10u);
  EXPECT_GT(client.statistics().again, 0u);
}

TEST(ParameterClient, StrangersGetNothing) {
  Cluster cluster(1);
  ClientOptions options = cluster.client();
  options.security.token = "wrong";
  options.deadline = Milliseconds(2000);
  ParameterClient stranger(cluster.network(), options);
  // It contains the last reason, which on a slow machine may be a timeout.
  EXPECT_TRUE(wait_until([&] {
    return error_of(ErrorKind::io, [&] { stranger.declare(0, count_table()); }).find("token") !=
           std::string::npos;
  }));
  EXPECT_EQ(cluster.server(0).statistics().requests, 0u);
}

// Another process may take its port before its replacement starts.
TEST(ParameterClient, GoesOnWhereItsServerIsNowWhoeverHasTheOldPort) {
  Cluster cluster(2);
  ParameterClient client(cluster.network(), cluster.client());
  client.declare(0, count_table());
  const std::string old = cluster.view().addresses[1];
  cluster.cut_network(1);
  const auto other = testing::at_old_port([&] {
    return std::make_unique<FrameServer>(
        FrameServerOptions{.address = old, .security = kTestSecurity},  // and of another service
        [](const Peer&, const Frame&, const Answer&) {});
  });
  std::thread leader([&] {
    for (int i = 0; i < 2000 && other->statistics().unauthenticated_peers == 0; ++i) {
      std::this_thread::sleep_for(Milliseconds(5));
    }
    cluster.open_network(1, "127.0.0.1:0");
  });
  std::vector<float> rows(200);
  std::vector<Id> ids(100);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  client.lookup(0, ids, rows.data());
  leader.join();
  EXPECT_GT(other->statistics().unauthenticated_peers, 0u);
  EXPECT_NE(cluster.view().addresses[1], old);
}

TEST(ParameterClient, PrefetchedRowsComeWhileOtherThingsAreDone) {
  Cluster cluster(3);
  ParameterClient client(cluster.network(), cluster.client());
  client.declare(0, count_table());
  Batches batches(1);
  std::map<Id, float> counts;
  std::vector<Id> next = batches.ids(50, 100);
  std::vector<float> rows(100), next_rows(100);
  Underway fetched = client.prefetch(0, next, next_rows.data());
  std::vector<Underway> pushes;
  for (int step = 0; step < 40; ++step) {
    fetched.wait();
    const std::vector<Id> ids = next;
    rows = next_rows;
    next = batches.ids(50, 100);
    fetched = client.prefetch(0, next, next_rows.data());  // at most two pushes old
    pushes.push_back(client.start_push(0, ids, std::vector<float>(100, -1).data(), {.rate = 1}));
    for (const Id id : ids) ++counts[id];
    if (pushes.size() == 2) {
      pushes.front().wait();
      pushes.erase(pushes.begin());
    }
  }
  fetched.wait();
  for (Underway& push : pushes) push.wait();
  for (const auto& [id, count] : counts) {
    client.lookup(0, {&id, 1}, rows.data(), Create::no);
    EXPECT_EQ(rows[0], count);
  }
}

TEST(ParameterClient, TooManyPushesUnderWayAreRefused) {
  Cluster cluster(1);
  ParameterClient client(cluster.network(), cluster.client());
  client.declare(0, count_table());
  const Id id = 1;
  const std::vector<float> gradient(2, -1);
  std::vector<Underway> pushes;
  const auto start = [&] {
    pushes.push_back(client.start_push(0, {&id, 1}, gradient.data(), {.rate = 1}));
  };
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         for (int i = 0; i < 70; ++i) start();
                       }),
              HasSubstr("wait for it"));
  EXPECT_EQ(pushes.size(), 64u);
  pushes.front().wait();
  start();
  for (Underway& push : pushes) push.wait();
  std::vector<float> row(2);
  client.lookup(0, {&id, 1}, row.data());
  EXPECT_EQ(row[0], 65);
}

// --- No loss, no duplicates

// Each push counts once, whatever happens to the network.
TEST(ParameterClient, PushesCountOnceThroughBrokenStreams) {
  Cluster cluster(3);
  ClientOptions options = cluster.client();
  options.attempt = Milliseconds(300);
  std::atomic<int> done{0};
  std::optional<CutStreams> cuts(std::in_place, cluster, done);
  std::vector<std::thread> trainers;
  std::vector<std::map<Id, float>> counts(2);
  for (std::uint32_t t = 0; t < 2; ++t) {
    trainers.emplace_back([&, t] {
      ClientOptions mine = options;
      mine.sender = t + 1;
      ParameterClient client(cluster.network(), mine);
      client.declare(0, count_table());
      Batches batches(t);
      for (int step = 0; step < 15; ++step) {
        const std::vector<Id> ids = batches.ids(60, 100);
        client.push(0, ids, std::vector<float>(120, -1).data(), {.rate = 1});
        for (const Id id : ids) ++counts[t][id];
        ++done;
      }
    });
  }
  for (std::thread& trainer : trainers) trainer.join();
  cuts.reset();
  ParameterClient client(cluster.network(), cluster.client(9));
  client.declare(0, count_table());
  for (const auto& [id, count] : counts[1]) counts[0][id] += count;
  std::vector<float> row(2);
  for (const auto& [id, count] : counts[0]) {
    client.lookup(0, {&id, 1}, row.data(), Create::no);
    ASSERT_EQ(row[0], count) << id;
  }
}

// Another trainer repeats a task: each of its batches counts once.
TEST(ParameterClient, BatchesOfATaskCountOnceWhoeverPushesThem) {
  Cluster cluster(2);
  ParameterClient first(cluster.network(), cluster.client(1)),
      second(cluster.network(), cluster.client(2));
  first.declare(0, count_table());
  second.declare(0, count_table());
  std::map<Id, float> counts;
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
    for (std::uint32_t task = 0; task < 3; ++task) {
      const auto push = [&](ParameterClient& client, std::uint32_t batch) {
        Batches batches(100 * task + batch);  // a task's batches are always the same
        const std::vector<Id> ids = batches.ids(20, 30);
        client.push(0, ids, std::vector<float>(40, -1).data(), {.rate = 1},
                    PushId::of_task(task, epoch, batch));
        return ids;
      };
      for (std::uint32_t batch = 0; batch < 4; ++batch) push(first, batch);  // and is gone
      for (std::uint32_t batch = 0; batch < 10; ++batch) {
        for (const Id id : push(second, batch)) ++counts[id];
        if (batch == 5) push(first, 4);  // a zombie
      }
    }
  }
  std::vector<float> row(2);
  for (const auto& [id, count] : counts) {
    first.lookup(0, {&id, 1}, row.data(), Create::no);
    EXPECT_EQ(row[0], count) << id;
  }
  EXPECT_GT(second.statistics().duplicates, 0u);
}

// On a slow machine anything may take longer than so short a time.
void persist(const std::function<void()>& work) {
  for (int i = 0; i < 200; ++i) {
    try {
      return work();
    } catch (const Unavailable&) {
    }
  }
  ADD_FAILURE() << "servers do not answer";
}

TEST(ParameterClient, AtTheDeadlineItGivesUpAndMayGoOn) {
  Cluster cluster(2);
  ClientOptions options = cluster.client();
  options.deadline = Milliseconds(100);
  ParameterClient client(cluster.network(), options);
  persist([&] { client.declare(0, count_table()); });
  cluster.cut_network(1);
  std::vector<Id> ids(100);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  const std::vector<float> gradients(200, -1);
  Underway push = client.start_push(0, ids, gradients.data(), {.rate = 1});
  EXPECT_THROW(push.wait(), Unavailable);
  cluster.open_network(1);
  persist([&] { push.wait(); });
  std::vector<float> rows(200);
  persist([&] { client.lookup(0, ids, rows.data()); });
  EXPECT_EQ(rows, std::vector<float>(200, 1));
}

// --- Dense parameters

TEST(ParameterClient, DenseParametersInBlocksOnAllServers) {
  for (const Spread& spread :
       {Spread(spread_by_size), Spread(spread_round_robin), Spread(spread_by_hash)}) {
    Cluster cluster(3);
    ClientOptions options = cluster.client();
    options.spread = spread;
    ParameterClient client(cluster.network(), options), other(cluster.network(), options);
    Batches batches(2);
    const std::vector<float> a = batches.floats(700 * 300), b = batches.floats(5),
                             c = batches.floats(90000);
    const auto declaration = [](const char* name, std::int64_t rows, std::int64_t columns,
                                Mode mode = Mode::asynchronous) {
      return DenseDeclaration{
          .name = name, .rows = rows, .columns = columns, .rule = RowRule::adagrad(), .mode = mode};
    };
    client.declare({{0, declaration("a", 700, 300), a},
                    {1, declaration("b", 1, 5), b},
                    {2, declaration("c", 1, 90000, Mode::geo), c}});
    const std::vector<float> zeros(700 * 300);
    other.declare({{0, declaration("a", 700, 300), zeros},
                   {1, declaration("b", 1, 5), {zeros.data(), 5}},
                   {2, declaration("c", 1, 90000, Mode::geo), {zeros.data(), 90000}}});
    std::vector<float> pulled(a.size()), few(5), row(90000);
    other.pull(0, pulled.data());
    EXPECT_EQ(pulled, a);  // the first client's
    const std::vector<float> gradient = batches.floats(a.size());
    other.push(0, gradient.data(), {.rate = 0.5});
    client.pull(0, pulled.data());
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double g = gradient[i];
      ASSERT_NEAR(pulled[i], a[i] - 0.5 * g / (std::sqrt(g * g) + 1e-10), 1e-5);
    }
    client.push(2, c.data(), {});
    client.pull(2, row.data());
    for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(row[i], c[i] + c[i]);
    client.pull(1, few.data());
    EXPECT_EQ(few, b);
  }
}

TEST(ParameterClient, DensePushesOfATaskCountOnce) {
  Cluster cluster(2);
  ParameterClient client(cluster.network(), cluster.client());
  const std::vector<float> weights(5);
  const std::vector<float> gradient(5, -1);
  client.declare({{0, {.name = "w", .rows = 1, .columns = 5}, weights}});
  for (int again = 0; again < 3; ++again)
    client.push(0, gradient.data(), {.rate = 1}, PushId::of_task(4, 0, 0));
  client.push(0, gradient.data(), {.rate = 1}, PushId::of_task(4, 0, 1));
  std::vector<float> pulled(5);
  client.pull(0, pulled.data());
  EXPECT_EQ(pulled, std::vector<float>(5, 2));
}

// Servers remember nothing of completed tasks and accept nothing for them, for example from a
// trainer that was disconnected while others completed them.
TEST(ParameterClient, OfTasksThatAreOverNothingIsTaken) {
  Cluster cluster(2);
  cluster.set_members(3, 0);
  ParameterClient client(cluster.network(), cluster.client());
  const std::vector<Id> ids = Batches(3).ids(400, 5000);
  const std::vector<float> down(2 * ids.size(), -1), weights(5), gradient(5, -1),
      counts(2 * ids.size(), 1);
  client.declare(0, count_table());
  client.declare({{0, {.name = "w", .rows = 1, .columns = 5}, weights}});
  client.join(3, 0);
  const auto push = [&](std::uint32_t task, std::uint32_t epoch, std::uint32_t batch) {
    const PushId id = PushId::of_task(task, epoch, batch);
    client.push(0, ids, down.data(), {.rate = 1}, id);
    client.count(0, ids, counts.data(), id);
    client.push(0, gradient.data(), {.rate = 1}, id);
  };
  const auto learned = [&] {
    std::vector<float> rows(2 * ids.size()), pulled(5);
    client.lookup(0, ids, rows.data());
    client.pull(0, pulled.data());
    return std::pair(rows[0], pulled[0]);
  };
  const auto entries = [&] {
    return cluster.shard(0).statistics().dedup_bytes + cluster.shard(1).statistics().dedup_bytes;
  };
  const auto over = [&](const TasksOver& tasks, std::uint32_t generation, std::uint64_t leader) {
    return cluster.shard(0).set_tasks_over(tasks, generation, leader) &&
           cluster.shard(1).set_tasks_over(tasks, generation, leader);
  };
  push(7, 1, 0);
  push(9, 1, 0);
  const std::uint64_t of_two = entries();
  const float each = learned().first / 2;  // an id may be named several times
  EXPECT_GT(of_two, 1000u);
  EXPECT_FALSE(over({1, {{7, 8}}}, 2, 1)) << "of a generation that is over";
  EXPECT_TRUE(over({1, {{7, 8}}}, 3, 5));
  EXPECT_FALSE(over({1, {{7, 10}}}, 3, 4)) << "by a leader that leads no more";
  EXPECT_LT(entries(), of_two);
  for (const std::uint32_t batch : {0, 1}) push(7, 1, batch);
  EXPECT_EQ(learned(), std::pair(2 * each, 2.0f));
  EXPECT_LT(entries(), of_two) << "it is not remembered either";
  push(9, 1, 0);
  push(9, 1, 1);
  EXPECT_EQ(learned(), std::pair(3 * each, 3.0f));
  // An older report has no effect.
  EXPECT_TRUE(over({2, {}}, 3, 5));
  EXPECT_TRUE(over({1, {{7, 10}}}, 3, 5));
  EXPECT_EQ(
      cluster.shard(0).tables().at(0).dedup_bytes + cluster.shard(1).tables().at(0).dedup_bytes,
      0u);
  push(9, 1, 2);
  push(7, 2, 0);
  EXPECT_EQ(learned(), std::pair(4 * each, 4.0f));
  // After a rollback, servers do not know which tasks were over.
  const Declarations declared = cluster.shard(0).declarations();
  for (std::size_t i = 0; i < 2; ++i) cluster.shard(i).replace(declared);
  client.declare({{0, {.name = "w", .rows = 1, .columns = 5}, weights}});
  push(9, 1, 0);
  EXPECT_EQ(learned().first, each);
}

// Also for a batch that another trainer repeats. Shows and clicks have marks separate from those of
// pushes.
TEST(ParameterClient, ABatchIsCountedOnce) {
  Cluster cluster(2);
  ParameterClient one(cluster.network(), cluster.client(1));
  ParameterClient other(cluster.network(), cluster.client(2));
  const std::vector<Id> ids = {3, 5, 5, 9};
  const std::vector<float> counts = {1, 0, 1, 1, 1, 1, 1, 0}, down(2 * ids.size(), -1);
  for (ParameterClient* client : {&one, &other}) client->declare(0, count_table());
  for (std::uint32_t batch = 0; batch < 3; ++batch) {
    for (ParameterClient* client : {&one, &other, &one}) {
      const PushId id = PushId::of_task(7, 1, batch);
      client->push(0, ids, down.data(), {.rate = 1}, id);
      client->count(0, ids, counts.data(), id);
    }
  }
  one.count(0, ids, counts.data());
  other.count(0, ids, counts.data());
  // So far each id has 5 batches with a show for each of its occurrences, and 5 with a click for
  // each.
  const auto evicted = [&](double show_weight, double click_weight, double below) {
    std::uint64_t rows = 0;
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      rows += cluster.shard(i).table(0)->evict(
          {.show_weight = show_weight, .click_weight = click_weight, .below = below});
    }
    return rows;
  };
  EXPECT_EQ(evicted(1, 0, 4.9), 0u);
  EXPECT_EQ(evicted(1, 0, 5.1), 2u);
  EXPECT_EQ(evicted(0, 1, 9.9), 0u);
  EXPECT_EQ(evicted(1, 0, 9.9), 0u);
  EXPECT_EQ(evicted(0, 1, 10.1), 1u);
  EXPECT_EQ(one.statistics().duplicates + other.statistics().duplicates, 2u * 2 * 3 * 2);
}

}  // namespace
}  // namespace trireme::distributed
