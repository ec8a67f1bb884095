// Synchronous steps and bounded staleness.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <optional>
#include <random>
#include <thread>

#include "base/testing/error.h"
#include "distributed/server/testing/cluster.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

constexpr int kWidth = 5;

TableDeclaration synchronous_table() {
  return {.options = small_options(RowRule::adagrad(), kWidth), .mode = Mode::synchronous};
}

// The pushes of a member in a step are always the same.
struct Gradients {
  Gradients(int rank, int step) {
    Batches batches(static_cast<unsigned>(1000 * step + rank));
    ids = batches.ids(batches.below(40), 60);
    values = batches.floats(ids.size() * kWidth);
  }
  std::vector<Id> ids;
  std::vector<float> values;
};

// The step of one process: the gradients of each member are summed, then those of all in the order
// of ranks.
void take_step(SparseTable& table, int members, int step) {
  std::vector<Id> ids;
  std::vector<float> values;
  for (int rank = 0; rank < members; ++rank) {
    const Gradients gradients(rank, step);
    std::map<Id, std::vector<float>> sums;
    for (std::size_t i = 0; i < gradients.ids.size(); ++i) {
      std::vector<float>& sum = sums[gradients.ids[i]];
      const bool first = sum.empty();
      sum.resize(kWidth);
      for (std::size_t j = 0; j < kWidth; ++j) {
        const float value = gradients.values[i * kWidth + j];
        sum[j] = first ? value : sum[j] + value;
      }
    }
    for (const auto& [id, sum] : sums) {
      ids.push_back(id);
      values.insert(values.end(), sum.begin(), sum.end());
    }
  }
  table.update(ids, values.data(), {0.1, step});
}

ClientOptions impatient(Cluster& cluster, std::uint32_t sender) {
  ClientOptions options = cluster.client(sender);
  options.attempt = Milliseconds(500);
  return options;
}

// Two tables: the second one has no space for the rows of the step when the first has applied them.
// No member gets the answer that the step is done, and it cannot be applied again.
TEST(Steps, AServerThatCannotApplyOneAnswersNothingMore) {
  Cluster cluster(1);
  cluster.set_members(1, 1);
  ClientOptions options = impatient(cluster, 1);
  options.deadline = Milliseconds(2000);  // all but the last calls are answered sooner
  ParameterClient client(cluster.network(), options);
  TableDeclaration small = synchronous_table();
  small.options.memory_limit = 4000;
  client.declare(0, synchronous_table());
  client.declare(1, small);
  client.join(1, 0);
  client.begin_step(1);
  std::vector<Id> ids(500);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  const std::vector<float> ones(ids.size() * kWidth, 1);
  client.push(0, ids, ones.data(), {.rate = 1});
  client.push(1, ids, ones.data(), {.rate = 1});
  EXPECT_THROW(client.finish_step(), Unavailable);
  EXPECT_TRUE(cluster.shard(0).is_broken());
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { cluster.shard(0).check(); }),
              ::testing::HasSubstr("do not fit into its memory limit of 4000 bytes"));
  std::vector<float> rows(ids.size() * kWidth);
  EXPECT_THROW(client.lookup(0, ids, rows.data()), Unavailable);
}

TEST(Steps, SynchronousTrainingGivesTheBitsOfOneProcess) {
  constexpr int kMembers = 3, kSteps = 15;
  Cluster cluster(2);
  cluster.set_members(1, kMembers);
  std::vector<std::thread> members;
  for (int rank = 0; rank < kMembers; ++rank) {
    members.emplace_back([&, rank] {
      ClientOptions options = impatient(cluster, static_cast<std::uint32_t>(rank) + 1);
      options.part_bytes = 200;
      ParameterClient client(cluster.network(), options);
      client.declare(0, synchronous_table());
      const std::vector<float> weights(10, 1);
      client.declare(
          {{0, {.name = "w", .rows = 1, .columns = 10, .mode = Mode::synchronous}, weights}});
      client.join(1, static_cast<std::uint32_t>(rank));
      for (int step = 1; step <= kSteps; ++step) {
        const Gradients gradients(rank, step);
        client.begin_step(static_cast<std::uint64_t>(step));
        client.push(0, gradients.ids, gradients.values.data(), {0.1, step});
        client.push(0, std::vector<float>(10, 0.25F).data(), {.rate = 1});
        client.finish_step();
        std::vector<float> pulled(10);
        client.pull(0, pulled.data());
        ASSERT_EQ(pulled, std::vector<float>(10, 1 - 0.75F * static_cast<float>(step)));
      }
    });
  }
  for (std::thread& member : members) member.join();
  SparseTable one(synchronous_table().options);
  for (int step = 1; step <= kSteps; ++step) take_step(one, kMembers, step);
  ParameterClient client(cluster.network(), cluster.client(9));
  client.declare(0, synchronous_table());
  EXPECT_EQ(client.digest(0), one.digest());
  EXPECT_EQ(cluster.shard(0).statistics().held, 0u);
}

// Fault 16: the gradients of all members waited, unreduced, until the step was finished. Beyond the
// limit members were answered `busy` until they gave up.
TEST(Steps, MoreGradientsThanTheLimitAreSummedInTurn) {
  constexpr int kMembers = 6, kSteps = 3;
  constexpr std::size_t kFloats = 20000;
  constexpr std::uint64_t kLimit = 3 * kFloats * sizeof(float) / 2;  // of six gradients
  Cluster cluster(1, {.held_bytes = kLimit});
  cluster.set_members(1, kMembers);
  const DenseDeclaration declaration{
      .name = "w", .rows = 1, .columns = kFloats, .mode = Mode::synchronous};
  const std::vector<float> weights(kFloats, 1);
  const auto gradient = [&](int rank, int step) {
    return Batches(static_cast<unsigned>(100 * step + rank)).floats(kFloats);
  };
  std::vector<std::unique_ptr<ParameterClient>> clients;
  for (int rank = 0; rank < kMembers; ++rank) {
    ClientOptions options = impatient(cluster, static_cast<std::uint32_t>(rank) + 1);
    options.deadline = Milliseconds(60000);
    clients.push_back(std::make_unique<ParameterClient>(cluster.network(), options));
    clients.back()->declare({{0, declaration, weights}});
    clients.back()->join(1, static_cast<std::uint32_t>(rank));
  }
  std::vector<float> wanted = weights;
  for (int step = 1; step <= kSteps; ++step) {
    std::vector<std::vector<float>> gradients;
    for (int rank = 0; rank < kMembers; ++rank) gradients.push_back(gradient(rank, step));
    std::vector<Underway> pushes;
    for (int rank = kMembers - 1; rank >= 0; --rank) {  // the last one first
      ParameterClient& client = *clients[static_cast<std::size_t>(rank)];
      client.begin_step(static_cast<std::uint64_t>(step));
      pushes.push_back(
          client.start_push(0, gradients[static_cast<std::size_t>(rank)].data(), {.rate = 1}));
    }
    std::vector<std::thread> members;
    for (int rank = 0; rank < kMembers; ++rank) {
      members.emplace_back([&, rank] {
        pushes[static_cast<std::size_t>(kMembers - 1 - rank)].wait();
        EXPECT_LE(cluster.shard(0).statistics().held, kLimit + kFloats * sizeof(float));
        clients[static_cast<std::size_t>(rank)]->finish_step();
      });
    }
    for (std::thread& member : members) member.join();
    std::vector<float> sum = gradients[0];
    for (int rank = 1; rank < kMembers; ++rank) {
      for (std::size_t i = 0; i < kFloats; ++i) {
        sum[i] += gradients[static_cast<std::size_t>(rank)][i];
      }
    }
    for (std::size_t i = 0; i < kFloats; ++i) wanted[i] -= sum[i];
  }
  std::vector<float> pulled(kFloats);
  clients[0]->pull(0, pulled.data());
  EXPECT_EQ(pulled, wanted);
  EXPECT_EQ(cluster.shard(0).statistics().held, 0u);
}

// A member fails in the middle of a step: the others are notified and repeat the step without it.
TEST(Steps, WhoLeavesCutsANewGeneration) {
  Cluster cluster(2);
  cluster.set_members(1, 2);
  ParameterClient stays(cluster.network(), cluster.client(1)),
      dies(cluster.network(), cluster.client(2));
  SparseTable one(synchronous_table().options);
  const auto push = [&](ParameterClient& client, int rank, int step) {
    const Gradients gradients(rank, step);
    client.begin_step(static_cast<std::uint64_t>(step));
    client.push(0, gradients.ids, gradients.values.data(), {0.1, step});
  };
  stays.declare(0, synchronous_table());
  dies.declare(0, synchronous_table());
  stays.join(1, 1);
  dies.join(1, 0);
  std::thread other([&] {
    push(dies, 0, 1);
    dies.finish_step();
    push(dies, 0, 2);  // and is gone
  });
  push(stays, 1, 1);
  stays.finish_step();
  take_step(one, 2, 1);
  EXPECT_EQ(stays.digest(0), one.digest());
  other.join();
  push(stays, 1, 2);
  std::thread leader([&] { cluster.set_members(2, 1); });
  EXPECT_THROW(stays.finish_step(), StaleGeneration);
  leader.join();
  EXPECT_THROW(push(dies, 0, 2), StaleGeneration);
  stays.join(2, 0);
  push(stays, 0, 2);
  push(stays, 0, 2);  // again, as after a lost answer
  stays.finish_step();
  stays.finish_step();
  take_step(one, 1, 2);
  EXPECT_EQ(stays.digest(0), one.digest());
  push(stays, 0, 2);  // too late
  stays.finish_step();
  EXPECT_EQ(stays.digest(0), one.digest());
  EXPECT_GT(stays.statistics().duplicates, 0u);
}

// Answers are lost and requests repeated, but no step is applied twice.
TEST(Steps, BrokenStreamsChangeNothing) {
  constexpr int kMembers = 2, kSteps = 12;
  Cluster cluster(2);
  cluster.set_members(1, kMembers);
  std::atomic<int> done{0};
  std::optional<CutStreams> cuts(std::in_place, cluster, done);
  std::vector<std::thread> members;
  for (int rank = 0; rank < kMembers; ++rank) {
    members.emplace_back([&, rank] {
      ParameterClient client(cluster.network(),
                             impatient(cluster, static_cast<std::uint32_t>(rank) + 1));
      client.declare(0, synchronous_table());
      client.join(1, static_cast<std::uint32_t>(rank));
      for (int step = 1; step <= kSteps; ++step) {
        const Gradients gradients(rank, step);
        client.begin_step(static_cast<std::uint64_t>(step));
        client.push(0, gradients.ids, gradients.values.data(), {0.1, step});
        client.finish_step();
        ++done;
      }
    });
  }
  for (std::thread& member : members) member.join();
  cuts.reset();
  SparseTable one(synchronous_table().options);
  for (int step = 1; step <= kSteps; ++step) take_step(one, kMembers, step);
  ParameterClient client(cluster.network(), cluster.client(9));
  client.declare(0, synchronous_table());
  EXPECT_EQ(client.digest(0), one.digest());
}

// A member that waits for its answers cannot be ahead of the others; one that does not wait is not
// believed.
TEST(Steps, ThatCannotBeAreRefused) {
  Cluster cluster(1);
  cluster.set_members(1, 2);
  ParameterClient a(cluster.network(), cluster.client(1)), b(cluster.network(), cluster.client(2));
  a.join(1, 0);
  b.join(1, 1);
  const auto finish = [](ParameterClient& client, std::uint64_t step) {
    client.begin_step(step);
    client.finish_step();
  };
  const auto refused = [&](ParameterClient& client, std::uint64_t step) {
    return error_of(ErrorKind::usage, [&] { finish(client, step); });
  };
  EXPECT_THAT(refused(a, std::uint64_t{1} << 60), HasSubstr("no member can be beyond step"));
  std::thread other([&] { finish(a, 1); });
  finish(b, 1);
  other.join();
  EXPECT_THAT(refused(b, 3), HasSubstr("has finished step 3, but no member can be beyond step 2"));
  EXPECT_THAT(refused(a, 1000), HasSubstr("beyond step 2"));
  // A generation begins approximately where the last one ended.
  cluster.set_members(2, 1);
  a.join(2, 0);
  EXPECT_THAT(refused(a, 1'000'000), HasSubstr("beyond step 1025"));
  finish(a, 2);
  finish(a, 3);
}

TEST(Steps, OrdersOfAnOldLeaderAreNotObeyed) {
  Shard shard({});
  EXPECT_TRUE(shard.set_map(SlotMap::balanced(1), 5));
  EXPECT_TRUE(shard.set_map(SlotMap::balanced(1), 5));  // again
  EXPECT_FALSE(shard.set_map(SlotMap::balanced(2, 2), 4));
  EXPECT_FALSE(shard.set_members(1, 2, 4));
  EXPECT_TRUE(shard.set_members(3, 2, 6));
  EXPECT_FALSE(shard.set_members(2, 2, 6));
  EXPECT_EQ(shard.map(), SlotMap::balanced(1));
}

}  // namespace
}  // namespace trireme::distributed
