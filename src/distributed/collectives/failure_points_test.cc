// Generations with a store that fails before or after each operation of one member in turn.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/testing/wait_until.h"
#include "distributed/collectives/generations.h"
#include "distributed/collectives/liveness_listener.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/testing/failing_store.h"

namespace trireme::distributed {
namespace {

// A member that repeats what the store did not answer, as ElasticGroup does.
struct Member {
  Member(Store& store, const std::string& member) : name(member) {
    retried([&] { lease.emplace(store, LeaseOptions{.seconds = 60}); });
    generations.emplace(store, GenerationOptions{.prefix = "ring/",
                                                 .name = name,
                                                 .address = sign.address(),
                                                 .settle = Milliseconds(600000)});
    retried([&] { generations->join(*lease); });
  }
  template <class Call>
  static void retried(const Call& call) {
    EXPECT_TRUE(wait_until([&] {
      try {
        return call(), true;
      } catch (const Unavailable&) {
        return false;
      }
    }));
  }
  const std::string name;
  const LivenessListener sign{"", "127.0.0.1"};
  std::optional<LeaseKeeper> lease;
  std::optional<Generations> generations;
};

// All members answer; then they propose until the generation exists for all of them.
void form(const std::vector<Member*>& members, std::int64_t number) {
  for (Member* member : members) {
    EXPECT_TRUE(wait_until([&] { return member->generations->current().number == number - 1; }));
    Member::retried([&] { member->generations->answer(*member->lease); });
  }
  EXPECT_TRUE(wait_until([&] {
    bool formed = true;
    for (Member* member : members) {
      if (member->generations->current().number == number) continue;
      formed = false;
      Member::retried([&] { member->generations->propose(); });
    }
    return formed;
  })) << number;
  for (Member* member : members) {
    EXPECT_EQ(member->generations->current().members.size(), members.size());
    EXPECT_GE(member->generations->current().rank_of(member->name), 0);
  }
}

// Forms a group of three, loses a member, and gets another one.
TEST(GenerationFailurePoints, OfOneMember) {
  const auto store = make_memory_store();
  FailingStore failing(*store);
  enumerate_failures("generations", failing, [&] {
    store->commit({.then = {Erase{"ring/", true}}});
    Member anna(failing, "anna"), berta(*store, "berta");
    {
      Member carla(*store, "carla");
      form({&anna, &berta, &carla}, 1);
    }
    form({&anna, &berta}, 2);
    Member dora(*store, "dora");
    form({&anna, &berta, &dora}, 3);
    EXPECT_EQ(text_of(anna.generations->current()), text_of(berta.generations->current()));
  });
}

}  // namespace
}  // namespace trireme::distributed
