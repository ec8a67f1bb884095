#include "distributed/control/mover.h"

#include <gtest/gtest.h>

#include "distributed/control/testing/job_control.h"

namespace trireme::distributed {
namespace {

// A smaller checkpoint could not be restored: trainers declare tables while it is written, for
// example at the start.
TEST(Mover, KnowsWhetherAllServersHaveAll) {
  DenseDeclaration dense;
  dense.name = "w";
  dense.rows = 2;
  dense.columns = 1;
  const Declarations first{{{0, "table"}}, {{3, to_bytes(dense)}}, {{3, {0}}}};
  EXPECT_TRUE(together({first, {{{0, "table"}}, {{3, to_bytes(dense)}}, {}}}).whole);
  EXPECT_FALSE(together({first, {}}).whole) << "a table is at one server";
  EXPECT_FALSE(together({{{}, {{3, to_bytes(dense)}}, {}}}).whole) << "no server has the block";
  const Declarations other{{{1, "other"}}, {}, {}};
  EXPECT_FALSE(together({first, other}).whole) << "each has one that the other has not";
  EXPECT_TRUE(together({{}, {}}).whole);
}

TEST(Mover, MovesAsMuchAsThePauseAllows) {
  constexpr std::uint64_t kMax = 64000;
  EXPECT_EQ(next_bytes(16000, 0.05, kMax), 8000U) << "half of what took twice as long as it should";
  EXPECT_EQ(next_bytes(16000, 0.02, kMax), 20000U);
  EXPECT_EQ(next_bytes(16000, 0.001, kMax), 32000U) << "no more than twice as much";
  EXPECT_EQ(next_bytes(16000, 0, kMax), 32000U);
  EXPECT_EQ(next_bytes(60000, 0.02, kMax), kMax);
  EXPECT_EQ(next_bytes(16000, 10, kMax), 1001U) << "moves go on, however long one took";
  EXPECT_EQ(next_bytes(0, 0.01, 0), 1U);
}

// Two servers, and a table with wide rows.
class MoverOf : public ::testing::Test {
 protected:
  MoverOf() {
    for (const char* const name : {"server_0", "server_1"})
      servers_.push_back(std::make_unique<TestServer>(*store_, name, 2, ""));
    for (const ProcessEntry& server : ProcessRegistry(*store_, kJob).list("server"))
      view_.addresses.push_back(server.address);
    server_clients_.aim(view_.addresses, 2);
    set_map(SlotMap::balanced(2));
    ClientOptions options{.view = [this] { return view_; }, .security = kTestSecurity};
    client_ = std::make_unique<ParameterClient>(network_, options);
    TableDeclaration table;
    table.options.name = "wide";
    table.options.width = kWidth;
    table.options.rule = RowRule::adagrad();
    client_->declare(0, table);
  }

  void set_map(const SlotMap& map) {
    view_.map = map;
    server_clients_.set_map(map);
  }
  // Pushes to `rows` rows of one slot, for a task with this number.
  void push(int slot, std::size_t rows, std::uint32_t task) {
    constexpr std::size_t kBatch = 64;
    std::vector<float> gradients(kBatch * kWidth);
    for (std::size_t i = 0; i < gradients.size(); ++i)
      gradients[i] = static_cast<float>(i % 1001) - 500;
    std::vector<Id> ids;
    for (std::size_t row = 0; row < rows; ++row) {
      ids.push_back(id_of((static_cast<std::uint64_t>(slot) << 50) + 977 * row + 1));
      if (ids.size() < kBatch && row + 1 < rows) continue;
      client_->push(0, ids, gradients.data(), {.rate = 0.1},
                    PushId::of_task(task, 0, static_cast<std::uint32_t>(row / kBatch)));
      ids.clear();
    }
  }
  SparseTable& table(std::size_t server) { return *servers_[server]->shard().table(0); }
  Frame read(const SlotsAsked& asked) {
    Frame frame = order(Op::read_slots);
    *frame.payload.extend<SlotsAsked>(1) = asked;
    return server_clients_.ask(0, std::move(frame), Milliseconds(60000));
  }

  static constexpr std::size_t kWidth = 1024;
  const std::unique_ptr<Store> store_ = make_memory_store();
  std::vector<std::unique_ptr<TestServer>> servers_;
  Network network_;
  ServerView view_;
  std::unique_ptr<ParameterClient> client_;
  ServerClients server_clients_{network_, kTestSecurity,
                                [](std::size_t, const std::string&) { return false; }};
  Mover mover_{server_clients_};
};

TEST_F(MoverOf, SlotsLargerThanAFrame) {
  push(5, 10, 1);
  push(6, 3000, 2);  // 24 MB
  push(7, 3, 3);
  ASSERT_GT(3000 * table(0).row_bytes(), kLargestFrame);
  const std::uint64_t digest = table(0).digest(), of_large = table(0).digest(6, 7);
  const SlotMove move{5, 8, 0, 1};
  const SlotMap next = view_.map.moved(move.first, move.last, move.to);
  for (int leader = 1; leader <= 2; ++leader) {  // the second after the first has died
    mover_.prepare(move);
    EXPECT_EQ(mover_.copy(move, next), 3013U);
    EXPECT_EQ(table(1).digest(6, 7), of_large);
    EXPECT_EQ(table(1).digest(), digest);
  }
  set_map(next);
  mover_.drop(move);
  EXPECT_EQ(table(0).statistics().rows, 0U);
  EXPECT_EQ(client_->digest(0), digest);
  // The new server knows the applied pushes, also of the large slot.
  push(5, 10, 1);
  push(6, 64, 2);
  EXPECT_EQ(client_->digest(0), digest);
  push(6, 64, 4);
  EXPECT_NE(client_->digest(0), digest);
}

// Marks and steps are in the first page of a slot, not in later ones.
TEST_F(MoverOf, ASlotComesInPages) {
  push(9, 40, 1);
  SlotsAsked asked{.slots = {9, 12}, .bytes = 80000};  // about ten rows
  std::uint32_t rows = 0, pages = 0;
  for (;; ++pages) {
    const Frame answer = read(asked);
    PayloadReader reader(answer.payload);
    const auto head = reader.value<SlotsHead>();
    rows += answer.header.count;
    EXPECT_EQ(head.slots.first, 9);
    EXPECT_EQ(head.parts & kInside, pages == 0 ? 0 : kInside);
    std::vector<DedupEntry> entries;
    bool of_slot = false;
    for (const DedupEntry& entry : reader.values(head.dedup_entries, entries))
      of_slot |= entry.slot == 9;
    EXPECT_EQ(of_slot, pages == 0);
    if ((head.parts & kUnfinished) == 0) break;
    EXPECT_EQ(head.slots.last, 10);
    ASSERT_TRUE(pages == 0 || head.until > asked.after);
    asked.inside = 1;
    asked.after = head.until;
  }
  EXPECT_EQ(rows, 40U);
  EXPECT_EQ(pages, 3U);
}

}  // namespace
}  // namespace trireme::distributed
