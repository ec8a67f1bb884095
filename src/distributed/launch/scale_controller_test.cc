// Orders to a launcher and the reactions of its processes, which are shells here.

#include "distributed/launch/scale_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "base/testing/error.h"
#include "distributed/coordination/memory_store.h"

namespace trireme::distributed {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class Orders : public ::testing::Test {
 protected:
  // `script`: what a trainer does; servers wait for their end.
  void begin(const ScaleControllerOptions& options, const std::string& script = kWaits,
             int restarts = 0) {
    SupervisorOptions supervision;
    supervision.command = [script](const std::string& role, const std::string& name) {
      const std::string& does = role == "trainer" ? script : kWaits;
      return std::vector<std::string>{"/bin/sh", "-c", "name=" + name + "; " + does};
    };
    supervision.heard = [this](const std::string& name, const std::string& line) {
      heard_.push_back(name + ": " + line);
    };
    supervision.restarts = restarts;
    supervision.spare = [this] { return scale_controller_->enough(children_->staying("trainer")); };
    supervision.over = [this] { return store_->get("job/done").has_value(); };
    children_.emplace(supervision);
    ScaleControllerOptions steering = options;
    steering.prefix = "job/";
    steering.say = [this](const std::string& text) { heard_.push_back(text); };
    scale_controller_.emplace(*store_, steering, *children_);
    for (int i = 0; i < options.wanted.servers; ++i) children_->start("server");
    for (int i = 0; i < options.wanted.trainers; ++i) children_->start("trainer");
  }
  // Waits at most 5 s until `count` trainers run.
  bool trainers(int count) {
    return poll_until([&] {
      return children_->running("trainer") == count && children_->staying("trainer") == count;
    });
  }
  template <class Done>
  bool poll_until(const Done& done) {
    const auto until = Clock::now() + std::chrono::seconds(5);
    while (!done() && Clock::now() < until) {
      children_->poll(Milliseconds(10));
      scale_controller_->poll();
    }
    return done();
  }

  static inline const std::string kWaits =
      "trap 'exit 0' TERM; echo ready; while :; do sleep 0.02; done";
  const std::unique_ptr<Store> store_ = make_memory_store();
  std::vector<std::string> heard_;
  std::optional<Supervisor> children_;
  std::optional<ScaleController> scale_controller_;
};

TEST_F(Orders, Scale) {
  begin({.wanted = {2, 0}, .limits = Limits{1, 4}});
  EXPECT_EQ(store_->get("job/orders/limits")->value, "1 4");
  EXPECT_EQ(store_->get("job/orders/wanted")->value, "2 0");
  EXPECT_TRUE(trainers(2));
  store_->put("job/orders/wanted", "3 0");
  EXPECT_TRUE(trainers(3));
  poll_until([&] { return std::count(heard_.begin(), heard_.end(), "trainer_2: ready") == 1; });
  store_->put("job/orders/wanted", "1 0");
  EXPECT_TRUE(trainers(1));
  EXPECT_THAT(heard_, Contains("launch: trainer_2 has left")) << "the newest first";
  EXPECT_THAT(heard_, Contains("launch: trainer_1 has left"));
  EXPECT_EQ(children_->restarts(), 0);
  EXPECT_EQ(scale_controller_->wanted(), (Wanted{1, 0}));
}

TEST_F(Orders, EachLauncherHasItsShare) {
  begin({.wanted = {2, 0}, .rank = 1, .world = 3});  // of 6
  EXPECT_EQ(store_->get("job/orders/wanted"), std::nullopt) << "rank 0 writes it";
  store_->put("job/orders/wanted", "6 0");
  store_->put("job/orders/wanted", "11 0");
  EXPECT_TRUE(trainers(4));
  store_->put("job/orders/wanted", "4 0");
  EXPECT_TRUE(trainers(1));
}

TEST_F(Orders, WhatIsNoOrderIsToldAndPassedOver) {
  begin({.wanted = {1, 0}});
  store_->put("job/orders/wanted", "many");
  EXPECT_TRUE(poll_until(
      [&] { return !heard_.empty() && heard_.back().find("many") != std::string::npos; }));
  EXPECT_TRUE(trainers(1));
}

TEST_F(Orders, ADrainedServerIsEnded) {
  begin({.wanted = {1, 1}});
  store_->put("job/orders/wanted", "1 2");
  EXPECT_TRUE(poll_until([&] { return children_->running("server") == 2; }));
  for (int place = 0; place < 2; ++place) {
    const std::string name = "server_" + std::to_string(place);
    store_->put("job/process/server/" + name,
                text_of(ProcessEntry{.name = name, .role = "server", .place = 1 - place}));
  }
  poll_until([&] { return std::count(heard_.begin(), heard_.end(), "server_0: ready") == 1; });
  store_->put("job/orders/wanted", "1 1");
  store_->put("job/orders/drained/1", "");
  EXPECT_TRUE(poll_until([&] { return children_->running("server") == 1; }));
  EXPECT_THAT(heard_, Contains("launch: server_0 has left"));
  EXPECT_FALSE(store_->get("job/orders/drained/1")) << "the next one in that place may stay";
}

TEST_F(Orders, Stop) {
  store_->put("job/orders/stop", "7");  // of a job before
  begin({.wanted = {1, 0}});
  EXPECT_EQ(scale_controller_->orders().stop, std::nullopt);
  store_->put("job/orders/stop", "7");
  EXPECT_TRUE(poll_until([&] { return scale_controller_->orders().stop.has_value(); }));
  EXPECT_EQ(scale_controller_->orders().stop->within, std::chrono::seconds(7));
  EXPECT_TRUE(scale_controller_->orders().ends());
  EXPECT_EQ(scale_controller_->orders().last_checkpoint(), std::nullopt) << "none was ordered";
  std::thread asker([&] {
    while (!store_->get("job/orders/stopped")) std::this_thread::sleep_for(Milliseconds(5));
    EXPECT_EQ(stop_report_of("", store_->get("job/orders/stopped")->value).killed,
              std::vector<std::string>{"trainer_0"});
    store_->erase("job/orders/stop");
  });
  const auto start = Clock::now();
  scale_controller_->stopped({.seconds = 1, .ended = 2, .killed = {"trainer_0"}});
  asker.join();
  EXPECT_LT(Clock::now() - start, Milliseconds(2500));
}

TEST_F(Orders, AJobThatIsToStopHasTimeForALastCheckpoint) {
  const LastCheckpoint before{.checkpoint = 5};
  store_->put("job/orders/last-checkpoint", text_of(before));  // of a job before
  begin({.wanted = {1, 0}});
  store_->put("job/task/epoch", "1 begun");
  store_->put("job/orders/stop", "7 60");
  // The order is visible before the next poll() reports it.
  EXPECT_TRUE(poll_until([&] {
    return std::count(heard_.begin(), heard_.end(),
                      "the job is to stop: it has 60 s for a last checkpoint") == 1;
  }));
  EXPECT_FALSE(scale_controller_->orders().ends());
  const LastCheckpoint last{.checkpoint = 3, .epoch = 1, .done = 12, .steps = 40};
  store_->put("job/orders/last-checkpoint", text_of(last));
  EXPECT_TRUE(poll_until([&] { return scale_controller_->orders().ends(); }));
  EXPECT_EQ(scale_controller_->orders().last_checkpoint(), last);
}

TEST_F(Orders, AJobThatIsToStopDoesNotWaitForEver) {
  begin({.wanted = {1, 0}});
  store_->put("job/task/epoch", "1 begun");
  store_->put("job/orders/stop", "7 1");
  const auto start = Clock::now();
  EXPECT_TRUE(poll_until([&] { return scale_controller_->orders().ends(); }));
  EXPECT_GE(Clock::now() - start, std::chrono::seconds(1));
  EXPECT_THAT(scale_controller_->orders().last_checkpoint()->why,
              HasSubstr(" s; what was learned since the checkpoint before is lost"));
}

TEST_F(Orders, AJobThatIsToStopNowDoesNotWaitAnyLonger) {
  begin({.wanted = {1, 0}});
  store_->put("job/task/epoch", "1 begun");
  store_->put("job/orders/stop", "7 60");
  EXPECT_TRUE(poll_until([&] { return scale_controller_->orders().stop.has_value(); }));
  EXPECT_FALSE(scale_controller_->orders().ends());
  store_->put("job/orders/stop", "7 0");
  EXPECT_TRUE(poll_until([&] { return scale_controller_->orders().ends(); }));
}

TEST_F(Orders, AJobThatHasNotBegunStopsAtOnce) {
  begin({.wanted = {1, 0}});
  store_->put("job/orders/stop", "7 60");
  EXPECT_TRUE(poll_until([&] { return scale_controller_->orders().ends(); }));
  EXPECT_EQ(scale_controller_->orders().last_checkpoint()->why, "nothing has been learned yet");
}

// Failed ones are restarted twice, then missing, until too few remain.
TEST_F(Orders, AsManyAsAreLeast) {
  begin({.wanted = {4, 0}, .limits = Limits{2, 4}},
        "case $name in trainer_1 | trainer_4 | trainer_5 | trainer_2) exit 9 ;; esac; " + kWaits,
        2);
  EXPECT_TRUE(trainers(2));
  EXPECT_THAT(heard_, Contains(HasSubstr("restarts are used up, the job continues without it")));
  EXPECT_EQ(children_->restarts(), 2);
  EXPECT_TRUE(scale_controller_->enough(2));
  EXPECT_FALSE(scale_controller_->enough(1));
}

TEST_F(Orders, FewerThanTheLeastIsTheEnd) {
  begin({.wanted = {2, 0}, .limits = Limits{2, 4}},
        "case $name in trainer_1) exit 9 ;; esac; " + kWaits);
  EXPECT_THAT(error_of(ErrorKind::io, [&] { trainers(0); }),
              HasSubstr("trainer_1 ended with code 9; that is once too often: the 1 trainers left "
                        "are too few"));
}

TEST_F(Orders, AllThatAreWantedMustLiveIfNothingElseIsSaid) {
  begin({.wanted = {3, 0}});
  EXPECT_TRUE(scale_controller_->enough(3));
  EXPECT_FALSE(scale_controller_->enough(2));
  store_->put("job/orders/wanted", "2 0");
  EXPECT_TRUE(trainers(2));
  EXPECT_TRUE(scale_controller_->enough(2));
}

// By `kill`, or when a machine shuts down: it is no failure, but the trainer is missing.
TEST_F(Orders, ATrainerThatSomebodyEndsIsReplaced) {
  begin({.wanted = {2, 0}}, "case $name in trainer_1) exit 0 ;; esac; " + kWaits);
  EXPECT_TRUE(poll_until(
      [&] { return std::count(heard_.begin(), heard_.end(), "trainer_2: ready") == 1; }));
  EXPECT_EQ(children_->restarts(), 0);
  EXPECT_EQ(children_->running("trainer"), 2);
  store_->put("job/done", "1");
  children_->end();
  EXPECT_EQ(children_->running("trainer"), 0);
}

TEST_F(Orders, WhoDoesNotEndIsKilled) {
  begin({.wanted = {2, 1}},
        "case $name in trainer_0) trap '' TERM ;; *) trap 'exit 0' TERM ;; "
        "esac; echo ready; while :; do sleep 0.02; done");
  poll_until([&] {
    return std::count(heard_.begin(), heard_.end(), "trainer_0: ready") == 1 &&
           std::count(heard_.begin(), heard_.end(), "trainer_1: ready") == 1;
  });
  std::vector<std::string> killed;
  children_->end_trainers(Milliseconds(3000), killed);
  EXPECT_EQ(killed, std::vector<std::string>{"trainer_0"});
  EXPECT_EQ(children_->running("trainer"), 0);
  EXPECT_EQ(children_->running("server"), 1);
  EXPECT_TRUE(children_->end().empty());
}

}  // namespace
}  // namespace trireme::distributed
