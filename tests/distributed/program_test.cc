// Users' own programs, by one process and by several.

#include <algorithm>
#include <future>

#include "data/testing/needs_data.h"
#include "launch.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Programs : public Launch {
 protected:
  static std::string program(const std::string& name) {
    return std::string(TRIREME_PROGRAMS) + "/" + name;
  }
  static std::string launched(const std::string& processes, const std::string& name,
                              const std::string& arguments) {
    return kLaunch + "--program " + program(name) + " --name " + job_name() + " " + processes +
           " -- " + arguments;
  }
  // Unique on this machine: its processes are found by it.
  static std::string job_name() { return "programs-" + std::to_string(::getpid()); }
  std::string succeeds(const std::string& command) {
    const Outcome outcome = run_here(command);
    EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.output;
    return outcome.output;
  }
  static pid_t find_trainer(const std::string& name) {
    for (int i = 0; i < 400; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
      const std::vector<pid_t> found = processes_with(
          {"TRIREME_JOB_NAME=" + job_name(), "TRIREME_JOB_PROCESS=" + name}, "environ");
      if (!found.empty()) return found[0];
    }
    ADD_FAILURE() << "there is no " << name;
    return 0;
  }
  // Kills a trainer that has trained for some time.
  static void kill_trainer(const std::string& name) {
    const pid_t found = find_trainer(name);
    ASSERT_GT(found, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    EXPECT_EQ(::kill(found, SIGKILL), 0) << name << " had ended before";
  }
};

int times(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// How often a clicked row scores above another one: of the saved model, on the test rows of the
// example.
double auc_of_saved_clicks(const std::string& folder) {
  Model model = load_model(folder);
  std::vector<std::pair<float, bool>> scored;
  const auto rows =
      data::synthetic_clicks({.examples = 10'000, .first = 1'000'000'000, .ids = 1000});
  for (data::Batch& batch : rows.batch(1000).epoch(0)) {
    const Tensor clicked = batch.at("target");
    batch.erase("target");
    const Tensor scores = model.predict(batch)[0];
    for (std::int64_t i = 0; i < scores.elements(); ++i) {
      scored.emplace_back(scores.data<float>()[i], clicked.data<float>()[i] > 0.5f);
    }
  }
  std::sort(scored.begin(), scored.end());
  double wins = 0, others = 0;
  for (const auto& [score, clicked] : scored) clicked ? wins += others : ++others;
  return wins / (others * (static_cast<double>(scored.size()) - others));
}

TEST_F(Programs, TheSameOneAloneAndWithParametersOnServers) {
  const double alone =
      number_behind(succeeds(program("clicks_by_processes") + " 30000"), "test auc: ");
  EXPECT_GT(alone, 0.76);
  EXPECT_NEAR(auc_of_saved_clicks(path("clicks_by_processes")), alone, 1e-4);
  std::filesystem::remove_all(path("clicks_by_processes"));

  const std::string said =
      succeeds(launched("--trainers 2 --servers 2", "clicks_by_processes", "30000"));
  const double together = number_behind(said, "test auc: ");
  EXPECT_NEAR(together, alone, 0.03);
  EXPECT_THAT(said, HasSubstr(" 30000 examples"));
  EXPECT_EQ(times(said, "test auc"), 1) << said;
  // Complete, with its tables.
  EXPECT_NEAR(auc_of_saved_clicks(path("clicks_by_processes")), together, 1e-4);
}

TEST_F(Programs, ATrainerThatIsKilledIsReplacedBesideServers) {
  auto running = std::async(std::launch::async, [&] {
    return succeeds(launched("--trainers 2 --servers 2", "clicks_by_processes", "120000"));
  });
  kill_trainer("trainer_1");
  const std::string said = running.get();
  EXPECT_THAT(said, HasSubstr("trainer_1 was ended by signal 9; another one is started"));
  EXPECT_GT(number_behind(said, "test auc: "), 0.79);
  EXPECT_EQ(times(said, "test auc"), 1) << said;
}

TEST_F(Programs, ATrainerThatIsKilledIsReplacedAmongThoseThatAddUpGradients) {
  NEEDS_DATA("fashion_mnist/train");
  auto running = std::async(std::launch::async, [&] {
    return succeeds(launched("--trainers 2", "fashion_by_processes", "1"));
  });
  kill_trainer("trainer_1");
  const std::string said = running.get();
  EXPECT_THAT(said, HasSubstr("trainer_1 was ended by signal 9; another one is started"));
  EXPECT_GT(number_behind(said, "test accuracy: "), 0.8);
  EXPECT_EQ(times(said, "test accuracy"), 1) << said;
}

TEST_F(Programs, GoOnWhenTheLeadingMasterIsKilled) {
  auto running = std::async(std::launch::async, [&] {
    return succeeds(
        launched("--trainers 2 --servers 1 --masters 2", "clicks_by_processes", "120000"));
  });
  find_trainer("trainer_1");
  std::string leader, status;
  for (int i = 0; i < 600 && leader.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    status = run_here(std::string(TRIREME_CLI) + " job status").output;
    for (const char* name : {"master_0", "master_1"}) {
      if (status.find(name + std::string(" leads")) != std::string::npos) leader = name;
    }
  }
  ASSERT_NE(leader, "") << status;
  const std::vector<pid_t> found = processes_with({"role", "master", job_name(), leader});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(::kill(found[0], SIGKILL), 0);
  const std::string said = running.get();
  EXPECT_THAT(said, HasSubstr(leader + " was ended by signal 9; another one is started"));
  EXPECT_THAT(said, HasSubstr(" 120000 examples"));
  EXPECT_GT(number_behind(said, "test auc: "), 0.79);
}

TEST_F(Programs, LeaveInGoodOrderWhenTheJobIsStopped) {
  auto running = std::async(std::launch::async, [&] {
    return run_here(launched("--trainers 2 --servers 1", "clicks_by_processes", "1000000"));
  });
  find_trainer("trainer_1");
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  const std::string report = succeeds(std::string(TRIREME_CLI) + " job stop " + job_name());
  EXPECT_THAT(report, HasSubstr("4 processes ended\nepoch 1 of 1: "));
  const Outcome outcome = running.get();
  EXPECT_EQ(outcome.code, 6) << outcome.output;
  EXPECT_THAT(outcome.output, Not(HasSubstr("test auc"))) << "no process is chief";
}

// All batches of both epochs, by any process.
TEST_F(Programs, EachModeLearnsEachBatchOnce) {
  for (const std::string mode : {"synchronous", "asynchronous", "paced", "geo", "all_reduce"}) {
    const std::string said = succeeds(launched(
        mode == "all_reduce" ? "--trainers 2" : "--trainers 2 --servers 1", "own_program", mode));
    EXPECT_THAT(said, HasSubstr(" 12000 examples")) << mode;
    EXPECT_EQ(number_behind(said, "[trainer_0] own steps: ") +
                  number_behind(said, "[trainer_1] own steps: "),
              240)
        << mode;
    EXPECT_LT(number_behind(said, "chief of 2, loss: "), 0.66) << mode;
    Model model = load_model(path("own"));
    EXPECT_EQ(model.inputs().at(0).name, "C26") << mode;
    EXPECT_FALSE(std::filesystem::exists(path("own-checkpoints")));
  }
}

TEST_F(Programs, ExportTheirTables) {
  const std::string said =
      succeeds(launched("--trainers 2 --servers 2", "own_program", "asynchronous exports 60"));
  EXPECT_THAT(said, HasSubstr("[master_0] export 1, a base: 1 table, "));
  EXPECT_TRUE(std::filesystem::exists(path("served/dense.safetensors")));
  EXPECT_THAT(read(path("served/embedding_0.weight/export.json")),
              HasSubstr("\"note\": \"checkpoint 1\""));
}

// Another process takes its place with the data of the servers.
TEST_F(Programs, AChiefThatFailsIsNotTheLastOne) {
  const std::string said =
      succeeds(launched("--trainers 2 --servers 1", "own_program", "asynchronous chief failed"));
  EXPECT_THAT(said, HasSubstr("error: the chief fails"));
  EXPECT_LT(number_behind(said, "chief of 2, loss: "), 0.66);
  EXPECT_EQ(times(said, "chief of 2, loss: "), 1) << said;
  EXPECT_TRUE(std::filesystem::exists(path("own")));
}

// Also in common steps, where it was no member any more.
TEST_F(Programs, AChiefThatIsKilledIsNotTheLastOne) {
  for (const std::string mode : {"asynchronous", "synchronous"}) {
    const std::string said = succeeds(
        launched("--trainers 2 --servers 1", "own_program", mode + " killed killed-" + mode));
    EXPECT_THAT(said, HasSubstr(" was ended by signal 9; another one is started")) << mode;
    EXPECT_LT(number_behind(said, "chief of 2, loss: "), 0.66) << mode;
    EXPECT_EQ(times(said, "chief of 2, loss: "), 1) << said;
    EXPECT_TRUE(std::filesystem::exists(path("own"))) << mode;
    std::filesystem::remove_all(path("own"));
  }
}

// With all-reduce from the last checkpoint, if no other process has the model; and the job ends.
TEST_F(Programs, AChiefOfAllReduceThatFailsIsNotTheLastOne) {
  const std::string said = succeeds(launched("--trainers 2", "own_program", "saved chief failed"));
  EXPECT_THAT(said, HasSubstr("error: the chief fails"));
  EXPECT_LT(number_behind(said, "chief of 2, loss: "), 0.66);
  EXPECT_EQ(times(said, "chief of 2, loss: "), 1) << said;
  EXPECT_TRUE(std::filesystem::exists(path("own")));
}

// In each epoch the task with one wrong example is left out after three attempts. All others are
// trained.
TEST_F(Programs, GoOnWithoutBatchesThatCannotBeRead) {
  for (const std::string mode : {"asynchronous", "geo", "all_reduce"}) {
    const std::string said =
        succeeds(launched(mode == "all_reduce" ? "--trainers 2" : "--trainers 2 --servers 1",
                          "own_program", mode + " damage"));
    EXPECT_EQ(times(said, "are returned: block 7 is damaged"), 6) << said;
    EXPECT_THAT(said, HasSubstr("[master_0] left out: batches "));
    EXPECT_EQ(times(said, "[launch] left out    batches "), 2) << said;
    EXPECT_THAT(said, HasSubstr(" of epoch 1: ended badly 3 times: block 7 is damaged\n"));
    EXPECT_THAT(said, Not(HasSubstr("another one is started")));
    EXPECT_LT(number_behind(said, "chief of 2, loss: "), 0.67);
  }
}

// Six processes fail on two tasks: more than the restarts, but the tasks are the cause.
TEST_F(Programs, GoOnWithoutBatchesThatEveryProcessDiesOf) {
  const std::string said = succeeds(
      launched("--trainers 2 --servers 1 --restarts 4", "own_program", "asynchronous abort"));
  EXPECT_EQ(times(said, "was ended by signal 6; another one is started"), 6) << said;
  EXPECT_EQ(times(said, "[launch] left out    batches "), 2) << said;
  EXPECT_THAT(said, HasSubstr(" died or was cut off; trainer_"));
  EXPECT_LT(number_behind(said, "chief of 2, loss: "), 0.67);
}

// An error that only a step finds. With all-reduce no trained member may remain, and the tasks are
// restored: they are still known.
TEST_F(Programs, GoOnWithoutBatchesThatFailInAStep) {
  const std::string said = succeeds(launched("--trainers 2", "own_program", "all_reduce beyond"));
  EXPECT_THAT(said, HasSubstr("the batches are tried again, three times in all"));
  EXPECT_EQ(times(said, "[launch] left out    batches "), 2) << said;
  EXPECT_THAT(said, HasSubstr(" of epoch 2: ended badly 3 times: index 1000000 at ["));
  EXPECT_LT(number_behind(said, "chief of 2, loss: "), 0.67);
}

TEST_F(Programs, WithoutAnyBatchThatCanBeReadEnd) {
  const Outcome outcome =
      run_here(launched("--trainers 2 --servers 1", "own_program", "asynchronous all"));
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_THAT(outcome.output,
              HasSubstr("error: all 30 tasks of epoch 1 have failed; batches 116 to "
                        "119 of epoch 1: ended badly 3 times: block 7 is damaged"));
  EXPECT_THAT(outcome.output, HasSubstr("[launch]             and 25 tasks more"));
  EXPECT_THAT(outcome.output, HasSubstr("master_0 ended with code 3"));
}

TEST_F(Programs, MistakesEndTheJobAtOnce) {
  const auto fails = [&](const std::string& processes, const std::string& arguments) {
    const Outcome outcome = run_here(launched(processes, "own_program", arguments));
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("ended with code 1 before it trained"));
    EXPECT_THAT(outcome.output, Not(HasSubstr("another one is started")));
    return outcome.output;
  };
  EXPECT_THAT(fails("--trainers 1 --servers 1", "asynchronous optimizer"),
              HasSubstr("sgd, adagrad, adam and ftrl alone"));
  EXPECT_THAT(fails("--trainers 2", "geo"), HasSubstr("launch --servers 1"));
  EXPECT_THAT(fails("--trainers 1 --servers 1", "all_reduce"), HasSubstr("leave --servers out"));
  EXPECT_THAT(fails("--trainers 1 --servers 1", "asynchronous options"),
              HasSubstr("what Member::distribute() gave"));
  EXPECT_THAT(fails("--trainers 1 --servers 1", "geo pace"),
              HasSubstr("staleness is of mode = \"asynchronous\""));
  EXPECT_THAT(fails("--trainers 1 --servers 1", "geo exports 0"),
              HasSubstr("export_seconds needs checkpoint_seconds"));
  EXPECT_THAT(fails("--trainers 2", "all_reduce exports 60"),
              HasSubstr("export_seconds is of modes with servers"));
  // Alone, too, except for options that depend on others.
  EXPECT_THAT(run_here(program("own_program") + " asynchronous optimizer").output,
              HasSubstr("sgd, adagrad, adam and ftrl alone"));
  Outcome outcome = run_here("TRIREME_JOB_STORE=127.0.0.1:1 " + program("own_program") + " geo");
  EXPECT_THAT(outcome.output, HasSubstr("unset TRIREME_JOB_STORE"));
  outcome = run_here(kLaunch + "--program ./nothing --trainers 1");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("./nothing is no program"));
}

}  // namespace
}  // namespace trireme::testing
