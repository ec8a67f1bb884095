// Lookups, updates and what is created, against a plain map.

#include "distributed/table/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bitset>
#include <thread>

#include "base/testing/error.h"
#include "distributed/table/testing/table.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

constexpr Id kLast = ~Id{0};

TEST(SparseTableSlots, AreWhatTheFormatSays) {
  // From SplitMix64's published code: the first outputs for the states 0 and 1234567.
  EXPECT_EQ(hash_of(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(hash_of(1234567), 6457827717110365317u);
  EXPECT_EQ(slot_of(0), 0xe220 >> 2);
  std::bitset<kSlots> slots;
  for (Id id = 0; id < 200000; ++id) {
    slots.set(static_cast<std::size_t>(slot_of(id)));
    if (id % 32 != 0) continue;
    ASSERT_EQ(id_of(hash_of(id)), id);
    ASSERT_EQ(id_of(hash_of(~id)), ~id);
  }
  EXPECT_TRUE(slots.all());
}

void expect_like_oracle(TableOptions options, double tolerance) {
  SparseTable untouched(options);
  SparseTable table(options);
  Oracle oracle(options, untouched);
  Batches batches(static_cast<unsigned>(options.width));
  const auto width = static_cast<std::size_t>(options.width);
  for (int step = 1; step <= 40; ++step) {
    const std::vector<Id> ids = batches.ids(step == 5 ? 0 : batches.below(60), 50);
    const std::vector<float> gradients = batches.floats(ids.size() * width);
    const UpdateStep how = {.rate = 0.05 + 0.01 * (step % 3), .step = step};
    look_up(table, batches.ids(3, 50), Create::yes);
    table.update(ids, gradients.data(), how);
    oracle.update(ids, gradients, how);
    for (const Id id : batches.ids(10, 50)) {
      const std::vector<float> row = look_up(table, {id});
      for (std::size_t j = 0; j < width; ++j) {
        ASSERT_NEAR(row[j], oracle.row(id).p[j], tolerance) << "id " << id << ", step " << step;
      }
    }
  }
  EXPECT_GT(oracle.rows().size(), 40u);
}

TEST(SparseTable, FollowsTheFormulas) {
  for (const RowRule& rule :
       {RowRule::sgd(), RowRule::adagrad(), RowRule::adagrad(0.1, 1e-6), RowRule::adam(),
        RowRule::adam(0.8, 0.99, 1e-3), RowRule::ftrl(), RowRule::ftrl(0.5, 0.3, 0.2, 0.1)}) {
    for (const int width : {1, 5, 16, 33}) expect_like_oracle(small_options(rule, width), 2e-5);
  }
}

TEST(SparseTable, StoresWeightsAsHalves) {
  for (const RowRule& rule : {RowRule::sgd(), RowRule::adagrad(0.1), RowRule::adam()}) {
    for (const int width : {3, 16, rule.kind == RowRule::Kind::adam ? 300 : 8}) {
      TableOptions options = small_options(rule, width);
      options.float16 = true;
      // Each of 40 steps rounds weights of at most 2 to a multiple of 2^-10 or less.
      expect_like_oracle(options, 40 * 0x1p-11);
      SparseTable table(options);
      table.assign(std::vector<Id>{1},
                   std::vector<float>(static_cast<std::size_t>(width), 0.1f).data());
      EXPECT_EQ(look_up(table, {1})[0], 0.0999755859375f);  // the half nearest to 0.1
    }
  }
}

TEST(SparseTable, MakesTheSameRowEverywhere) {
  TableOptions options = small_options(RowRule::sgd(), 6);
  SparseTable first(options), second(options);
  const std::vector<Id> ids = {3, kLast, 0, 3, 1u << 31};
  const std::vector<float> made = look_up(first, ids, Create::yes);
  EXPECT_EQ(look_up(second, {kLast, 5}), [&] {
    std::vector<float> rows(made.begin() + 6, made.begin() + 12);
    const std::vector<float> five = look_up(first, {5});
    rows.insert(rows.end(), five.begin(), five.end());
    return rows;
  }());
  EXPECT_EQ(look_up(first, ids), made);
  EXPECT_EQ(first.statistics().rows, 4u);
  EXPECT_EQ(second.statistics().rows, 0u);
  for (const auto& change : std::vector<std::function<void(TableOptions&)>>{
           [](TableOptions& o) { o.seed = 8; }, [](TableOptions& o) { o.name = "others"; }}) {
    TableOptions other = options;
    change(other);
    SparseTable table(other);
    EXPECT_NE(look_up(table, ids), made);
  }
}

TEST(SparseTable, InitialValuesHaveTheirDistribution) {
  std::vector<Id> ids(10000);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i * 977;
  const auto moments = [&](RowInitializer initializer) {
    TableOptions options = small_options(RowRule::sgd(), 6);
    options.initializer = initializer;
    SparseTable table(options);
    const std::vector<float> x = look_up(table, ids);
    double sum = 0, squares = 0;
    for (const float value : x) sum += value, squares += double{value} * value;
    const double mean = sum / static_cast<double>(x.size());
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    return std::vector<double>{
        mean, std::sqrt(squares / static_cast<double>(x.size()) - mean * mean), *low, *high};
  };
  const std::vector<double> uniform = moments(RowInitializer::uniform(-1, 3));
  EXPECT_NEAR(uniform[0], 1, 0.02);  // 4 standard errors of 60,000 numbers
  EXPECT_NEAR(uniform[1], 4 / std::sqrt(12.0), 0.02);
  EXPECT_GE(uniform[2], -1);
  EXPECT_LE(uniform[3], 3);
  const std::vector<double> normal = moments(RowInitializer::normal(0.5, 2));
  EXPECT_NEAR(normal[0], 0.5, 0.033);
  EXPECT_NEAR(normal[1], 2, 0.024);
  EXPECT_LT(normal[2], 0.5 - 2 * 3.5);  // the tails are there
  EXPECT_GT(normal[3], 0.5 + 2 * 3.5);
  EXPECT_EQ(moments(RowInitializer::zeros()), (std::vector<double>{0, 0, 0, 0}));
}

TEST(SparseTable, AddsDeltasAndAssigns) {
  for (const bool float16 : {false, true}) {
    TableOptions options = small_options(RowRule::adagrad(), 3);
    options.float16 = float16;
    options.initializer = RowInitializer::zeros();
    SparseTable table(options);
    table.assign(std::vector<Id>{0, kLast, 0},
                 std::vector<float>{9, 9, 9, 1, 2, 3, 4, 5, 6}.data());
    EXPECT_EQ(look_up(table, {0, kLast}), (std::vector<float>{4, 5, 6, 1, 2, 3}));
    table.add_deltas(std::vector<Id>{0, 8, 0, 0},
                     std::vector<float>{1, 1, 1, 2, 2, 2, 10, 20, 30, 100, 200, 300}.data());
    EXPECT_EQ(look_up(table, {0, 8}), (std::vector<float>{115, 226, 337, 2, 2, 2}));
    // State as of a new row again: a step of AdaGrad has the length of the rate then.
    const std::vector<float> ones(3, 1);
    for (int i = 0; i < 3; ++i) table.update(std::vector<Id>{0}, ones.data(), {.rate = 1});
    table.assign(std::vector<Id>{0}, ones.data());
    table.update(std::vector<Id>{0}, ones.data(), {.rate = 1});
    EXPECT_EQ(look_up(table, {0}), (std::vector<float>{0, 0, 0}));
  }
}

TEST(SparseTable, AdmitsIdsThatComeAgain) {
  TableOptions options = small_options();
  options.admission = 3;
  SparseTable table(options);
  const std::vector<float> initial = look_up(table, {1}), ones(10, 1);
  EXPECT_EQ(look_up(table, {1, 2, 2}, Create::yes).size(), 15u);
  table.update(std::vector<Id>{1, 2}, ones.data(), {.rate = 1});
  EXPECT_EQ(look_up(table, {1}), initial);
  TableStatistics statistics = table.statistics();
  EXPECT_EQ(statistics.rows, 0u);
  EXPECT_EQ(statistics.not_admitted, 2u);
  EXPECT_EQ(statistics.dropped, 2u);
  look_up(table, {1, 2}, Create::yes);  // 2 for the third time
  table.update(std::vector<Id>{1, 2}, ones.data(), {.rate = 1});
  EXPECT_EQ(look_up(table, {1}), initial);
  EXPECT_NE(look_up(table, {2}), look_up(*std::make_unique<SparseTable>(options), {2}));
  statistics = table.statistics();
  EXPECT_EQ(statistics.rows, 1u);
  EXPECT_EQ(statistics.not_admitted, 1u);
  EXPECT_EQ(statistics.dropped, 3u);
  // Lookups that do not create do not count; an import needs no admission.
  for (int i = 0; i < 5; ++i) look_up(table, {5});
  table.assign(std::vector<Id>{6, 1}, ones.data());
  EXPECT_EQ(table.statistics().rows, 3u);
  EXPECT_EQ(table.statistics().not_admitted, 0u);
}

TEST(SparseTable, GrowsAndGivesRowsBack) {
  TableOptions options = small_options(RowRule::sgd(), 2);
  SparseTable table(options);
  std::vector<Id> ids(50000);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  const std::vector<float> made = look_up(table, ids, Create::yes);
  EXPECT_EQ(table.statistics().rows, ids.size());
  EXPECT_EQ(look_up(table, ids), made);
  const std::uint64_t memory = table.statistics().memory;
  for (int round = 0; round < 2; ++round) {
    // Every second one goes, and what stays is found.
    std::vector<Id> gone;
    for (std::size_t i = 0; i < ids.size(); i += 2) gone.push_back(ids[i]);
    table.remove(gone);
    EXPECT_EQ(table.statistics().rows, ids.size() / 2);
    EXPECT_EQ(ids_of(all_blocks(table)).size(), ids.size() / 2);
    EXPECT_EQ(look_up(table, ids), made);  // those that went have their initial value
    EXPECT_EQ(look_up(table, ids, Create::yes), made);
    EXPECT_EQ(table.statistics().memory, memory);
  }
  table.drop(0, kSlots);
  EXPECT_EQ(table.statistics().rows, 0u);
  EXPECT_EQ(table.statistics().memory, 0u);
}

TEST(SparseTable, ThreadsAtOnceLoseNothing) {
  TableOptions options = small_options(RowRule::sgd(), 3);
  options.initializer = RowInitializer::zeros();
  SparseTable table(options);
  constexpr int kThreads = 4, kCalls = 60;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&table, t] {
      Batches batches(static_cast<unsigned>(t));
      const std::vector<float> ones(3 * 200, 1);
      for (int call = 0; call < kCalls; ++call) {
        const std::vector<Id> ids = batches.ids(200, 500);
        if (t == 0) {
          table.update(ids, ones.data(), {.rate = 1});
        } else {
          table.add_deltas(ids, std::vector<float>(600, -1).data());
        }
        const std::vector<float> rows = look_up(table, ids, Create::yes);
        // A row is read as a whole.
        for (std::size_t i = 0; i < rows.size(); i += 3) {
          if (rows[i] != rows[i + 1] || rows[i] != rows[i + 2])
            throw std::runtime_error("torn row");
        }
        if (call % 20 == 10) all_blocks(table, {.changed = t, .clear = t});
        if (call % 20 == 15) table.statistics();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  double total = 0;
  for (const Id id : ids_of(all_blocks(table))) total += look_up(table, {id})[1];
  EXPECT_EQ(total, -kThreads * kCalls * 200.0);
}

TEST(SparseTable, SaysWhatIsWrongWithOptions) {
  const auto refuses = [](const std::string& what,
                          const std::function<void(TableOptions&)>& change) {
    TableOptions options = small_options();
    change(options);
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { SparseTable table(options); }), HasSubstr(what));
  };
  refuses("needs a name", [](TableOptions& o) { o.name = ""; });
  refuses("'words': width 0", [](TableOptions& o) { o.width = 0; });
  refuses("width 70000", [](TableOptions& o) { o.width = 70000; });
  refuses("admission 0", [](TableOptions& o) { o.admission = 0; });
  refuses("admission 65536", [](TableOptions& o) { o.admission = 65536; });
  refuses("decay 1.5", [](TableOptions& o) { o.decay = 1.5; });
  refuses("initial value -1", [](TableOptions& o) { o.rule = RowRule::adagrad(-1); });
  refuses("epsilon -1", [](TableOptions& o) { o.rule = RowRule::adagrad(0, -1); });
  refuses("betas 1 and 0.5", [](TableOptions& o) { o.rule = RowRule::adam(1, 0.5); });
  refuses("l1 -1", [](TableOptions& o) { o.rule = RowRule::ftrl(1, -1); });
  refuses("[2, 1) is empty",
          [](TableOptions& o) { o.initializer = RowInitializer::uniform(2, 1); });
  refuses("deviation -1", [](TableOptions& o) { o.initializer = RowInitializer::normal(0, -1); });
  refuses("not finite", [](TableOptions& o) { o.initializer = RowInitializer::uniform(0, NAN); });
  refuses("without a memory limit", [](TableOptions& o) { o.disk.folder = "/tmp/x"; });

  SparseTable table(small_options());
  const std::vector<Id> ids = {1};
  const std::vector<float> g(5);
  for (const UpdateStep& step : {UpdateStep{.rate = 0}, UpdateStep{.rate = -1},
                                 UpdateStep{.rate = NAN}, UpdateStep{.rate = 1, .step = 0}}) {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { table.update(ids, g.data(), step); }),
                HasSubstr("rate must be positive, and steps count from 1"));
  }
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { table.drop(3, 2); }), HasSubstr("slots [3, 2)"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { table.digest(0, kSlots + 1); }), HasSubstr("16385"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { table.take_removed(4, 0, 1); }),
              HasSubstr("marks 0 to 3, not 4"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { table.evict({.unused_for = -1}); }),
              HasSubstr("-1"));
  EXPECT_EQ(table.statistics().rows, 0u);
}

TEST(SparseTable, RefusesWhatDoesNotFitIntoMemoryAlone) {
  TableOptions options = small_options(RowRule::sgd(), 16);
  options.memory_limit = 100 * (64 + 12 + 64);
  SparseTable table(options);
  std::vector<Id> ids(100);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  const std::vector<float> rows = look_up(table, ids, Create::yes);
  const std::vector<Id> more = {1, 1000, 1001, 1000, 1002, 1003};
  const std::string text = error_of(ErrorKind::usage, [&] { look_up(table, more, Create::yes); });
  EXPECT_THAT(text, HasSubstr("4 rows more do not fit into its memory limit of 14000 bytes"));
  EXPECT_THAT(text, HasSubstr("nothing was changed"));
  EXPECT_EQ(table.statistics().rows, 100u);
  EXPECT_LE(table.statistics().memory, options.memory_limit);
  EXPECT_EQ(look_up(table, ids, Create::yes), rows);
  table.remove(std::vector<Id>{5, 6, 7, 8, 9, 10});
  look_up(table, {1000}, Create::yes);
}

}  // namespace
}  // namespace trireme::distributed
