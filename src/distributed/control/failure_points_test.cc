// Each protocol of the leader of a job with servers, with a store that fails before or after each
// of its operations in turn. Nothing is lost, nothing is counted twice, and the protocol ends.

#include <gmock/gmock.h>

#include "distributed/control/testing/quiet_job.h"

namespace trireme::distributed {
namespace {

// Whether servers wait for the members of the published view, so that their steps go on.
bool members_are_known(QuietJob& job, std::size_t servers) {
  const std::optional<JobView> view = job.view();
  if (!view) return false;
  for (std::size_t server = 0; server < servers; ++server) {
    const Shard::Members members = job.shard(server).members();
    if (members.generation != view->generation ||
        static_cast<std::size_t>(members.count) != view->members.size()) {
      return false;
    }
  }
  return true;
}

// Fault 13: a view whose publication was lost was never published again. Servers waited for members
// that knew nothing of it, and all trainers left after 300 s.
TEST(ControlFailurePoints, OfNewMembersOfSynchronousSteps) {
  QuietJob job({.synchronous = true});
  std::vector<std::unique_ptr<LeaseKeeper>> leases;
  leases.push_back(job.join("trainer_0"));
  ASSERT_TRUE(job.poll_until([&] { return members_are_known(job, 2); }));
  int joined = 1;
  enumerate_failures("new members", job.failing(), [&] {
    const std::string newest = "trainer_" + std::to_string(joined++);
    leases.push_back(job.join(newest));
    if (leases.size() > 3) leases.erase(leases.begin());
    EXPECT_TRUE(job.poll_until([&] {
      const std::vector<std::string> members = job.view()->members;
      return members.size() == leases.size() && members.back() == newest &&
             members_are_known(job, 2);
    }));
    EXPECT_EQ(job.view()->rollbacks, 1u) << "nothing was wrong with the servers";
  });
}

// The next leader finds servers in a generation that was never published.
TEST(ControlFailurePoints, OfALeaderThatFailedBeforeItPublishedNewMembers) {
  QuietJob job({.synchronous = true});
  const auto lease = job.join("trainer_0");
  ASSERT_TRUE(job.poll_until([&] { return members_are_known(job, 2); }));
  for (int i = 0; i < 5; ++i) {
    const JobView view = *job.view();
    for (std::size_t server = 0; server < 2; ++server) {
      ASSERT_TRUE(
          job.shard(server).set_members(view.generation + 3, 1, job.master().leadership()->epoch));
    }
    ASSERT_FALSE(members_are_known(job, 2));
    job.lead_anew();
    EXPECT_TRUE(job.poll_until([&] { return members_are_known(job, 2); }));
    EXPECT_GT(job.view()->generation, view.generation + 3);
  }
}

TEST(ControlFailurePoints, OfTheFirstPlacement) {
  QuietJob job({.checkpoints = false});
  enumerate_failures("the first placement", job.failing(), [&] {
    job.store().erase(view_key(kJob));
    job.lead_anew();
    EXPECT_TRUE(job.poll_until([&] { return job.at_rest(); }));
    EXPECT_EQ(job.master().done()->tasks.size(), 0u);
    job.train(2);
    job.expect_exact();
  });
}

TEST(ControlFailurePoints, OfCheckpoints) {
  QuietJob job({.every = 0});
  ASSERT_TRUE(job.poll_until([&] { return job.saved() > 0; }));
  enumerate_failures("a checkpoint", job.failing(), [&] {
    job.train(1);
    const int before = job.saved();
    EXPECT_TRUE(job.poll_until([&] { return job.saved() > before; }));
    EXPECT_EQ(job.saved_state(), job.master().state_at_rest());
    job.expect_exact();
  });
}

TEST(ControlFailurePoints, OfRollbacks) {
  QuietJob job({.every = 0});
  ASSERT_TRUE(job.poll_until([&] { return job.saved() > 0; }));
  job.train(3);
  const int before = job.saved();
  ASSERT_TRUE(job.poll_until([&] { return job.saved() > before; }));
  const QueueState saved = job.saved_state().value();
  ASSERT_EQ(saved.done.size(), 3u);
  enumerate_failures("a rollback", job.failing(), [&] {
    const std::uint32_t rollbacks = job.view()->rollbacks;
    job.lead_anew();
    EXPECT_TRUE(job.poll_until([&] { return job.master().leads(); }));
    job.train(2);  // lost by the rollback
    job.store().put(rolling_key(kJob), "1");
    job.lead_anew();
    EXPECT_TRUE(job.poll_until([&] { return job.at_rest(); }));
    EXPECT_GT(job.view()->rollbacks, rollbacks);
    EXPECT_EQ(job.master().state_at_rest(), saved);
    job.expect_exact();
  });
}

TEST(ControlFailurePoints, OfMovesToMoreAndFewerServers) {
  QuietJob job({.servers = 2, .surplus = 1});
  ASSERT_TRUE(job.poll_until([&] { return job.at_rest(); }));
  job.train(3);
  const std::uint64_t rows = 3 * CountTrainer::kTask;
  int servers = 2;
  enumerate_failures("moves", job.failing(), [&] {
    servers = 5 - servers;
    job.want_servers(servers);
    EXPECT_TRUE(job.poll_until([&] { return job.is_on(servers); }));
    EXPECT_EQ(job.has(drained_key(kJob, 2)), servers == 2);
    EXPECT_EQ(job.view()->rollbacks, 1u) << "nothing was wrong with the servers";
    job.expect_exact();
    job.expect_no_copies(rows);
  });
}

// Fault 20: a server was known by its address only, so a restart went unnoticed, and the trained
// values of its slots were gone.
TEST(JobControl, AServerThatRestartsAtItsAddressHasNothing) {
  QuietJob job({.every = 0});
  ASSERT_TRUE(job.poll_until([&] { return job.saved() > 0; }));
  job.train(2);
  const int before = job.saved();
  ASSERT_TRUE(job.poll_until([&] { return job.saved() > before; }));
  const std::vector<std::string> addresses = job.view()->servers.addresses;
  job.restart_server(0);
  EXPECT_TRUE(job.poll_until([&] { return job.view()->rollbacks == 2 && job.at_rest(); }));
  EXPECT_EQ(job.view()->servers.addresses, addresses);
  job.expect_exact();
}

// Fault 15: the change of the map noted each server in one transaction, which has 128 actions.
TEST(ControlFailurePoints, MoreServersThanOneTransactionNotes) {
  constexpr int kMany = static_cast<int>(kMaxActions) + 12;
  QuietJob job({.servers = 1, .surplus = kMany - 1});
  ASSERT_TRUE(job.poll_until([&] { return job.at_rest(); }));
  for (const int servers : {kMany, 1}) {
    job.want_servers(servers);
    // Whether slots have moved does not matter here.
    EXPECT_TRUE(job.poll_until([&] { return job.view()->servers.map.servers() == servers; }));
    EXPECT_EQ(job.store().list(drained_prefix(kJob)).entries.size(),
              static_cast<std::size_t>(servers == 1 ? kMany - 1 : 0));
  }
}

}  // namespace
}  // namespace trireme::distributed
