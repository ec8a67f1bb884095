// The contents of the store of a job, and what commands write there.

#include "distributed/job/job_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/testing/error.h"
#include "base/testing/wait_until.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/job/job_status.h"
#include "distributed/job/process_monitor.h"

namespace trireme::distributed {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JobCommands : public ::testing::Test {
 protected:
  JobCommands()
      : job_{{.name = "clicks", .job = "/a/clicks.toml", .store = ""}, make_memory_store()} {}
  void put(const std::string& key, const std::string& value) {
    job_.store->put("job/" + key, value);
  }
  std::string wanted() { return job_.store->get("job/orders/wanted")->value; }

  OpenJob job_;
};

TEST_F(JobCommands, Scale) {
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { scale_job(job_, {.trainers = 2}); }),
              HasSubstr("only just begun"));
  put("orders/limits", "2 4");
  put("orders/wanted", "3 2");
  const Scaled scaled = scale_job(job_, {.trainers = 4});
  EXPECT_EQ(scaled.before, (Wanted{3, 2}));
  EXPECT_EQ(scaled.now, (Wanted{4, 2}));
  EXPECT_EQ(wanted(), "4 2");
  scale_job(job_, {.servers = 3});
  EXPECT_EQ(wanted(), "4 3");
  EXPECT_EQ(job_.store->get("job/orders/servers")->value, "3") << "for the master";
  for (const int trainers : {1, 5, 0, -1}) {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { scale_job(job_, {.trainers = trainers}); }),
                HasSubstr("the job may have 2 to 4 trainers, so not " + std::to_string(trainers)));
  }
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { scale_job(job_, {.servers = 0}); }),
              HasSubstr("1 to 4096 parameter servers"));
  EXPECT_EQ(wanted(), "4 3");
  put("orders/wanted", "4 0");
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { scale_job(job_, {.servers = 1}); }),
              HasSubstr("keeps nothing on parameter servers"));
  put("orders/wanted", "4 0 1");
  EXPECT_THAT(error_of(ErrorKind::data, [&] { scale_job(job_, {.servers = 1}); }),
              HasSubstr("job/orders/wanted"));
}

TEST_F(JobCommands, StatusOfAJobThatHasJustBegun) {
  const JobStatus status = read_status(*job_.store, "job/");
  EXPECT_THAT(text_of(job_.record, status, 0),
              AllOf(HasSubstr("clicks, /a/clicks.toml"), HasSubstr("none has begun"),
                    HasSubstr("no process has registered")));
  EXPECT_EQ(nlohmann::json::parse(json_of(job_.record, status))["name"], "clicks");
}

TEST_F(JobCommands, Status) {
  put("orders/limits", "2 4");
  put("orders/wanted", "3 2");
  put("tasks", text_of(TaskState{2, 5, 10, 3, 20, 1, 0}));
  put("progress", text_of(JobProgress{100, 6400, 12, 533.4, 0.4321}));
  put("group/generation", "7 3:trainer_0 7:trainer_10");
  put("checkpoint/at/000000000003", "");
  put("checkpoint/at/000000000012", "");
  put("checkpoint/latest", "12");
  for (const char* name : {"trainer_10", "trainer_9"}) {
    put(std::string("process/trainer/") + name,
        text_of(ProcessEntry{name, "trainer", "here", 5, 1000, "h:1"}));
  }
  put("process/server/server_0",
      text_of(ProcessEntry{"server_0", "server", "here", 6, 1000, "h:2", 1}));
  put("process/master/master_0",
      text_of(ProcessEntry{"master_0", "master", "here", 7, 1000, "h:3"}));
  const JobStatus status = read_status(*job_.store, "job/");
  std::vector<std::string> names;
  for (const ProcessEntry& process : status.processes) names.push_back(process.name);
  EXPECT_THAT(names, ElementsAre("master_0", "server_0", "trainer_9", "trainer_10"));
  EXPECT_THAT(text_of(job_.record, status, 1300),
              AllOf(HasSubstr("epoch       2 of 5\n"),
                    HasSubstr("tasks       10 to do, 3 pending, 20 done, 1 failed\n"),
                    HasSubstr("trained     6400 examples, 533/s, loss 0.4321\n"),
                    HasSubstr("generation 7 of 2 members: trainer_0 trainer_10\n"),
                    HasSubstr("checkpoints 2, the last is number 12\n"),
                    HasSubstr("wanted      3 trainers (2 to 4), 2 servers\n"),
                    HasSubstr("server 1"), HasSubstr("5 min")));
  const auto json = nlohmann::json::parse(json_of(job_.record, status));
  EXPECT_EQ(json["tasks"]["pending"], 3);
  EXPECT_EQ(json["progress"]["loss"], 0.4321);
  EXPECT_EQ(json["group"]["members"].size(), 2u);
  EXPECT_EQ(json["checkpoints"], (std::vector<int>{3, 12}));
  EXPECT_EQ(json["processes"][1]["place"], 1);
  EXPECT_EQ(json["limits"]["max"], 4);
  EXPECT_FALSE(json.contains("token"));
}

TEST_F(JobCommands, WhatIsNotWhatItShouldBe) {
  for (const char* key : {"tasks", "progress", "process/trainer/x", "orders/limits"}) {
    for (const char* text : {"", "{", "[]", "{\"name\":3}", "2", "9 1"}) {
      put(key, text);
      EXPECT_THAT(error_of(ErrorKind::data, [&] { read_status(*job_.store, "job/"); }),
                  HasSubstr(std::string("job/") + key))
          << text;
      job_.store->erase(std::string("job/") + key);
    }
  }
}

TEST_F(JobCommands, StopTellsWhatBecameOfIt) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("control_" + std::to_string(::getpid()))).string();
  auto entry = std::make_unique<JobEntry>(folder, job_.record);
  job_.record = entry->record();
  // The launcher is this process, which does not end.
  std::thread launcher([&] {
    while (!job_.store->get("job/orders/stop")) std::this_thread::sleep_for(Milliseconds(5));
    EXPECT_EQ(job_.store->get("job/orders/stop")->value, "3 60");
    EXPECT_TRUE(job_.store->get("job/orders/checkpoint")) << "for the master";
    put("orders/stopped", text_of(StopReport{1.25,
                                             4,
                                             {"trainer_1"},
                                             TaskState{1, 2, 3, 0, 5, 0, 0},
                                             LastCheckpoint{7, "", 1, 5, 1200},
                                             "the same command"}));
    while (job_.store->get("job/orders/stop")) std::this_thread::sleep_for(Milliseconds(5));
    entry.reset();
  });
  const std::optional<StopReport> report =
      stop_job(job_, {std::chrono::seconds(3), std::chrono::seconds(60)}, Milliseconds(50));
  launcher.join();
  EXPECT_EQ(text_of(report),
            "stopped after 1.2 s: 4 processes ended, 1 of which had to be killed: trainer_1\n"
            "epoch 1 of 2: 5 tasks done, 3 not, 0 failed\n"
            "checkpoint 7 was written: epoch 1 with 5 tasks done, step 1200\n"
            "go on by the same command\n");
  job_.record.process = "another";
  EXPECT_EQ(text_of(stop_job(job_, {})), "the job was over before\n");
  std::filesystem::remove_all(folder);
}

// For example on Kubernetes: a master reports the result and ends before any process could read it.
TEST_F(JobCommands, StopOfAJobWithoutALauncher) {
  job_.by_store = true;
  EXPECT_EQ(text_of(stop_job(job_, {})), "the job was over before\n");
  EXPECT_FALSE(job_.store->get("job/orders/stop")) << "no process would see it";
  put("process/server/server_0",
      text_of(ProcessEntry{"server_0", "server", "here", 6, 1000, "h:2", 0}));
  put("process/master/master_0",
      text_of(ProcessEntry{"master_0", "master", "here", 7, 1000, "h:3"}));
  std::thread master([&] {
    while (!job_.store->get("job/orders/stop")) std::this_thread::sleep_for(Milliseconds(5));
    job_.store->commit(
        {.then = {Put{"job/orders/stopped",
                      text_of(StopReport{.seconds = 1, .ended = 3, .tasks = TaskState{}})},
                  Erase{"job/process/master/master_0"}}});
  });
  EXPECT_EQ(text_of(stop_job(job_, {})),
            "stopped after 1.0 s: 3 processes ended; no epoch had begun\n");
  master.join();
}

TEST_F(JobCommands, WhoLeads) {
  for (const char* name : {"master_0", "master_1", "master_2"}) {
    put(std::string("process/master/") + name,
        text_of(ProcessEntry{name, "master", "here", 7, 1000, "h:3"}));
  }
  const auto masters = [&] { return text_of(job_.record, read_status(*job_.store, "job/"), 0); };
  EXPECT_THAT(masters(), HasSubstr("master      none leads, master_0 and master_1 and master_2 "
                                   "stand by\n"));
  put("tasks", text_of(TaskState{.epoch = 1, .epochs = 1, .leader = "master_1"}));
  job_.store->erase("job/process/master/master_2");
  EXPECT_THAT(masters(), HasSubstr("master      master_1 leads, master_0 stands by\n"));
  job_.store->erase("job/process/master/master_0");
  EXPECT_THAT(masters(), HasSubstr("master      master_1 leads\n"));
  const auto json = nlohmann::json::parse(json_of(job_.record, read_status(*job_.store, "job/")));
  EXPECT_EQ(json["tasks"]["leader"], "master_1");
}

TEST_F(JobCommands, WhatAStopSays) {
  std::optional<StopReport> report =
      StopReport{.seconds = 2, .ended = 3, .go_on = "the same command"};
  EXPECT_EQ(text_of(std::optional(stop_report_of("", text_of(*report)))),
            "stopped after 2.0 s: 3 processes ended; the store did not answer how far it was\n");
  report->tasks = TaskState{};
  EXPECT_EQ(text_of(report), "stopped after 2.0 s: 3 processes ended; no epoch had begun\n");
  report->last = LastCheckpoint{.why = "the job keeps none"};
  EXPECT_EQ(text_of(std::optional(stop_report_of("", text_of(*report)))),
            "stopped after 2.0 s: 3 processes ended; no epoch had begun\n"
            "no last checkpoint: the job keeps none\n");
}

TEST_F(JobCommands, OrdersToStop) {
  using std::chrono::seconds;
  const StopOrder order{seconds(30), seconds(120)};
  EXPECT_EQ(stop_order_of(text_of(order)), order);
  EXPECT_EQ(stop_order_of("7"), (StopOrder{seconds(7), seconds(0)}));
  EXPECT_EQ(stop_order_of("at once"), (StopOrder{seconds(1), seconds(0)}));
  EXPECT_EQ(stop_order_of("-2 9999999"), (StopOrder{seconds(1), seconds(3600)}));
}

TEST(ProcessMonitor, DescribesTheProcess) {
  ProcessMonitor monitor({.job = "clicks", .role = "server", .name = "server_3", .place = 2});
  EXPECT_EQ(monitor.entry().metrics, "");
  monitor.start();
  const ProcessEntry& entry = monitor.entry();
  EXPECT_EQ(entry.name, "server_3");
  EXPECT_EQ(entry.role, "server");
  EXPECT_EQ(entry.pid, ::getpid());
  EXPECT_EQ(entry.place, 2);
  EXPECT_EQ(entry.metrics, "127.0.0.1:" + std::to_string(monitor.port()));
  EXPECT_THAT(monitor.registry().text(),
              AllOf(HasSubstr("\nprocess_cpu_seconds_total "), HasSubstr("trireme_build_info{")));
}

}  // namespace
}  // namespace trireme::distributed
