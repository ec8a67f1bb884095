// Whole trainings by the command line and the examples, on small parts of the data sets. A test
// whose data set is not on this machine is skipped.

#include "end_to_end.h"
#include "trireme/data.h"
#include "trireme/image.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

// Of a start's "first step after 0.171 s: 0 kernels compiled, 22 cached".
double kernels_compiled(const std::string& text) {
  const std::size_t at = text.find("first step after ");
  return number_behind(at == std::string::npos ? text : text.substr(at), " s: ");
}

const std::string kSmall = "--set data.limit=1280 --set data.test_limit=500 --set train.epochs=1 ";

TEST_F(EndToEnd, TrainEvaluatePredictAndInspect) {
  NEEDS_DATA("mnist/train");
  const std::string output = train("mnist_mlp", "--set data.limit=6400 --set train.epochs=2");
  const double accuracy = number_behind(output, "test accuracy: ");
  EXPECT_GT(accuracy, 0.85);
  EXPECT_THAT(output, HasSubstr("confusion matrix"));
  EXPECT_THAT(output, HasSubstr("saved model/"));
  const Tensor sheet = image::load(path("model/test_images.png"));
  EXPECT_GT(sheet.dim(0), 200);

  const std::string eval = succeeds(kTrireme + " eval model --data mnist/test --batch 100");
  EXPECT_NEAR(number_behind(eval, "accuracy: "), accuracy, 1e-9);

  // A picture in a file gives what the same row of the data set gives.
  const data::Batch row = data::mnist("test").rows(0, 1);
  image::save_png(path("seven.png"), image::from_planes(row.at("image").reshaped({1, 28, 28})));
  const std::string score = "\"score\": ";
  const std::string file_json = succeeds(kTrireme + " predict model seven.png --json");
  const std::string row_json =
      succeeds(kTrireme + " predict model --data mnist/test --rows 0 --json");
  EXPECT_EQ(number_behind(file_json, score), number_behind(row_json, score));

  const std::string inspect = succeeds(kTrireme + " inspect model --batch 7");
  EXPECT_THAT(inspect, HasSubstr("linear_2.weight"));
  EXPECT_THAT(inspect, HasSubstr("prediction at batch 7"));
}

TEST_F(EndToEnd, TheSameSeedGivesTheSameBitsOnAnyNumberOfThreads) {
  NEEDS_DATA("fashion_mnist/train");
  train("fashion_conv", kSmall + "--threads 1");
  const std::string once = weights();
  train("fashion_conv", kSmall + "--threads 2");
  EXPECT_TRUE(once == weights()) << "two threads";
  train("fashion_conv", kSmall + "--threads 1 --no-memory-planning");
  EXPECT_TRUE(once == weights()) << "without memory planning";
  train("fashion_conv", kSmall + "--threads 1 --seed 2");
  EXPECT_FALSE(once == weights()) << "another seed";
}

TEST_F(EndToEnd, ASecondStartCompilesNothing) {
  NEEDS_DATA("fashion_mnist/train");
  const std::string cache = "TRIREME_CACHE_DIR=" + path("cache") + " ";
  const std::string command = cache + kTrireme + " train " + kJobs +
                              "/fashion_conv.toml -o model " +
                              "--set train.schedule=constant --set train.max_steps=2 --timings " +
                              "--set data.test_limit=64 --no-sheet";
  const std::string first = succeeds(command);
  EXPECT_GT(kernels_compiled(first), 0);
  // Another batch size is no other Plan.
  for (const char* batch : {"64", "1", "7", "100"}) {
    const std::string again = succeeds(command + " --set data.batch=" + batch);
    EXPECT_EQ(kernels_compiled(again), 0) << batch;
  }
}

TEST_F(EndToEnd, DumpsAndProfilesAreWritten) {
  NEEDS_DATA("mnist/train");
  succeeds("TRIREME_DUMP=" + path("dump") + " TRIREME_PROFILE=" + path("trace.json") + " " +
           kTrireme + " train " + kJobs + "/mnist_mlp.toml -o model " + kSmall);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path("dump"))) {
    if (entry.is_regular_file()) ++files;
  }
  EXPECT_GT(files, 8u);
  EXPECT_THAT(read(path("trace.json")), HasSubstr("linear_0"));
}

TEST_F(EndToEnd, AProgramFileIsAModelToo) {
  NEEDS_DATA("mnist/train");
  write(path("net.txt"),
        "program net v1\n"
        "param %w : f32[784, 10] = xavier_uniform(gain = 1.0)\n"
        "block 0 (%image : f32[batch, 1, 28, 28]) {\n"
        "  %0 = reshape(%image) {shape = shape[batch, 784]} : f32[batch, 784]\n"
        "  %1 = matmul(%0, %w) {transpose_a = false, transpose_b = false} : f32[batch, 10]\n"
        "  return %1\n"
        "}\n");
  write(path("net.toml"),
        "[data]\ntrain = \"mnist/train\"\ntest = \"mnist/test\"\nlimit = 6400\n"
        "[model]\nprogram = \"net.txt\"\n"
        "[train]\nloss = \"cross_entropy\"\noptimizer = { momentum = { learning_rate = 0.05 } }\n");
  const std::string output = succeeds(kTrireme + " train net.toml --no-sheet");
  EXPECT_GT(number_behind(output, "test accuracy: "), 0.8);
  EXPECT_THAT(succeeds(kTrireme + " inspect net.txt"), HasSubstr("matmul"));
}

TEST_F(EndToEnd, CheckTrainsNothing) {
  NEEDS_DATA("mnist/train");
  const std::string job = std::string(TRIREME_JOBS) + "/mnist_mlp.toml";
  const std::string text = succeeds(kTrireme + " check " + job + " --set data.limit=640");
  EXPECT_THAT(text, HasSubstr("train       640"));
  EXPECT_THAT(text, HasSubstr("image f32[1, 28, 28], label i64[]"));
  EXPECT_THAT(text, HasSubstr("linear_0.weight"));
  EXPECT_THAT(text, HasSubstr("mnist_mlp: ok\n"));
  EXPECT_EQ(succeeds(kTrireme + " train --dry-run " + job + " --set data.limit=640"), text);
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "it has saved something";
  const std::string json = succeeds(kTrireme + " check " + job + " --json");
  EXPECT_THAT(json, HasSubstr("\"examples\": 60000"));
  EXPECT_THAT(json, HasSubstr("\"label\": \"i64[]\""));
  EXPECT_EQ(run_here(kTrireme + " check " + job + " --set model.layers=[\"flaten\"]").code, 3);

  const std::string whole = succeeds(kTrireme + " check " + job + " --print-job");
  EXPECT_THAT(whole, HasSubstr("shuffle = true"));
  write(path("mnist_mlp.toml"), whole);
  EXPECT_EQ(succeeds(kTrireme + " train --print-job mnist_mlp.toml"), whole);
  const std::string few = " --no-sheet --quiet --set data.limit=640 --set data.test_limit=100";
  EXPECT_EQ(succeeds(kTrireme + " train mnist_mlp.toml" + few),
            succeeds(kTrireme + " train " + job + few));
}

TEST_F(EndToEnd, Version) {
  EXPECT_THAT(succeeds(kTrireme + " --version"), ::testing::MatchesRegex("trireme [0-9.]+\n"));
}

TEST_F(EndToEnd, LinearRegressionPredictsNumbers) {
  NEEDS_DATA("california_housing/train");
  const std::string output = train("housing_linear", "--set train.epochs=20");
  const double mse = number_behind(output, "test mse: ");
  EXPECT_LT(mse, 0.47);
  const std::string eval = succeeds(kTrireme + " eval model --data california_housing/test");
  EXPECT_NEAR(number_behind(eval, "mse: "), mse, 1e-4);
  EXPECT_THAT(succeeds(kTrireme + " predict model --data california_housing/test --rows 0:2"),
              HasSubstr("prediction"));
}

TEST_F(EndToEnd, AnAverageIsWhatIsTestedAndSaved) {
  std::string rows = "a,b,target\n";
  for (int i = 0; i < 200; ++i) {
    const int a = i * 37 % 101, b = i * 53 % 97, noise = i * 29 % 11 - 5;
    rows += std::to_string(a / 100.0) + "," + std::to_string(b / 100.0) + "," +
            std::to_string((3 * a - 2 * b + noise) / 100.0) + "\n";
  }
  write(path("line.csv"), rows);
  write(path("line.toml"),
        "[data]\ntrain = \"line.csv\"\ntest = \"line.csv\"\nbatch = 10\n"
        "[model]\nlayers = [{ linear = { units = 1 } }]\n"
        "[train]\nloss = \"mse\"\nepochs = 40\naccumulate = 2\n"
        "optimizer = { lion = { learning_rate = 0.05 } }\n"
        "parameters = [{ match = \"*.bias\", weight_decay = 0, learning_rate = 0.5 }]\n");
  const std::string average = "--set 'train.average={window={updates=100}}'";
  const double plain = number_behind(succeeds(kTrireme + " train line.toml"), "test mse: ");
  const double mse =
      number_behind(succeeds(kTrireme + " train line.toml " + average), "test mse: ");
  EXPECT_LT(mse, plain);  // steps of a fixed length dance around what their average finds
  EXPECT_LT(mse, 0.002);
  const std::string eval = succeeds(kTrireme + " eval line --data line.csv");
  EXPECT_NEAR(number_behind(eval, "mse: "), mse, 1e-6);
}

#ifdef TRIREME_WITH_EXAMPLES
TEST_F(EndToEnd, ExamplesRun) {
  const struct {
    const char* name;
    const char* needs;
    const char* says;
  } examples[] = {{"housing_linear", "california_housing/train", "test mse: "},
                  {"softmax_regression", "mnist/train", "test accuracy: "},
                  {"mlp", "mnist/train", "test accuracy: "},
                  {"convolutional", "fashion_mnist/train", "test accuracy: "},
                  {"semantic_roles", "propbank/train", "test f1: "},
                  {"translation", "tatoeba/train", "beam 4 BLEU: "},
                  {"adult_wide_and_deep", "adult/train", "test auc: "},
                  {"movielens_two_tower", "movielens/train", "test rmse: "}};
  std::string not_run;
  for (const auto& example : examples) {
    if (const std::string missing = data::missing_data(example.needs); !missing.empty()) {
      not_run += std::string(example.name) + ": " + missing + "\n";
      continue;
    }
    const std::string output =
        succeeds(std::string(TRIREME_EXAMPLES) + "/" + example.name + " --quick");
    number_behind(output, example.says);
    EXPECT_TRUE(std::filesystem::exists(path(std::string(example.name) + "/model.json")));
  }
  if (!not_run.empty()) GTEST_SKIP() << not_run;
}

TEST_F(EndToEnd, ExamplesOfOwnLoopsRun) {
  NEEDS_DATA("mnist/train");
  const std::string folder = std::string(TRIREME_EXAMPLES) + "/";
  EXPECT_LT(number_behind(succeeds(folder + "vae --quick"), ": loss "), 300);  // 550 at the start
  EXPECT_TRUE(std::filesystem::exists(path("vae.png")));
  EXPECT_GT(number_behind(succeeds(folder + "siamese --quick"), "right about new pairs "), 0.6);
}

TEST_F(EndToEnd, AGanDrawsDigits) {
  NEEDS_DATA("mnist/train");
  number_behind(succeeds(std::string(TRIREME_EXAMPLES) + "/gan --quick"), "of the generator ");
  EXPECT_TRUE(std::filesystem::exists(path("gan.png")));
}

TEST_F(EndToEnd, ATransformerTranslates) {
  NEEDS_DATA("tatoeba/train");
  const std::string output =
      succeeds(std::string(TRIREME_EXAMPLES) + "/translation transformer --quick");
  number_behind(output, "beam 4 BLEU: ");
  EXPECT_TRUE(std::filesystem::exists(path("translation/model.json")));
}

TEST_F(EndToEnd, TextsAreClassifiedInFourWays) {
  NEEDS_DATA("sentence_polarity/train");
  for (const std::string name : {"logistic", "mean", "convolution", "lstm"}) {
    const std::string output = succeeds(std::string(TRIREME_EXAMPLES) + "/text_classifiers " +
                                        name + " sentence_polarity --quick");
    EXPECT_GT(number_behind(output, "test accuracy: "), 0.4) << name;
    const std::string model = path("text_" + name);
    EXPECT_THAT(succeeds(kTrireme + " predict " + model + " --text \"a fine film\" --text dull"),
                HasSubstr("a fine film"));
    EXPECT_THAT(succeeds(kTrireme + " eval " + model + " --data sentence_polarity/test --limit 50"),
                HasSubstr("accuracy: "));
  }
}

TEST_F(EndToEnd, WordEmbeddingsAreLearntInThreeWays) {
  NEEDS_DATA("wikitext2/test");
  for (const std::string way : {"ngram", "negative", "tree"}) {
    EXPECT_THAT(succeeds(std::string(TRIREME_EXAMPLES) + "/word_embeddings " + way + " --quick"),
                HasSubstr("test p"));
  }
}

// What docs/explanation/sequences.md walks through.
TEST_F(EndToEnd, TwoMemoriesSayWhatTheDocumentSays) {
  const std::string output = succeeds(std::string(TRIREME_EXAMPLES) + "/two_states");
  EXPECT_THAT(output, HasSubstr("block 1 (%memory : f32[active_1, 1]"));
  EXPECT_THAT(output, HasSubstr("return %6, %7, %6, %7\n"));
  EXPECT_THAT(output,
              HasSubstr("sums    [1, 3, 6, 5, 1]\nmaxima  [1, 2, 3, 5, 5]\nlast    [6, 0, 1]\n"));
}
#endif

TEST(CommandLine, HelpStartsWithExamples) {
  const Outcome help = run(kTrireme + " --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_LT(help.output.find("trireme train examples/jobs"), help.output.find("Options"));
  EXPECT_THAT(help.output, HasSubstr("exit codes"));
  const Outcome info = run(kTrireme + " info");
  EXPECT_EQ(info.code, 0);
  EXPECT_THAT(info.output, HasSubstr("threads"));
}

}  // namespace
}  // namespace trireme::testing
