// Jobs that are found by the keys of a store.

#include "distributed/job/job_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/testing/error.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/job/job_commands.h"
#include "distributed/job/job_status.h"

namespace trireme::distributed {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class StoredJobs : public ::testing::Test {
 protected:
  void put(const std::string& key, const std::string& value = "1") {
    store_->put("trireme/" + key, value);
  }
  void run(const std::string& job, const std::string& name, const std::string& role) {
    put(job + "/process/" + role + "/" + name,
        text_of(ProcessEntry{name, role, "n1", 77, 1000, "n1:1"}));
  }
  std::string missing(const std::string& name, const std::string& id = "") {
    return error_of(ErrorKind::not_found, [&] { find_stored_job(*store_, name, id); });
  }
  std::string ambiguous(const std::string& name, const std::string& id = "") {
    return error_of(ErrorKind::usage, [&] { find_stored_job(*store_, name, id); });
  }

  const std::unique_ptr<Store> store_ = make_memory_store();
};

TEST_F(StoredJobs, AreListed) {
  EXPECT_TRUE(stored_jobs(*store_).empty());
  store_->put("other/clicks/1/orders/wanted", "1 0");
  put("clicks/7/orders/wanted", "2 1");
  for (int i = 0; i < 300; ++i) put("clicks/7/task/" + std::to_string(i));
  run("clicks/7", "trainer_0", "trainer");
  run("clicks/7", "server_0", "server");
  put("clicks/70/done");
  run("clicks/70", "server_0", "server");
  put("clicks-2/a.b/orders/stopped", "{}");
  put("words/3/tasks", "{}");
  put("nonsense");
  const std::vector<StoredJob> jobs = stored_jobs(*store_);
  ASSERT_EQ(jobs.size(), 4u);
  EXPECT_EQ(jobs[0].name + " " + jobs[0].id, "clicks-2 a.b");
  EXPECT_TRUE(jobs[0].stopped);
  EXPECT_EQ(jobs[1].prefix, "trireme/clicks/7/");
  EXPECT_EQ(jobs[1].trainers, 1);
  EXPECT_EQ(jobs[1].since, 1000);
  EXPECT_TRUE(jobs[1].lives());
  EXPECT_FALSE(jobs[2].lives()) << "parameter servers alone";
  const std::string text = text_of(jobs, 1060);
  EXPECT_THAT(text, AllOf(HasSubstr("clicks              7             runs      60 s"),
                          HasSubstr("clicks              70            done "),
                          HasSubstr("clicks-2            a.b           stopped"),
                          HasSubstr("words               3             left ")));
  const auto json = nlohmann::json::parse(json_of(jobs));
  EXPECT_EQ(json.at(1)["prefix"], "trireme/clicks/7/");
  EXPECT_EQ(json.at(1)["state"], "runs");
  EXPECT_EQ(text_of(std::vector<StoredJob>(), 0), "no job has keys there\n");
}

TEST_F(StoredJobs, AreFoundByNameAndId) {
  EXPECT_THAT(missing(""), HasSubstr("no job has keys there: below trireme/ there is nothing"));
  put("clicks/7/orders/wanted");
  EXPECT_EQ(find_stored_job(*store_, "", "").prefix, "trireme/clicks/7/");
  put("clicks/8/orders/wanted");
  put("clickstream/9/orders/wanted");
  EXPECT_EQ(find_stored_job(*store_, "clicks", "8").prefix, "trireme/clicks/8/");
  EXPECT_EQ(find_stored_job(*store_, "clickst", "").name, "clickstream");
  EXPECT_EQ(find_stored_job(*store_, "", "9").name, "clickstream");
  EXPECT_THAT(ambiguous("clicks"),
              AllOf(HasSubstr("clicks (--id 7), clicks (--id 8)"), Not(HasSubstr("clickstream"))));
  EXPECT_THAT(ambiguous(""), HasSubstr("clickstream (--id 9)"));
  EXPECT_THAT(missing("words"), HasSubstr("no such job has keys there, but clicks (--id 7)"));
  EXPECT_THAT(missing("clicks", "9"), HasSubstr("no such job"));
  // The remaining keys of an ended job do not count if another job of that name runs.
  run("clicks/8", "master_0", "master");
  EXPECT_EQ(find_stored_job(*store_, "clicks", "").id, "8");
  EXPECT_EQ(find_stored_job(*store_, "clicks", "7").id, "7");
}

TEST_F(StoredJobs, WhereKeysAreIsSaidOnce) {
  const auto refused = [](const JobAddress& address) {
    return error_of(ErrorKind::usage, [&] { open_store(address, Milliseconds(100)); });
  };
  EXPECT_THAT(refused({}), HasSubstr("either --etcd or --store"));
  EXPECT_THAT(refused({.etcd = "127.0.0.1:1", .store = "127.0.0.1:2"}), HasSubstr("either"));
  EXPECT_THAT(refused({.etcd = "10.0.0.1:2379"}), HasSubstr("both sides need certificates"));
}

// The store of a launcher has one job and requires its token.
TEST_F(StoredJobs, ByTheStoreOfALauncher) {
  const EtcdServer server(*store_, {.security = {.token = "secret"}});
  const JobAddress address{.etcd = "", .store = "127.0.0.1:" + std::to_string(server.port())};
  ::unsetenv("TRIREME_JOB_TOKEN");
  EXPECT_THAT(error_of(ErrorKind::io, [&] { open_job(address, ""); }), HasSubstr("token"));
  ::setenv("TRIREME_JOB_TOKEN", "secret", 1);
  EXPECT_THAT(error_of(ErrorKind::not_found, [&] { open_job(address, ""); }),
              HasSubstr("no job has keys below job/"));
  store_->put("job/orders/wanted", "2 1");
  store_->put("job/orders/limits", "1 4");
  const auto enter = [&](const ProcessEntry& process) {
    store_->put("job/process/launcher/" + process.name, text_of(process));
  };
  enter({"launcher_0", "launcher", "n1", 71, 1000, "n1:1"});
  enter({"launcher_1", "launcher", "n2", 72, 1001, "n2:1"});
  const OpenJob job = open_job(address, "clicks");
  EXPECT_EQ(job.record.pid, 71);
  EXPECT_TRUE(has_launcher(job));
  EXPECT_TRUE(lives(job));
  EXPECT_THAT(text_of(job.record, read_status(*job.store, "job/"), 1060),
              AllOf(HasSubstr("job         clicks, its keys below job/ of " + address.store),
                    HasSubstr("launcher    process 71 on n1, for 60 s")));
  const Scaled scaled = scale_job(job, {.trainers = 3});
  EXPECT_EQ(text_of_rest(job, scaled), "") << "the launcher does it";
  store_->erase("job/process/launcher/launcher_0");
  store_->erase("job/process/launcher/launcher_1");
  EXPECT_FALSE(lives(job));
  ::unsetenv("TRIREME_JOB_TOKEN");
}

TEST_F(StoredJobs, WithoutALauncherTheClusterScales) {
  put("clicks/7/orders/wanted", "2 2");
  put("clicks/7/orders/limits", "1 256");
  run("clicks/7", "clicks-master-0.1", "master");
  const EtcdServer server(*store_, {.security = {.token = "secret"}});
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  ::setenv("TRIREME_JOB_TOKEN", "secret", 1);
  const OpenJob job = open_job({.store = address, .prefix = "trireme/clicks/7"}, "");
  ::unsetenv("TRIREME_JOB_TOKEN");
  EXPECT_EQ(job.record.name, "clicks");
  EXPECT_FALSE(has_launcher(job));
  EXPECT_THAT(text_of(job.record, read_status(*job.store, job.record.prefix), 0),
              HasSubstr("launcher    none runs"));
  const auto json =
      nlohmann::json::parse(json_of(job.record, read_status(*job.store, job.record.prefix)));
  EXPECT_FALSE(json.contains("pid"));
  EXPECT_EQ(json["prefix"], "trireme/clicks/7/");
  EXPECT_EQ(text_of_rest(job, scale_job(job, {.trainers = 3})),
            "no launcher starts or ends trainers here; on Kubernetes:\n"
            "  kubectl patch job clicks-trainers --type=merge -p "
            "'{\"spec\":{\"parallelism\":3,\"completions\":3}}'\n");
  EXPECT_THAT(text_of_rest(job, scale_job(job, {.servers = 3})),
              AllOf(HasSubstr("to the new servers when they are there"),
                    HasSubstr("  kubectl scale statefulset clicks-servers --replicas=3\n")));
  EXPECT_THAT(text_of_rest(job, scale_job(job, {.servers = 1})),
              AllOf(HasSubstr("moves slots away; when trireme job status says that it has"),
                    HasSubstr("--replicas=1\n")));
}

}  // namespace
}  // namespace trireme::distributed
