#include "distributed/placement/bootstrap.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <future>
#include <thread>

#include "base/testing/error.h"
#include "base/testing/wait_until.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/coordination/testing/etcd_process.h"
#include "distributed/launch/roster.h"
#include "distributed/placement/authority.h"
#include "distributed/placement/small_file.h"
#include "distributed/placement/testing/folder.h"

namespace trireme::distributed {
namespace {

namespace fs = std::filesystem;
using testing::EtcdProcess;
using ::testing::HasSubstr;
using testing::InFolder;
using ::testing::StartsWith;

class BootstrapTest : public InFolder {
 protected:
  BootstrapOptions options(int rank, int world, bool one_host = true) const {
    BootstrapOptions made;
    made.placement = {.by = "this test", .rank = rank, .world = world, .one_host = one_host};
    made.id = fs::path(folder_.path()).filename();  // so that concurrent tests do not meet
    made.patience = Milliseconds(60000);
    return made;
  }
  // All ranks at once; rank 0 starts last. Returns the value that each reads.
  void come_together(const std::function<BootstrapOptions(int)>& of, int world) {
    std::vector<std::future<std::string>> others;
    std::promise<void> done;
    const std::shared_future<void> end = done.get_future().share();
    for (int rank = 1; rank < world; ++rank) {
      others.push_back(std::async(std::launch::async, [&, rank] {
        const Bootstrap bootstrap(of(rank));
        Roster roster(bootstrap.store(), bootstrap.prefix(), rank);
        bootstrap.store().put(bootstrap.prefix() + "hello/" + std::to_string(rank), "hello");
        std::optional<Entry> told;
        EXPECT_TRUE(wait_until([&] {
          return (told = bootstrap.store().get(bootstrap.prefix() + "told")).has_value();
        }));
        end.wait();
        return told ? told->value : "";
      }));
    }
    std::this_thread::sleep_for(Milliseconds(300));
    {
      const Bootstrap bootstrap(of(0));
      bootstrap.store().put(bootstrap.prefix() + "told", "a word");
      Roster roster(bootstrap.store(), bootstrap.prefix(), 0);
      for (int i = 0; i < 1200 && roster.others().size() + 1 < static_cast<std::size_t>(world);
           ++i) {
        std::this_thread::sleep_for(Milliseconds(50));
      }
      EXPECT_EQ(roster.others().size() + 1, static_cast<std::size_t>(world));
      std::this_thread::sleep_for(Milliseconds(100));
      done.set_value();
      for (auto& other : others) EXPECT_EQ(other.get(), "a word");
    }
  }
};

TEST_F(BootstrapTest, AloneWithAToken) {
  const Bootstrap bootstrap(options(0, 1));
  EXPECT_EQ(bootstrap.token().size(), 64u);
  EXPECT_EQ(bootstrap.credentials(), "");
  EXPECT_THAT(bootstrap.address(), StartsWith("127.0.0.1:"));
  const auto stranger =
      connect_etcd({.address = bootstrap.address(), .security = {.token = "guess"}});
  EXPECT_EQ(bootstrap.unauthenticated_peers(), 0);
  EXPECT_THROW(stranger->get("a"), Error);
  EXPECT_GE(bootstrap.unauthenticated_peers(), 1);
}

TEST_F(BootstrapTest, OnOneHostByAFileOfTheUser) {
  come_together([&](int rank) { return options(rank, 3); }, 3);
  const std::string file = fs::temp_directory_path().string() + "/trireme-" +
                           std::to_string(::geteuid()) + "/store." + options(0, 1).id;
  EXPECT_FALSE(fs::exists(file)) << "gone with rank 0";
}

TEST_F(BootstrapTest, WithCertificatesAndAFileThatIsStale) {
  fs::create_directory(path("keys"));
  // Of a job that was killed: no process listens there any more.
  replace_small_file(path("keys/store.") + options(0, 1).id, "127.0.0.1:1\njob/\n\n");
  const auto of = [&](int rank) {
    BootstrapOptions made = options(rank, 2, /*one_host=*/false);
    made.own = own_address("lo", "");
    made.interface_chosen = true;
    made.credentials = path("keys");
    return made;
  };
  come_together(of, 2);
  EXPECT_NO_THROW(read_credentials(path("keys"), seconds_since_1970()));
}

TEST_F(BootstrapTest, AtAnAddressThatAllWereTold) {
  write_credentials(path("keys"), make_credentials(30, seconds_since_1970()));
  int port = 0;
  {
    const Bootstrap free(options(0, 1));
    port = port_of(free.address());
  }
  fs::permissions(path("keys"), fs::perms::owner_read | fs::perms::owner_exec);
  const auto of = [&](int rank) {
    BootstrapOptions made = options(rank, 2);
    made.placement.master = "localhost:" + std::to_string(port);
    made.credentials = path("keys");
    return made;
  };
  come_together(of, 2);
  fs::permissions(path("keys"), fs::perms::owner_all);
}

TEST_F(BootstrapTest, NobodyComes) {
  BootstrapOptions late = options(1, 2);
  late.patience = Milliseconds(300);
  EXPECT_THAT(error_of(ErrorKind::io, [&] { Bootstrap{late}; }),
              HasSubstr("launcher 0 of 2 did not start within 0 s"));
}

TEST_F(BootstrapTest, WhatIsNotSafeOrCannotBeMeant) {
  const auto refused = [](const BootstrapOptions& wrong) {
    return error_of(ErrorKind::usage, [&] { Bootstrap{wrong}; });
  };
  EXPECT_THAT(refused(options(0, 2, /*one_host=*/false)), HasSubstr("--interface NAME"));
  BootstrapOptions wrong = options(0, 2);
  wrong.own = {.host = "192.0.2.7", .interface = "eth7", .loopback = false};
  EXPECT_THAT(refused(wrong), HasSubstr("192.0.2.7 can be reached from other machines"));
  wrong = options(0, 2);
  wrong.placement.master = "10.1.2.3:4000";
  EXPECT_THAT(refused(wrong),
              HasSubstr("should listen at 10.1.2.3:4000, but listens at 127.0.0.1"));
  wrong = options(0, 1);
  wrong.etcd = "10.1.2.3:2379";
  EXPECT_THAT(refused(wrong), HasSubstr("both sides need certificates"));
  wrong.etcd = "127.0.0.1:2379,n1:2379";
  EXPECT_THAT(refused(wrong), HasSubstr("must be IP addresses"));
  wrong.etcd = "2379";
  EXPECT_THAT(refused(wrong), HasSubstr("HOST:PORT is expected"));
}

TEST_F(BootstrapTest, InEtcd) {
  EtcdProcess etcd;
  const auto of = [&](int rank) {
    BootstrapOptions made = options(rank, 2);
    made.name = "clicks";
    made.etcd = etcd.address();
    return made;
  };
  come_together(of, 2);
  const auto store = connect_etcd({.address = etcd.address()});
  EXPECT_TRUE(store->list("trireme/").entries.empty()) << "nothing stays behind";
  // Another job of that name and id.
  store->put("trireme/clicks/" + options(0, 1).id + "/epoch", "1 begun");
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { Bootstrap{of(0)}; }),
              HasSubstr("etcd has keys of a job below trireme/clicks/"));
  EXPECT_EQ(store->list("trireme/").entries.size(), 1u);
  BootstrapOptions alone = of(0);
  alone.placement = {};
  alone.id = "";
  const Bootstrap one(alone), another(alone);
  EXPECT_NE(one.prefix(), another.prefix()) << "of the same name at the same time";
}

TEST(Roster, WhatLaunchersTell) {
  LauncherState state;
  state.trainers = 2;
  state.totals = {.steps = 3, .losses = 0.1 + 0.2, .examples = 1LL << 40};
  state.phase = LauncherState::Phase::failed;
  state.kind = ErrorKind::numeric;
  state.reason = "a: b\nc ";
  const LauncherState back = launcher_state_of(text_of(state));
  EXPECT_EQ(back.trainers, 2);
  EXPECT_EQ(back.totals.losses, state.totals.losses);
  EXPECT_EQ(back.totals.examples, 1LL << 40);
  EXPECT_EQ(back.phase, state.phase);
  EXPECT_EQ(back.kind, state.kind);
  EXPECT_EQ(back.reason, state.reason);
  EXPECT_EQ(back.machine, machine_name());
  state.totals.losses = std::nan("");
  EXPECT_TRUE(std::isnan(launcher_state_of(text_of(state)).totals.losses));
  std::string phase = text_of(state), kind = phase;
  phase.replace(phase.find("\"phase\":2"), 9, "\"phase\":4");
  kind.replace(kind.find("\"kind\":"), 8, "\"kind\":-");
  for (const std::string& wrong : {std::string("1 2 3"), phase, kind}) {
    EXPECT_THAT(error_of(ErrorKind::data, [&] { launcher_state_of(wrong); }),
                HasSubstr("the state of a launcher is not valid"));
  }
}

}  // namespace
}  // namespace trireme::distributed
