#include "distributed/launch/program_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/testing/error.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/launch/member_environment.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

ProgramWork some_work() {
  ProgramWork work{.batches = 12,
                   .epochs = 3,
                   .max_steps = 30,
                   .checkpoints = "mine-checkpoints",
                   .cold_rows = "fast"};
  work.exports = "mine-exports";
  work.how.mode = Distribution::Mode::geo;
  work.how.task_batches = 5;
  work.how.staleness = 7;
  work.how.checkpoint_seconds = 0.25;
  work.how.checkpoint_keep = 4;
  work.how.resume = true;
  work.how.eviction = {
      .unused_for = 8, .below = 0.5, .show_weight = 2, .click_weight = 3, .tick_tasks = 6};
  work.how.export_seconds = 1.5;
  work.how.export_deltas = 6;
  return work;
}

TEST(ProgramWork, ComesBackFromItsText) {
  const ProgramWork work = program_work_of(text_of(some_work()));
  EXPECT_EQ(work.batches, 12);
  EXPECT_EQ(work.epochs, 3);
  EXPECT_EQ(work.max_steps, 30);
  EXPECT_EQ(work.checkpoints, "mine-checkpoints");
  EXPECT_EQ(work.cold_rows, "fast");
  EXPECT_EQ(work.how.mode, Distribution::Mode::geo);
  EXPECT_EQ(work.how.task_batches, 5);
  EXPECT_EQ(work.how.staleness, 7);
  EXPECT_EQ(work.how.checkpoint_seconds, 0.25);
  EXPECT_EQ(work.how.checkpoint_keep, 4);
  EXPECT_TRUE(work.how.resume);
  EXPECT_EQ(work.how.eviction.unused_for, 8);
  EXPECT_EQ(work.how.eviction.below, 0.5);
  EXPECT_EQ(work.how.eviction.show_weight, 2);
  EXPECT_EQ(work.how.eviction.click_weight, 3);
  EXPECT_EQ(work.how.eviction.tick_tasks, 6);
  EXPECT_EQ(work.exports, "mine-exports");
  EXPECT_EQ(work.how.export_seconds, 1.5);
  EXPECT_EQ(work.how.export_deltas, 6);
  ProgramWork wrong = some_work();
  wrong.how.task_batches = 0;
  for (const std::string& text : {std::string("{"), std::string("{}"), text_of(wrong)}) {
    EXPECT_THAT(error_of(ErrorKind::data, [&] { program_work_of(text); }), HasSubstr("\"work\""));
  }
}

TEST(ProgramWork, IsWhatTheFirstProcessSays) {
  const std::unique_ptr<Store> store = make_memory_store();
  EXPECT_FALSE(await_work(*store, "job/", [] { return true; })) << "it had to stop";
  announce_work(*store, "job/", some_work());
  announce_work(*store, "job/", some_work());
  ProgramWork other = some_work();
  other.epochs = 4;
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { announce_work(*store, "job/", other); }),
              HasSubstr("\"epochs\":4"));
  EXPECT_EQ(await_work(*store, "job/", {})->epochs, 3);
}

class MemberEnvironment : public ::testing::Test {
 protected:
  ~MemberEnvironment() override {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  std::vector<std::string> names_;
};

TEST_F(MemberEnvironment, TellsAProgramWhereItsJobIs) {
  EXPECT_FALSE(launched_member()) << "no launcher started this process";
  RoleOptions told;
  told.prefix = "trireme/mine/1/";
  told.name = "trainer_2";
  told.job_name = "mine";
  told.host = "127.0.0.5";
  told.trainers = 3;
  told.servers = 2;
  for (const auto& [name, value] : member_environment(told, {.store = "127.0.0.1:999"})) {
    set(name, value);
  }
  set("TRIREME_JOB_TOKEN", "secret");
  const std::optional<RoleOptions> heard = launched_member();
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->prefix, told.prefix);
  EXPECT_EQ(heard->name, told.name);
  EXPECT_EQ(heard->job_name, told.job_name);
  EXPECT_EQ(heard->host, told.host);
  EXPECT_EQ(heard->trainers, 3);
  EXPECT_EQ(heard->servers, 2);
  EXPECT_EQ(heard->store, "127.0.0.1:999");
  EXPECT_EQ(heard->security.token, "secret");
  EXPECT_EQ(heard->store_security.token, "secret");
}

TEST_F(MemberEnvironment, HalfOfItIsAMistake) {
  set("TRIREME_JOB_STORE", "127.0.0.1:999");
  EXPECT_THAT(error_of(ErrorKind::usage, [] { launched_member(); }),
              HasSubstr("TRIREME_JOB_TRAINERS is \"\""));
  set("TRIREME_JOB_TRAINERS", "2");
  set("TRIREME_JOB_SERVERS", "0");
  EXPECT_THAT(error_of(ErrorKind::usage, [] { launched_member(); }),
              HasSubstr("TRIREME_JOB_PREFIX"));
}

}  // namespace
}  // namespace trireme::distributed
