// Slots that move between servers, and invalid requests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/testing/error.h"
#include "distributed/server/testing/cluster.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

// Sends requests to a shard over the network; orders of the leader with that epoch.
class Asker {
 public:
  explicit Asker(Cluster& cluster, std::uint64_t epoch = 1) : cluster_(cluster), epoch_(epoch) {}
  Frame operator()(std::size_t server, Op op, std::uint32_t table, Payload payload,
                   std::uint32_t count = 0) {
    Connection connection(network_, {.address = cluster_.view().addresses[server],
                                     .service = kParameterService,
                                     .security = kTestSecurity});
    Frame frame{.header = {.op = static_cast<std::uint8_t>(op)}, .payload = std::move(payload)};
    frame.header.table = table;
    frame.header.count = count;
    frame.header.map_version = cluster_.view().map.version();
    if (op >= Op::read_slots && op <= Op::dense_drop) frame.header.sequence = epoch_;
    return connection.ask(std::move(frame), in(Milliseconds(60000)));
  }

 private:
  Cluster& cluster_;
  const std::uint64_t epoch_;
  Network network_;
};

template <class T>
Payload payload_of(const T& value) {
  Payload payload;
  *payload.extend<T>(1) = value;
  return payload;
}
Payload range(std::int32_t first, std::int32_t last) { return payload_of(SlotRange{first, last}); }

// Moves the slots to the servers of the new map without other requests. Returns the number of moved
// rows.
std::uint64_t move_slots(Cluster& cluster, const SlotMap& to, std::uint32_t table) {
  Asker ask(cluster);
  const SlotMap from = cluster.view().map;
  std::vector<std::pair<std::size_t, Payload>> gone;  // by the server that had them
  for (std::int32_t first = 0; first < kSlots;) {
    std::int32_t last = first + 1;
    while (last < kSlots && from.owner(last) == from.owner(first) &&
           to.owner(last) == to.owner(first))
      ++last;
    const auto old_place = static_cast<std::size_t>(from.owner(first)),
               place = static_cast<std::size_t>(to.owner(first));
    std::int32_t next = old_place == place ? last : first;
    while (next < last) {
      const SlotsAsked asked{.slots = {next, last}, .bytes = 10000};  // a few slots at a time
      const Frame slots = ask(old_place, Op::read_slots, table, payload_of(asked));
      EXPECT_EQ(slots.header.code, Code::ok) << slots.payload.text();
      EXPECT_EQ(ask(place, Op::insert_slots, table, slots.payload).header.code, Code::ok);
      const auto head = PayloadReader(slots.payload).value<SlotsHead>();
      EXPECT_EQ(head.parts, 0U);
      next = head.slots.last;
    }
    if (old_place != place) gone.emplace_back(old_place, range(first, last));
    first = last;
  }
  cluster.set_map(to);
  std::uint64_t rows = 0;
  for (const auto& [place, slots] : gone) {
    const std::uint64_t before = cluster.shard(place).table(table)->statistics().rows;
    EXPECT_EQ(ask(place, Op::drop_slots, table, slots).header.code, Code::ok);
    rows += before - cluster.shard(place).table(table)->statistics().rows;
  }
  return rows;
}

TEST(Slots, FromFourServersToThreeAndBack) {
  Cluster cluster(4);
  ParameterClient client(cluster.network(), cluster.client());
  const TableDeclaration declaration = {.options = small_options(RowRule::adagrad(), 3)};
  client.declare(0, declaration);
  Batches batches(4);
  SparseTable one(declaration.options);
  const auto train = [&] {
    for (int step = 1; step <= 10; ++step) {
      const std::vector<Id> ids = batches.ids(300, 3000);
      const std::vector<float> gradients = batches.floats(3 * ids.size());
      client.push(0, ids, gradients.data(), {0.1, step});
      one.update(ids, gradients.data(), {0.1, step});
    }
  };
  train();
  for (const int servers : {3, 4}) {
    const double rows = static_cast<double>(one.statistics().rows);
    const std::uint64_t moved = move_slots(cluster, cluster.view().map.moved_to(servers), 0);
    EXPECT_NEAR(static_cast<double>(moved) / rows, 0.25,
                0.04);  // a quarter of the slots; rows lie at random
    EXPECT_EQ(client.digest(0), one.digest());
    train();
    EXPECT_EQ(client.digest(0), one.digest());
  }
  EXPECT_GE(client.statistics().maps, 2u);
  EXPECT_EQ(cluster.shard(3).table(0)->digest(0, kSlots) + cluster.shard(2).table(0)->digest() +
                cluster.shard(1).table(0)->digest() + cluster.shard(0).table(0)->digest(),
            one.digest());
}

// A push whose answer was lost counts once, although its slots moved before it is repeated.
TEST(Slots, WhatWasAppliedIsKnownWhereverTheSlotsGo) {
  Cluster cluster(3);
  ParameterClient first(cluster.network(), cluster.client(1)),
      second(cluster.network(), cluster.client(2));
  first.declare(0, count_table());
  second.declare(0, count_table());
  std::vector<Id> ids(500);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  const std::vector<float> gradients(1000, -1);
  std::mt19937 random(2);
  for (std::uint32_t batch = 0; batch < 6; ++batch) {
    // The first attempt reaches some of the servers.
    std::vector<Id> some;
    for (const Id id : ids) {
      if (cluster.view().map.owner(slot_of(id)) != static_cast<int>(batch % 3)) some.push_back(id);
    }
    first.push(0, some, gradients.data(), {.rate = 1}, PushId::of_task(7, 0, batch));
    move_slots(cluster, cluster.view().map.moved_to(batch % 2 == 0 ? 2 : 3), 0);
    second.push(0, ids, gradients.data(), {.rate = 1}, PushId::of_task(7, 0, batch));
    std::vector<float> rows(1000);
    first.lookup(0, ids, rows.data());
    ASSERT_EQ(rows, std::vector<float>(1000, static_cast<float>(batch) + 1));
  }
}

TEST(Slots, DenseBlocksMove) {
  Cluster cluster(2);
  ParameterClient client(cluster.network(), cluster.client());
  const std::vector<float> weights = Batches(1).floats(100);
  client.declare({{5, {.name = "w", .rows = 10, .columns = 10, .rule = RowRule::adam()}, weights}});
  client.push(5, weights.data(), {.rate = 0.1}, PushId::of_task(1, 0, 0));
  std::vector<float> before(100), after(100);
  client.pull(5, before.data());
  Asker ask(cluster);
  const Frame block = ask(0, Op::dense_read, 5, {});
  ASSERT_EQ(block.header.code, Code::ok);
  EXPECT_EQ(ask(1, Op::dense_insert, 5, block.payload).header.code, Code::ok);
  EXPECT_EQ(ask(0, Op::dense_drop, 5, {}).header.code, Code::ok);
  EXPECT_EQ(ask(0, Op::dense_read, 5, {}).header.code, Code::wrong_map);
  ClientOptions options = cluster.client(2);
  options.spread = [](const auto& blocks, int) { return std::vector<int>(blocks.size(), 1); };
  ParameterClient other(cluster.network(), options);
  other.declare({{5, {.name = "w", .rows = 10, .columns = 10, .rule = RowRule::adam()}, weights}});
  other.push(5, weights.data(), {.rate = 0.1}, PushId::of_task(1, 0, 0));  // again
  other.pull(5, after.data());
  EXPECT_EQ(after, before);
  EXPECT_EQ(ask(1, Op::dense_read, 5, {}).payload.text(), block.payload.text());
}

// The server that has rows answers, whatever map the client uses; other servers answer that they do
// not have them.
TEST(Slots, RowsAreAskedOfWhoHasThem) {
  Cluster cluster(2);
  ParameterClient client(cluster.network(), cluster.client());
  client.declare(0, count_table());
  Asker ask(cluster);
  Payload ids;
  *ids.extend<Id>(1) = 0;  // slot 14472: the second server's
  EXPECT_EQ(ask(1, Op::lookup, 0, ids, 1).header.code, Code::ok);
  EXPECT_EQ(ask(0, Op::lookup, 0, ids, 1).header.code, Code::wrong_map);
  ASSERT_TRUE(cluster.shard(1).set_map(cluster.view().map.moved(0, 1, 1), 1));
  EXPECT_EQ(ask(1, Op::lookup, 0, ids, 1).header.code, Code::ok) << "another slot has moved";
  const SlotMap away = cluster.view().map.moved(0, 1, 1).moved(14472, 14473, 0);
  ASSERT_TRUE(cluster.shard(1).set_map(away, 1));
  const Frame answer = ask(1, Op::lookup, 0, ids, 1);
  EXPECT_EQ(answer.header.code, Code::wrong_map);
  EXPECT_EQ(answer.header.map_version, 3u);
  EXPECT_EQ(cluster.shard(1).statistics().wrong_map, 1u);
}

// While the map changes repeatedly, everything counts once.
TEST(Slots, PushesWhileTheMapChanges) {
  Cluster cluster(3);
  const auto declare = [](ParameterClient& client) { client.declare(0, count_table()); };
  {
    ParameterClient client(cluster.network(), cluster.client());
    declare(client);
  }
  std::atomic<bool> stop{false};
  std::map<Id, float> counts;
  std::thread trainer([&] {
    ParameterClient client(cluster.network(), cluster.client(2));
    declare(client);
    Batches batches(3);
    while (!stop) {
      const std::vector<Id> ids = batches.ids(50, 200);
      client.push(0, ids, std::vector<float>(100, -1).data(), {.rate = 1});
      for (const Id id : ids) ++counts[id];
    }
  });
  // The slots of one server move to the next one. They are taken from it first, so that no push
  // reaches them during the move.
  Asker ask(cluster);
  for (int round = 0; round < 6; ++round) {
    const auto from = static_cast<std::size_t>(round % 3), to = (from + 1) % 3;
    const SlotMap map = cluster.view().map;
    SlotMap next = map;
    std::vector<std::pair<int, int>> runs;
    for (int slot = 0; slot < kSlots; ++slot) {
      if (map.owner(slot) != static_cast<int>(from)) continue;
      if (!runs.empty() && runs.back().second == slot) {
        ++runs.back().second;
      } else {
        runs.push_back({slot, slot + 1});
      }
    }
    ASSERT_FALSE(runs.empty());
    next = map.moved(runs[0].first, runs[0].second, static_cast<int>(to));
    ASSERT_TRUE(cluster.shard(from).set_map(next, 1));
    const SlotsAsked asked{.slots = {runs[0].first, runs[0].second}, .bytes = kLargestPage};
    const Frame slots = ask(from, Op::read_slots, 0, payload_of(asked));
    EXPECT_EQ(ask(to, Op::insert_slots, 0, slots.payload).header.code, Code::ok);
    cluster.set_map(next);
    EXPECT_EQ(ask(from, Op::drop_slots, 0, range(runs[0].first, runs[0].second)).header.code,
              Code::ok);
  }
  stop = true;
  trainer.join();
  ParameterClient client(cluster.network(), cluster.client(9));
  declare(client);
  std::vector<float> row(2);
  for (const auto& [id, count] : counts) {
    client.lookup(0, {&id, 1}, row.data(), Create::no);
    ASSERT_EQ(row[0], count) << id;
  }
}

// A deposed leader restores nothing.
TEST(Slots, ComeAndGoByTheLastLeader) {
  Cluster cluster(2);
  ParameterClient client(cluster.network(), cluster.client());
  client.declare(0, count_table());
  client.declare({{5, {.name = "w", .rows = 1, .columns = 2}, std::vector<float>{1, 2}}});
  const SlotMap map = cluster.view().map;
  int first = 0;
  while (map.owner(first) != 0) ++first;
  Asker before(cluster, 1), ask(cluster, 2);
  const SlotsAsked asked{.slots = {first, first + 1}};
  const Frame slots = before(0, Op::read_slots, 0, payload_of(asked)),
              block = before(0, Op::dense_read, 5, {});
  EXPECT_EQ(ask(1, Op::drop_slots, 0, range(first, first + 1)).header.code, Code::ok);
  EXPECT_EQ(before(1, Op::insert_slots, 0, slots.payload).header.code, Code::stale);
  EXPECT_EQ(before(1, Op::drop_slots, 0, range(first, first + 1)).header.code, Code::stale);
  EXPECT_EQ(before(1, Op::dense_insert, 5, block.payload).header.code, Code::stale);
  EXPECT_EQ(before(1, Op::dense_drop, 5, {}).header.code, Code::stale);
  EXPECT_FALSE(cluster.shard(1).set_map(map.moved(0, 1, 1), 1));
  EXPECT_EQ(ask(1, Op::insert_slots, 0, slots.payload).header.code, Code::ok);
  const Frame refused = ask(0, Op::insert_slots, 0, slots.payload);
  EXPECT_EQ(refused.header.code, Code::refused);
  EXPECT_THAT(refused.payload.text(), HasSubstr("is not replaced"));
}

TEST(Slots, WhatCannotBeIsRefused) {
  Cluster cluster(1);
  ParameterClient client(cluster.network(), cluster.client());
  client.declare(0, count_table());
  Asker ask(cluster);
  const auto refused = [&](Op op, Payload payload, std::uint32_t count = 0) {
    const Frame answer = ask(0, op, 0, std::move(payload), count);
    EXPECT_EQ(answer.header.code, Code::refused) << static_cast<int>(op);
    return answer.payload.text();
  };
  EXPECT_THAT(refused(Op::lookup, Payload("1234567"), 1), HasSubstr("too early"));
  EXPECT_THAT(refused(Op::lookup, Payload("123456789"), 1), HasSubstr("too many"));
  EXPECT_THAT(refused(Op::lookup, {}, 0xffffffffu), HasSubstr("too early"));
  EXPECT_THAT(refused(Op::push, Payload("x")), HasSubstr("too early"));
  EXPECT_THAT(refused(Op::read_slots, Payload(std::string(sizeof(SlotsAsked), '\xff'))),
              HasSubstr("range"));
  EXPECT_THAT(refused(Op::drop_slots, range(0, 1)), HasSubstr("this server's"));
  EXPECT_THAT(refused(Op::digest, range(-1, 5)), HasSubstr("range"));
  EXPECT_THAT(refused(Op::declare_table, Payload("x")), HasSubstr("too early"));
  EXPECT_THAT(refused(Op::declare_dense, Payload("x")), HasSubstr("too early"));
  EXPECT_THAT(refused(Op::dense_insert, Payload("x")), HasSubstr("too early"));
  EXPECT_THAT(refused(Op::set_map, Payload("x")), HasSubstr("slot map"));
  EXPECT_THAT(refused(Op::set_members, {}, 1u << 20), HasSubstr("members"));
  EXPECT_THAT(refused(static_cast<Op>(99), {}), HasSubstr("99"));
  EXPECT_EQ(ask(0, Op::get_map, 0, {}).payload.text(), cluster.view().map.to_bytes());
  EXPECT_THAT(ask(0, Op::statistics, 0, {}).payload.text(), HasSubstr("pushes 0\n"));
}

}  // namespace
}  // namespace trireme::distributed
