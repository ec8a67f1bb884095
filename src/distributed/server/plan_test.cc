#include "distributed/server/plan.h"

#include <gtest/gtest.h>

#include <map>

#include "distributed/table/testing/table.h"

namespace trireme::distributed {
namespace {

TEST(Plan, HasEachIdOnceInTheOrderOfSlotsAndAddsUpItsRows) {
  Batches batches(5);
  for (const std::uint64_t different :
       {std::uint64_t{3}, std::uint64_t{100}, std::uint64_t{1} << 60}) {
    const std::vector<Id> ids = batches.ids(3000, different);
    const std::vector<float> rows = batches.floats(2 * ids.size());
    const Plan plan(ids);
    std::map<std::uint64_t, std::vector<std::uint32_t>> expected;  // by hash
    for (std::uint32_t i = 0; i < ids.size(); ++i) expected[hash_of(ids[i])].push_back(i);
    ASSERT_EQ(plan.size(), expected.size());
    const auto sums = plan.sums(rows.data(), 2);
    std::size_t i = 0;
    for (const auto& [hash, positions] : expected) {
      ASSERT_EQ(plan.ids()[i], id_of(hash));
      ASSERT_EQ(plan.slot(i), slot_of_hash(hash));
      ASSERT_TRUE(std::equal(positions.begin(), positions.end(), plan.positions(i).begin(),
                             plan.positions(i).end()));
      for (std::size_t j = 0; j < 2; ++j) {
        float sum = rows[2 * positions[0] + j];
        for (std::size_t k = 1; k < positions.size(); ++k) sum += rows[2 * positions[k] + j];
        ASSERT_EQ(sums[2 * i + j], sum);
      }
      ++i;
    }
  }
  EXPECT_EQ(Plan({}).size(), 0u);
}

}  // namespace
}  // namespace trireme::distributed
