#include "distributed/coordination/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "base/testing/error.h"
#include "distributed/coordination/memory_store.h"

namespace trireme::distributed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names(const std::vector<Member>& members) {
  std::vector<std::string> result;
  for (const Member& member : members) result.push_back(member.id + "@" + member.address);
  return result;
}

TEST(Membership, MembersAreThereAsLongAsTheirLease) {
  const auto store = make_memory_store();
  Membership job(*store, "job/");
  EXPECT_TRUE(job.members("trainer").empty());
  auto first = std::make_unique<LeaseKeeper>(*store, LeaseOptions{});
  const LeaseKeeper second(*store, {});
  job.join("trainer", "b", "host:1", *first);
  job.join("trainer", "a", "host:2", second);
  job.join("server", "c", "host:3", second);
  EXPECT_THAT(names(job.members("trainer")), ElementsAre("b@host:1", "a@host:2"));

  const std::int64_t joined = job.members("trainer")[0].joined;
  job.join("trainer", "b", "host:1", *first);
  job.join("trainer", "b", "elsewhere:1", *first);
  EXPECT_EQ(job.members("trainer")[0].joined, joined);
  EXPECT_EQ(job.members("trainer")[0].address, "elsewhere:1");
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { job.join("trainer", "b", "x", second); }),
              HasSubstr("called b already, at elsewhere:1"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { job.join("trainer", "b/c", "x", second); }),
              HasSubstr("\"b/c\" is no name"));

  job.leave("trainer", "b", second);  // not its own
  EXPECT_EQ(job.members("trainer").size(), 2U);
  first.reset();
  EXPECT_THAT(names(job.members("trainer")), ElementsAre("a@host:2"));
  job.leave("trainer", "a", second);
  EXPECT_TRUE(job.members("trainer").empty());
  EXPECT_THAT(names(job.members("server")), ElementsAre("c@host:3"));
}

TEST(Membership, PlacesAreTakenOnceAndFreedWithTheirLease) {
  const auto store = make_memory_store();
  std::vector<std::unique_ptr<LeaseKeeper>> leases;
  for (int i = 0; i < 4; ++i)
    leases.push_back(std::make_unique<LeaseKeeper>(*store, LeaseOptions{}));
  std::vector<std::optional<int>> places(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back(
        [&, i] { places[i] = Membership(*store, "job/").claim_place("server", 3, *leases[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<int> taken;
  for (const auto& place : places) {
    if (place) taken.insert(*place);
  }
  EXPECT_THAT(taken, ElementsAre(0, 1, 2));

  Membership job(*store, "job/");
  const auto without = std::find(places.begin(), places.end(), std::nullopt) - places.begin();
  const auto of_one = std::find(places.begin(), places.end(), 1) - places.begin();
  EXPECT_EQ(job.claim_place("server", 3, *leases[static_cast<std::size_t>(of_one)]), 1);
  EXPECT_EQ(job.claim_place("server", 3, *leases[static_cast<std::size_t>(without)]), std::nullopt);
  EXPECT_TRUE(job.all_taken("server", 3));
  EXPECT_FALSE(job.all_taken("server", 4));
  leases[static_cast<std::size_t>(of_one)].reset();
  EXPECT_FALSE(job.all_taken("server", 3));
  EXPECT_EQ(job.claim_place("server", 3, *leases[static_cast<std::size_t>(without)]), 1);
}

TEST(Membership, WhoComesBackClaimsItsOwnPlaceAlone) {
  const auto store = make_memory_store();
  Membership job(*store, "job/");
  auto before = std::make_unique<LeaseKeeper>(*store, LeaseOptions{});
  EXPECT_EQ(job.claim_place("server", 2, *before), 0);
  EXPECT_TRUE(job.claim_again("server", 0, *before)) << "it has it";
  before.reset();
  const LeaseKeeper back(*store, {}), other(*store, {});
  EXPECT_TRUE(job.claim_again("server", 0, back));
  EXPECT_TRUE(job.claim_again("server", 0, back)) << "as after an answer that was lost";
  EXPECT_FALSE(job.claim_again("server", 0, other)) << "though place 1 is free";
}

TEST(Membership, APlaceOfOnesOwn) {
  const auto store = make_memory_store();
  const LeaseKeeper first(*store, {}), second(*store, {});
  Membership job(*store, "job/");
  EXPECT_EQ(job.claim_place("server", 2, 3, first), 2);
  EXPECT_EQ(job.claim_place("server", 2, 3, first), 2) << "as before";
  EXPECT_EQ(job.claim_place("server", 2, 3, second), std::nullopt) << "though others are free";
  EXPECT_EQ(job.claim_place("server", 0, 1, second), 0);
}

}  // namespace
}  // namespace trireme::distributed
