// How members agree on the next group, with an in-memory store.
#include "distributed/collectives/generations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/testing/error.h"
#include "base/testing/wait_until.h"
#include "distributed/collectives/liveness_listener.h"
#include "distributed/coordination/memory_store.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

// A member without a group: the test makes it call, answer and propose.
struct Party {
  Party(Store& store, const std::string& name, std::size_t min_members = 1,
        Milliseconds settle = Milliseconds(50), const std::string& address = "-")
      : lease(store, {}), generations(store, {"ring/", name, min_members, address, settle}) {
    generations.join(lease);
  }
  LeaseKeeper lease;
  Generations generations;
};

// Proposes until a generation of that number exists, and returns its text.
std::string next(Party& party, std::int64_t number) {
  EXPECT_TRUE(wait_until([&] {
    if (party.generations.current().number >= number) return true;
    party.generations.propose();
    return false;
  })) << number;
  return text_of(party.generations.current());
}

void all_answer(const std::vector<Party*>& parties, std::int64_t number) {
  for (Party* party : parties) {
    ASSERT_TRUE(wait_until([&] { return party->generations.current().number == number - 1; }));
    party->generations.answer(party->lease);
  }
}

TEST(Generations, ThoseWhoAnswerFormTheNextOne) {
  const auto store = make_memory_store();
  Party anna(*store, "anna"), berta(*store, "berta");
  EXPECT_EQ(anna.generations.current().number, 0);
  anna.generations.answer(anna.lease);
  EXPECT_TRUE(wait_until([&] { return berta.generations.called(); }));
  berta.generations.answer(berta.lease);
  EXPECT_EQ(next(anna, 1), "1 1:anna 1:berta");
  EXPECT_EQ(next(berta, 1), "1 1:anna 1:berta");
  EXPECT_FALSE(anna.generations.called());
  EXPECT_TRUE(store->list("ring/next/").entries.empty());
}

TEST(Generations, MoreMembersThanOneTransactionCompares) {
  constexpr std::size_t kMembers = kMaxActions + 22;
  const auto store = make_memory_store();
  std::vector<std::unique_ptr<Party>> parties;
  std::vector<Party*> all;
  for (std::size_t i = 0; i < kMembers; ++i) {
    parties.push_back(std::make_unique<Party>(*store, "member" + std::to_string(i)));
    all.push_back(parties.back().get());
  }
  all_answer(all, 1);
  next(*all[0], 1);
  EXPECT_EQ(all[0]->generations.current().members.size(), kMembers);
  for (std::size_t gone = 0; gone < 10; ++gone) parties[gone].reset();
  all.erase(all.begin(), all.begin() + 10);
  all_answer(all, 2);
  next(*all[0], 2);
  EXPECT_EQ(all[0]->generations.current().members.size(), kMembers - 10);
}

// One thread follows the store for all of them. TRIREME_MEMBERS: their number; 1,000 take long
// under sanitizers.
TEST(Generations, ManyMembersLoseTenAndFormAgain) {
  constexpr std::size_t kLost = 10;
  const char* const asked = std::getenv("TRIREME_MEMBERS");
  const std::size_t count = asked != nullptr ? std::stoul(asked) : 250;
  const auto store = make_memory_store();
  const LeaseKeeper most(*store, {.seconds = 600});
  std::optional<LeaseKeeper> lost(std::in_place, *store, LeaseOptions{.seconds = 600});
  std::vector<std::unique_ptr<Generations>> members;
  const auto lease_of = [&](std::size_t i) -> const LeaseKeeper& {
    return i < kLost ? *lost : most;
  };
  for (std::size_t i = 0; i < count; ++i) {
    members.push_back(std::make_unique<Generations>(
        *store, GenerationOptions{.prefix = "ring/",
                                  .name = "member_" + std::to_string(i),
                                  .settle = Milliseconds(50),
                                  .own_thread = false}));
    members.back()->join(lease_of(i));
  }
  const auto form = [&](std::size_t first, std::int64_t number) {
    const auto poll = [&] {
      for (std::size_t i = first; i < count; ++i) members[i]->poll();
    };
    poll();
    for (std::size_t i = first; i < count; ++i) members[i]->answer(lease_of(i));
    EXPECT_TRUE(wait_until([&] {
      poll();
      if (members[first]->current().number < number) members[first]->propose();
      return members.back()->current().number == number;
    }));
    poll();
    const Generation formed = members[first]->current();
    EXPECT_EQ(formed.members.size(), count - first);
    for (std::size_t i = first; i < count; ++i) {
      EXPECT_EQ(formed.members.at(i - first).name, "member_" + std::to_string(i));
      EXPECT_EQ(members[i]->current().number, number);
    }
    EXPECT_EQ(text_of(members.back()->current()), text_of(formed));
  };
  form(0, 1);
  lost.reset();
  for (std::size_t i = 0; i < kLost; ++i) members[i].reset();
  form(kLost, 2);
  std::printf("members that formed a group, lost %zu and formed it again: %zu\n", kLost, count);
}

TEST(Generations, WhoIsDeadIsNotWaitedForLong) {
  const auto store = make_memory_store();
  Party anna(*store, "anna"), berta(*store, "berta"), carla(*store, "carla");
  all_answer({&anna, &berta, &carla}, 1);
  EXPECT_EQ(next(anna, 1), "1 1:anna 1:berta 1:carla");
  all_answer({&carla, &berta}, 2);  // anna lives by her lease, but says nothing
  EXPECT_TRUE(wait_until([&] { return berta.generations.called(); }));
  EXPECT_TRUE(berta.generations.propose().has_value());
  EXPECT_EQ(next(berta, 2), "2 1:berta 1:carla");
  // She returns as a new member, after the others.
  EXPECT_TRUE(wait_until([&] { return anna.generations.current().number == 2; }));
  all_answer({&anna, &berta, &carla}, 3);
  EXPECT_EQ(next(anna, 3), "3 1:berta 1:carla 3:anna");
}

TEST(Generations, WhoseLifeSignIsGoneIsNotWaitedFor) {
  const auto store = make_memory_store();
  auto sign = std::make_unique<LivenessListener>("", "127.0.0.1");
  Party anna(*store, "anna", 1, Milliseconds(1000000)),
      berta(*store, "berta", 1, Milliseconds(0), sign->address());
  all_answer({&anna, &berta}, 1);
  EXPECT_EQ(next(anna, 1), "1 1:anna 1:berta");
  all_answer({&anna}, 2);
  EXPECT_TRUE(wait_until([&] { return anna.generations.propose().has_value(); }));  // she lives
  all_answer({&berta}, 2);
  EXPECT_EQ(next(anna, 2), "2 1:anna 1:berta");
  sign.reset();
  all_answer({&anna}, 3);
  EXPECT_EQ(next(anna, 3), "3 1:anna");
}

TEST(Generations, WhoHasLostItsLeaseButLivesIsWaitedFor) {
  const auto store = make_memory_store();
  const LivenessListener sign("", "127.0.0.1");
  Party anna(*store, "anna", 1, Milliseconds(1000000)),
      berta(*store, "berta", 1, Milliseconds(0), sign.address());
  all_answer({&anna, &berta}, 1);
  EXPECT_EQ(next(anna, 1), "1 1:anna 1:berta");
  store->erase("ring/process/ring/berta");
  all_answer({&anna}, 2);
  EXPECT_TRUE(wait_until([&] { return anna.generations.propose().has_value(); }));
  EXPECT_EQ(store->get("ring/generation")->value, "1 1:anna 1:berta");
  all_answer({&berta}, 2);
  EXPECT_EQ(next(anna, 2), "2 1:anna 1:berta");
}

TEST(Generations, WhoHasLeftIsNotWaitedFor) {
  const auto store = make_memory_store();
  Party anna(*store, "anna", 1, Milliseconds(1000000));
  {
    const LivenessListener sign("", "127.0.0.1");
    Party berta(*store, "berta", 1, Milliseconds(0), sign.address());
    all_answer({&anna, &berta}, 1);
    EXPECT_EQ(next(anna, 1), "1 1:anna 1:berta");
  }
  all_answer({&anna}, 2);
  EXPECT_EQ(next(anna, 2), "2 1:anna");
}

TEST(Generations, NewcomersDoNotGoOnWithoutThoseWhoHaveTheState) {
  const auto store = make_memory_store();
  auto anna = std::make_unique<Party>(*store, "anna");
  all_answer({anna.get()}, 1);
  EXPECT_EQ(next(*anna, 1), "1 1:anna");
  Party berta(*store, "berta", 1, Milliseconds(0));
  all_answer({&berta}, 2);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(berta.generations.propose(), std::nullopt);
  EXPECT_EQ(store->get("ring/generation")->value, "1 1:anna");
  anna.reset();  // no member remains
  EXPECT_EQ(next(berta, 2), "2 2:berta");
}

TEST(Generations, TooFewWaitForMore) {
  const auto store = make_memory_store();
  Party anna(*store, "anna", 2, Milliseconds(0));
  all_answer({&anna}, 1);
  EXPECT_EQ(anna.generations.propose(), std::nullopt);
  EXPECT_FALSE(store->get("ring/generation").has_value());
  Party berta(*store, "berta", 2);
  all_answer({&berta}, 1);
  EXPECT_EQ(next(berta, 1), "1 1:anna 1:berta");
}

TEST(Generations, OneLateAnswerDoesNotCountForTheNextButOne) {
  const auto store = make_memory_store();
  Party anna(*store, "anna"), berta(*store, "berta", 1, Milliseconds(0));
  all_answer({&berta}, 1);
  EXPECT_EQ(next(berta, 1), "1 1:berta");
  store->put("ring/generation", "5 5:berta");  // far ahead of what anna has seen
  anna.generations.answer(anna.lease);
  EXPECT_TRUE(wait_until([&] { return anna.generations.current().number == 5; }));
  EXPECT_TRUE(store->list("ring/next/2/").entries.empty());
}

TEST(Generations, TextsAreReadAsTheyWereWritten) {
  for (const char* text : {"1", "7 3:anna", "7 3:anna 7:b:c", "123456789012 1:x 2:y 3:z"}) {
    EXPECT_EQ(text_of(generation_of("k", text)), text);
  }
  for (const char* text : {"", " ", "0 1:a", "-3", "x", "7 ", "7 a", "7 8:a", "7 3:", "7 3:a ",
                           "7  3:a", "7 0:a", "99999999999999999999 1:a"}) {
    EXPECT_THAT(error_of(ErrorKind::data, [&] { generation_of("k", text); }),
                HasSubstr("the key k holds no generation"))
        << text;
  }
}

TEST(Generations, WrongNamesAndKeysAreTold) {
  const auto store = make_memory_store();
  for (const char* name : {"", "a b", "a/b"}) {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { Party(*store, name); }), HasSubstr("is no name"));
  }
  Party anna(*store, "anna");
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { Party(*store, "anna"); }),
              HasSubstr("another ring is called anna"));
  store->put("ring/generation", "nonsense");
  EXPECT_TRUE(wait_until([&] {
    return error_of([&] { anna.generations.current(); }).find("nonsense") != std::string::npos;
  }));
}

}  // namespace
}  // namespace trireme::distributed
