// Jobs of several processes by the command line, on synthetic data.

#include <future>

#include "launch.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(Launch, ParametersOnServers) {
  const std::string file = job(kAdagrad, "mode = \"asynchronous\"\ntask_batches = 8\n", 16000);
  const Outcome outcome = run_here(kLaunch + "--trainers 2 --servers 2 " + file + " -o model");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  const double auc = number_behind(outcome.output, "test auc: ");
  EXPECT_GT(auc, 0.7);
  EXPECT_THAT(outcome.output, HasSubstr("16000 examples"));
  // The saved model is complete, with its tables.
  Model model = load_model(path("model"));
  const data::Dataset test =
      data::synthetic_clicks({.examples = 2000, .first = 1000000, .ids = 2000});
  EXPECT_NEAR(evaluate(model, test.batch(500))["auc"], auc, 1e-4);
  EXPECT_TRUE(processes_with({path("job.toml")}).empty()) << "all have ended";
}

TEST_F(Launch, NobodyIsFarAheadIfToldSo) {
  for (const char* more : {"staleness = 1\n", "staleness = 3\nprefetch = true\n"}) {
    const std::string file =
        job(kAdagrad, std::string("mode = \"asynchronous\"\ntask_batches = 4\n") + more, 8000, 2);
    const Outcome outcome = run_here(kLaunch + "--trainers 3 --servers 1 " + file);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_GT(number_behind(outcome.output, "test auc: "), 0.7);
    std::filesystem::remove_all(path("job-checkpoints"));
  }
}

// A synchronous job of two trainers and two servers has the same result as one of one each.
TEST_F(Launch, SynchronousJobsAreThoseOfOneProcess) {
  const std::string file =
      job(kAdagrad, "mode = \"synchronous\"\ntask_batches = 8\ncheckpoint_seconds = 0\n", 16000);
  const Outcome outcome = run_here(kLaunch + "--trainers 2 --servers 2 " + file);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_GT(number_behind(outcome.output, "test auc: "), 0.7);
  EXPECT_FALSE(std::filesystem::exists(path("job-checkpoints")));
}

// Of the table of vectors, 1.8 MB, at most 0.8 MB are in memory.
TEST_F(Launch, RowsThatDoNotFitIntoMemoryAreOnDisk) {
  const std::string file =
      job(kAdagrad, "mode = \"synchronous\"\ntask_batches = 8\ncheckpoint_seconds = 0\n", 4000);
  const std::string command =
      kLaunch + "--trainers 1 --servers 1 " + file + " --set model.width=32 --output ";
  const Outcome whole = run_here(command + path("whole"));
  const Outcome limited = run_here(
      command + path("limited") +
      " --set distributed.memory_limit=800000 --set distributed.cold_rows=" + path("cold"));
  ASSERT_EQ(whole.code, 0) << whole.output;
  ASSERT_EQ(limited.code, 0) << limited.output;
  EXPECT_EQ(number_behind(limited.output, "test loss: "),
            number_behind(whole.output, "test loss: "));
  EXPECT_FALSE(std::filesystem::exists(path("cold")));
}

// Most ids of a power law occur once or twice: their rows are removed, and the model is as good.
TEST_F(Launch, RowsThatAreNotWorthTheirPlaceGo) {
  const std::string file =
      job(kAdagrad,
          "mode = \"asynchronous\"\ntask_batches = 8\neviction = { below = 4, clicks = "
          "\"target\", click_weight = 2, decay = 0.9 }\n",
          16000, 3);
  const Outcome outcome = run_here(kLaunch + "--trainers 2 --servers 2 " + file);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_GT(number_behind(outcome.output, "tick 1: "), 100);
  EXPECT_GT(number_behind(outcome.output, "tick 2: "), 100);
  EXPECT_GT(number_behind(outcome.output, "test auc: "), 0.7);
  write(path("wrong.toml"), read(path("job.toml")));
  const Outcome wrong = run_here(kLaunch +
                                 "--trainers 1 --servers 1 wrong.toml --set "
                                 "distributed.eviction.clicks=clack");
  EXPECT_EQ(wrong.code, 2) << wrong.output;
  EXPECT_THAT(wrong.output, HasSubstr("\"clack\", which is no input"));
}

TEST_F(Launch, TrainersOfGeoJobsGoTheirOwnWayForATask) {
  const std::string file = job(kAdagrad, "mode = \"geo\"\ntask_batches = 4\n", 16000);
  const Outcome outcome = run_here(kLaunch + "--trainers 2 --servers 2 " + file);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_GT(number_behind(outcome.output, "test auc: "), 0.7);
}

// The job returns to its checkpoint, with all servers and the completed tasks of that time.
TEST_F(Launch, AServerThatIsKilledIsReplacedWithWhatItHeld) {
  const std::string file = job(
      kAdagrad, "mode = \"asynchronous\"\ntask_batches = 4\ncheckpoint_seconds = 0.5\n", 12000, 2);
  auto running = std::async(std::launch::async, [&] {
    return run_here(kLaunch + "--trainers 2 --servers 2 " + file + " -o model");
  });
  const pid_t victim = process("server_1");
  for (int i = 0; i < 400 && !std::filesystem::exists(path("model-checkpoints/000000000002"));
       ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  ASSERT_GT(victim, 0);
  ::kill(victim, SIGKILL);
  Outcome outcome = running.get();
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("server_1 was ended by signal 9; another one is started"));
  EXPECT_THAT(outcome.output, HasSubstr("2 servers went back to epoch "));
  EXPECT_GT(number_behind(outcome.output, "test auc: "), 0.7);
  // The next job may continue from these checkpoints with another number of servers.
  outcome =
      run_here(kLaunch + "--trainers 1 --servers 3 " + file +
               " -o model --set distributed.resume=true --set distributed.checkpoint_seconds=60 "
               "--set train.epochs=3");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("3 servers went back to epoch 2 with 47 tasks done"));
  EXPECT_GT(number_behind(outcome.output, "test auc: "), 0.7);
}

TEST_F(Launch, ATrainerThatIsKilledIsReplaced) {
  const std::string file = job(kAdagrad, "task_batches = 4\n", 60000, 3);
  auto running = std::async(
      std::launch::async, [&] { return run_here(kLaunch + "--trainers 3 " + file + " -o model"); });
  const pid_t victim = process("trainer_1");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  ASSERT_GT(victim, 0);
  ::kill(victim, SIGKILL);
  const Outcome outcome = running.get();
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("trainer_1 was ended by signal 9; another one is started"));
  EXPECT_GT(number_behind(outcome.output, "test auc: "), 0.7);
  EXPECT_TRUE(std::filesystem::exists(path("model/model.json")));
}

// No trainer with the model remains: it is in a checkpoint, with the completed tasks of that time.
TEST_F(Launch, TrainersThatAreAllKilledGoBackToACheckpoint) {
  const std::string file = job(kAdagrad, "task_batches = 4\ncheckpoint_seconds = 0.3\n", 30000, 3);
  auto running = std::async(
      std::launch::async, [&] { return run_here(kLaunch + "--trainers 2 " + file + " -o model"); });
  const std::vector<pid_t> victims = {process("trainer_0"), process("trainer_1")};
  for (int i = 0; i < 400 && !std::filesystem::exists(path("model-checkpoints/000000000003"));
       ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  for (const pid_t victim : victims) {
    ASSERT_GT(victim, 0);
    ::kill(victim, SIGKILL);
  }
  Outcome outcome = running.get();
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("the trainers went back to epoch "));
  EXPECT_GT(number_behind(outcome.output, "test auc: "), 0.7);
  outcome = run_here(kLaunch + "--trainers 3 " + file +
                     " -o model --set distributed.resume=true --set train.epochs=4");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("the trainers went back to epoch 3 with 118 tasks done"));
  EXPECT_GT(number_behind(outcome.output, "test auc: "), 0.7);
}

TEST_F(Launch, AMasterThatIsKilledIsReplaced) {
  const std::string file = job(kAdagrad, "task_batches = 2\n", 8000, 12);
  auto running = std::async(
      std::launch::async, [&] { return run_here(kLaunch + "--trainers 2 " + file + " -o model"); });
  const pid_t victim = process("master_0");
  process("trainer_1");
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  ASSERT_GT(victim, 0);
  ::kill(victim, SIGKILL);
  const Outcome outcome = running.get();
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("master_0 was ended by signal 9"));
}

// Reviews of 1 to 30 words; a few words express the opinion.
std::string reviews(int count) {
  std::string text;
  std::uint32_t state = 7;
  const auto draw = [&](std::uint32_t max) {
    return (state = state * 1664525u + 1013904223u) / 65536 % max;
  };
  for (int i = 0; i < count; ++i) {
    const bool good = draw(2) == 1;
    for (std::uint32_t left = draw(30), k = 0; k <= left; ++k) {
      const bool tells = k == left || draw(4) == 0;
      text += (tells ? (good ? "fine" : "dull") : "word") + std::to_string(draw(20)) + " ";
    }
    text += std::string("\t") + (good ? "pos" : "neg") + "\n";
  }
  return text;
}

class LaunchTexts : public Launch {
 protected:
  LaunchTexts() { write(path("reviews.tsv"), reviews(kReviews)); }
  std::string texts(const std::string& cut, const std::string& distributed) const {
    write(
        path("job.toml"),
        "[data]\ntrain = \"reviews.tsv\"\ntest = \"reviews.tsv\"\ntext = { tokens = \"split\" }\n" +
            cut +
            "[model]\nlayers = [{ embedding = { dim = 8, sparse_gradient = true } }, "
            "\"sequence_mean\", { linear = { units = 2 } }]\n[train]\nloss = \"cross_entropy\"\n" +
            kAdagrad + "epochs = 3\n[distributed]\ntask_batches = 3\n" + distributed);
    return path("job.toml");
  }
  static constexpr int kReviews = 1500;
};

// The batches of one process, however they are cut: a single trainer trains like one process.
TEST_F(LaunchTexts, ATrainerAloneIsOneProcess) {
  Feeds reviews;
  RaggedTensor::from(std::vector<std::vector<std::int64_t>>{{2, 3, 4, 5}, {}, {40}, {9, 9, 30}})
      .add_to(reviews, "text");
  for (const std::string cut : {"bucket = true\nbatch = 32\n", "batch_tokens = 300\n"}) {
    Outcome outcome = run_here(std::string(TRIREME_CLI) + " train -o alone " + texts(cut, ""));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    outcome = run_here(kLaunch + "--trainers 1 -o launched " + texts(cut, ""));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    const auto scores = [&](const char* model) {
      return load_model(path(model)).predict(reviews)[0].to_vector<float>();
    };
    EXPECT_THAT(scores("launched"),
                ::testing::Pointwise(::testing::FloatNear(1e-4f), scores("alone")))
        << cut;
  }
}

TEST_F(LaunchTexts, EachIsLearnedOnce) {
  const std::string tokens = "batch_tokens = 300\n", bucket = "bucket = true\nbatch = 32\n";
  for (const auto& [cut, mode] : {std::pair(bucket, "all_reduce"), std::pair(bucket, "synchronous"),
                                  std::pair(tokens, "asynchronous"), std::pair(tokens, "geo")}) {
    const std::string servers = mode == std::string("all_reduce") ? "" : " --servers 1";
    const Outcome outcome =
        run_here(kLaunch + "--trainers 2" + servers + " " +
                 texts(cut, std::string("mode = \"") + mode + "\"\ncheckpoint_seconds = 0\n"));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(" 4500 examples")) << cut << mode;
    EXPECT_GT(number_behind(outcome.output, "test accuracy: "), 0.95) << cut << mode;
  }
}

// The first master stores what it found out about the data.
TEST_F(LaunchTexts, AMasterThatTakesOverReadsNoData) {
  const std::string file = texts("bucket = true\nbatch = 32\n", "") + " --set train.epochs=60";
  auto running =
      std::async(std::launch::async, [&] { return run_here(kLaunch + "--trainers 2 " + file); });
  const auto begun = [&] {
    const Outcome status = run_here(std::string(TRIREME_CLI) + " job status");
    return status.output.find("trained     ") != std::string::npos &&
           status.output.find("trained     0 ") == std::string::npos;
  };
  for (int i = 0; i < 600 && !begun(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::filesystem::rename(path("reviews.tsv"), path("gone.tsv"));
  ::kill(process("master_0"), SIGKILL);
  const Outcome outcome = running.get();
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("master_0 was ended by signal 9; another one is started"));
  EXPECT_GT(number_behind(outcome.output, "test accuracy: "), 0.95);
}

// If all inputs are sequences, no input counts examples: gradients are averaged by the words that
// the loss is a mean of.
TEST_F(LaunchTexts, ThatAreWritten) {
  std::string pairs;
  for (int i = 0; i < 400; ++i) {
    const std::string a = std::to_string(i % 7), b = std::to_string(i % 5);
    pairs += (i % 3 == 0 ? "x" + a : "x" + a + " x" + b) + "\t" +
             (i % 3 == 0 ? "y" + a : "y" + b + " y" + a) + "\n";
  }
  write(path("pairs.tsv"), pairs);
  write(path("job.toml"),
        "[data]\ntrain = { texts = \"pairs.tsv\", fields = [\"source\", \"target\"] }\n"
        "text = { tokens = \"split\" }\nbatch_tokens = 40\n"
        "[model]\nname = \"translator\"\nwidth = 8\nunits = 8\n[train]\nloss = \"cross_entropy\"\n"
        "optimizer = { adam = { learning_rate = 0.01 } }\nepochs = 2\n[distributed]\ntask_batches "
        "= 2\n");
  const Outcome outcome = run_here(kLaunch + "--trainers 2 " + path("job.toml"));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr(" 800 examples"));
  EXPECT_TRUE(std::filesystem::exists(path("job/model.json")));
}

TEST_F(Launch, MistakesEndIt) {
  const std::string wrong = job(kAdagrad, "mode = \"asynchronos\"\n", 100);
  Outcome outcome = run_here(kLaunch + "--trainers 1 " + wrong);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.output, HasSubstr("did you mean \"asynchronous\"?"));
  const std::string none = job(kAdagrad, "mode = \"asynchronous\"\n", 100);
  outcome = run_here(kLaunch + "--trainers 1 " + none);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("a job needs some: --servers 2"));
  outcome = run_here(kLaunch + "--trainers 0 " + none);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("trainers must be 1 to 4096"));
  outcome = run_here(kLaunch + "--trainers 1 missing.toml");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.output, HasSubstr("missing.toml"));
  outcome = run_here(kLaunch + "--trainers 1 --servers 1 " + job(kAdagrad, "", 100));
  EXPECT_THAT(outcome.output, HasSubstr("does not use parameter servers"));
}

}  // namespace
}  // namespace trireme::testing
