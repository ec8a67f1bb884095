#include "distributed/coordination/process_registry.h"

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

std::vector<std::string> names(const std::vector<ProcessEntry>& members) {
  std::vector<std::string> result;
  for (const ProcessEntry& member : members) result.push_back(member.name + "@" + member.address);
  return result;
}

TEST(ProcessRegistry, MembersAreThereAsLongAsTheirLease) {
  const auto store = make_memory_store();
  ProcessRegistry job(*store, "job/");
  EXPECT_TRUE(job.list("trainer").empty());
  auto first = std::make_unique<LeaseKeeper>(*store, LeaseOptions{});
  const LeaseKeeper second(*store, {});
  job.join({.name = "b", .role = "trainer", .address = "host:1"}, *first);
  job.join({.name = "a", .role = "trainer", .address = "host:2"}, second);
  job.join({.name = "c", .role = "server", .address = "host:3"}, second);
  EXPECT_THAT(names(job.list("trainer")), ElementsAre("b@host:1", "a@host:2"));

  const std::int64_t joined = job.list("trainer")[0].joined;
  job.join({.name = "b", .role = "trainer", .address = "host:1"}, *first);
  job.join({.name = "b", .role = "trainer", .address = "elsewhere:1"}, *first);
  EXPECT_EQ(job.list("trainer")[0].joined, joined);
  EXPECT_EQ(job.list("trainer")[0].address, "elsewhere:1");
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] { job.join({.name = "b", .role = "trainer", .address = "x"}, second); }),
              HasSubstr("called b already, at elsewhere:1"));
  EXPECT_THAT(
      error_of(ErrorKind::usage,
               [&] { job.join({.name = "b/c", .role = "trainer", .address = "x"}, second); }),
      HasSubstr("\"b/c\" is no name"));

  job.leave("trainer", "b", second);  // not its own
  EXPECT_EQ(job.list("trainer").size(), 2U);
  first.reset();
  EXPECT_THAT(names(job.list("trainer")), ElementsAre("a@host:2"));
  job.leave("trainer", "a", second);
  EXPECT_TRUE(job.list("trainer").empty());
  EXPECT_EQ(job.list().size(), 2U) << "it runs on";
  EXPECT_THAT(names(job.list("server")), ElementsAre("c@host:3"));
}

TEST(ProcessRegistry, PlacesAreTakenOnceAndFreedWithTheirLease) {
  const auto store = make_memory_store();
  std::vector<std::unique_ptr<LeaseKeeper>> leases;
  for (int i = 0; i < 4; ++i)
    leases.push_back(std::make_unique<LeaseKeeper>(*store, LeaseOptions{}));
  std::vector<std::optional<int>> places(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      places[i] = ProcessRegistry(*store, "job/").claim_place("server", 3, *leases[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<int> taken;
  for (const auto& place : places) {
    if (place) taken.insert(*place);
  }
  EXPECT_THAT(taken, ElementsAre(0, 1, 2));

  ProcessRegistry job(*store, "job/");
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

TEST(ProcessRegistry, WhoComesBackClaimsItsOwnPlaceAlone) {
  const auto store = make_memory_store();
  ProcessRegistry job(*store, "job/");
  auto before = std::make_unique<LeaseKeeper>(*store, LeaseOptions{});
  EXPECT_EQ(job.claim_place("server", 2, *before), 0);
  EXPECT_TRUE(job.claim("server", 0, *before)) << "it has it";
  before.reset();
  const LeaseKeeper back(*store, {}), other(*store, {});
  EXPECT_TRUE(job.claim("server", 0, back));
  EXPECT_TRUE(job.claim("server", 0, back)) << "as after an answer that was lost";
  EXPECT_FALSE(job.claim("server", 0, other)) << "though place 1 is free";
}

TEST(ProcessRegistry, APlaceOfOnesOwn) {
  const auto store = make_memory_store();
  const LeaseKeeper first(*store, {}), second(*store, {});
  ProcessRegistry job(*store, "job/");
  EXPECT_EQ(job.claim_place("server", 2, 3, first), 2);
  EXPECT_EQ(job.claim_place("server", 2, 3, first), 2) << "as before";
  EXPECT_EQ(job.claim_place("server", 2, 3, second), std::nullopt) << "though others are free";
  EXPECT_EQ(job.claim_place("server", 0, 1, second), 0);
}

TEST(ProcessRegistry, AllAreListedByRoleAndNumber) {
  const auto store = make_memory_store();
  const LeaseKeeper lease(*store, {});
  ProcessRegistry job(*store, "job/");
  for (const char* name : {"trainer_10", "trainer_9"}) {
    job.join({.name = name, .role = "trainer"}, lease);
  }
  job.join({.name = "server_0", .role = "server", .place = 1}, lease);
  job.join({.name = "launcher_0", .role = "launcher"}, lease);
  job.join({.name = "master_0", .role = "master", .pid = 7}, lease);
  std::vector<std::string> all;
  for (const ProcessEntry& entry : job.list()) all.push_back(entry.name);
  EXPECT_THAT(all, ElementsAre("master_0", "server_0", "trainer_9", "trainer_10", "launcher_0"));
  EXPECT_EQ(job.list("server")[0].place, 1);
  EXPECT_EQ(job.list("master")[0].pid, 7);
}

TEST(ProcessRegistry, AnEntryThatIsNoneIsAnError) {
  const auto store = make_memory_store();
  ProcessRegistry job(*store, "job/");
  store->put("job/process/server/a", "{");
  EXPECT_THAT(error_of(ErrorKind::data, [&] { job.list("server"); }),
              HasSubstr("job/process/server/a"));
  store->put("job/place/launcher/x", "");
  EXPECT_THAT(error_of(ErrorKind::data, [&] { job.places("launcher"); }),
              HasSubstr("job/place/launcher/x"));
}

TEST(ProcessRegistry, WhoIsForgottenLosesItsLease) {
  const auto store = make_memory_store();
  ProcessRegistry job(*store, "job/");
  const LeaseKeeper entered(*store, {}), placed(*store, {});
  job.join({.name = "a", .role = "server"}, entered);
  EXPECT_TRUE(job.claim("server", 3, placed, "b"));
  EXPECT_THAT(job.places("server"), ElementsAre(3));
  EXPECT_TRUE(job.forget("server", "a"));
  EXPECT_TRUE(job.forget("server", "b")) << "it only has a place";
  EXPECT_FALSE(job.forget("server", "c"));
  EXPECT_TRUE(store->list("job/").entries.empty());
}

}  // namespace
}  // namespace trireme::distributed
