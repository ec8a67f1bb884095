#include "session/job/resolve.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "trireme/job.h"

namespace trireme::job {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string resolved(const std::string& text, const JobOptions& options = {}) {
  return Job::parse(text, "a/job.toml", options).resolved();
}

TEST(JobResolve, EveryExampleReadsBackAsTheSameJob) {
  const char* source = std::getenv("TRIREME_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(source) + "/examples/jobs")) {
    if (entry.path().extension() != ".toml") continue;
    const std::string once = Job::read(entry.path().string()).resolved();
    EXPECT_EQ(Job::parse(once, entry.path().string()).resolved(), once) << entry.path();
    ++count;
  }
  EXPECT_GT(count, 10);
}

TEST(JobResolve, FiltersSamplesAndListsReadBackAsTheSame) {
  const std::string job =
      "[data]\ntrain = [\"mnist/train\", { csv = \"a.csv\" }]\n"
      "filter = [{ column = \"label\", values = [1, 2] }]\nsample = { balance = true }\n"
      "[model]\nlayers = [{ linear = { units = 3 } }]\n[train]\nloss = \"cross_entropy\"\n"
      "optimizer = \"adam\"\n";
  const std::string once = resolved(job);
  EXPECT_THAT(once, HasSubstr("invert = false"));
  EXPECT_THAT(once, HasSubstr("separator = \",\""));
  EXPECT_EQ(resolved(once), once);
}

TEST(JobResolve, FoldsReplaceTheShareForValidation) {
  const std::string job =
      "[data]\ntrain = \"mnist/train\"\nfolds = 3\n[model]\nlayers = [{ "
      "linear = { units = 3 } }]\n[train]\nloss = \"cross_entropy\"\noptimizer = \"adam\"\n";
  const std::string once = resolved(job);
  EXPECT_THAT(once, HasSubstr("folds = 3\nfold = 0\n"));
  EXPECT_THAT(once, Not(HasSubstr("validation_split")));
  EXPECT_EQ(resolved(once), once);
}

constexpr const char* kJob = R"([data]
train = "mnist/train"
validation = "mnist/test"
batch_tokens = 512
[model]
layers = [{ linear = { units = 3, parameters = { frozen = true } } }, "relu", "dropout"]
[train]
loss = "cross_entropy"
schedule = "cosine"
clip = { norm = 2 }
)";

TEST(JobResolve, HasTheDefaultsOfAllOptions) {
  const std::string text = resolved(kJob);
  EXPECT_THAT(text, HasSubstr("shuffle = true\n"));
  EXPECT_THAT(text, HasSubstr("  { linear = { units = 3, bias = true, weight_form = \"full\", "
                              "parameters = { frozen = true } } },\n  \"relu\",\n"
                              "  { dropout = { rate = 0.5 } },\n"));
  EXPECT_THAT(text, HasSubstr("optimizer = { adam = { learning_rate = 0.001, beta1 = 0.9"));
  EXPECT_THAT(text, HasSubstr("schedule = { cosine = { last = 0, warmup_steps = 0 } }\n"));
  EXPECT_THAT(text, HasSubstr("clip = { value = 0, norm = 2, global_norm = 0 }\n"));
  EXPECT_THAT(
      text,
      HasSubstr("loss = { cross_entropy = { label_smoothing = 0, reduction = \"mean\" } }\n"));
  EXPECT_THAT(text, HasSubstr("directory = \"job\"\n"));
}

TEST(JobResolve, LeavesOutWhatOtherKeysReplace) {
  const std::string text = resolved(kJob);
  EXPECT_THAT(text, Not(HasSubstr("validation_split")));
  EXPECT_THAT(text, Not(HasSubstr("\nbatch = ")));
  const std::string all_reduce = resolved(std::string(kJob) + "[distributed]\n");
  EXPECT_THAT(all_reduce, HasSubstr("mode = \"all_reduce\""));
  EXPECT_THAT(all_reduce, Not(HasSubstr("staleness")));
  EXPECT_THAT(resolved(std::string(kJob) + "[distributed]\nmode = \"geo\"\n"),
              HasSubstr("prefetch = false"));
}

TEST(JobResolve, HasWhatTheCommandLineChanged) {
  JobOptions options;
  options.set = {"train.epochs=7"};
  options.seed = 42;
  options.output = "else \"where\"";
  const std::string text = resolved(kJob, options);
  EXPECT_THAT(text, HasSubstr("epochs = 7\n"));
  EXPECT_THAT(text, HasSubstr("seed = 42\n"));
  EXPECT_THAT(text, HasSubstr("directory = \"else \\\"where\\\"\"\n"));
}

TEST(JobResolve, HasTheDefaultsOfDataTablesAugmentationsAndMetrics) {
  const std::string text = resolved(
      "[data]\ntrain = { csv = \"x.csv\", target = \"y\" }\naugment = [\"flip\", "
      "{ random_crop = { size = 28 } }]\n[model]\nlayers = [\"relu\"]\n[train]\n"
      "loss = \"mse\"\nmetrics = [\"rmse\", { top_k_accuracy = {} }]\noptimizer = \"adam\"\n");
  EXPECT_THAT(text, HasSubstr("train = { csv = \"x.csv\", target = \"y\", named = false"));
  EXPECT_THAT(text, HasSubstr("separator = \",\""));
  EXPECT_THAT(text, HasSubstr("  { flip = { probability = 0.5 } },\n"
                              "  { random_crop = { size = 28, padding = 0 } },\n"));
  EXPECT_THAT(text, HasSubstr("  { top_k_accuracy = { k = 5 } },\n"));
  EXPECT_EQ(resolved(text), text);
}

TEST(JobResolve, LeavesNamedModelsAndTextsAsTheyAre) {
  const std::string text = resolved(
      "[data]\ntrain = \"tatoeba/train\"\ntext = { max_tokens = 9 }\n[model]\n"
      "name = \"translator\"\n[train]\nloss = \"cross_entropy\"\n");
  EXPECT_THAT(text, HasSubstr("text = { max_tokens = 9 }\n"));
  EXPECT_THAT(text, HasSubstr("[model]\nname = \"translator\"\n\n"));
}

TEST(JobResolve, KeepsNamesAndInputsOfLayers) {
  const std::string text = resolved(
      "[data]\ntrain = \"x.csv\"\n[model]\nlayers = [{ linear = { units = 4 }, name = \"a\" }, "
      "{ relu = {}, name = \"b\" }, { add = {}, inputs = [\"a\", \"b\"] }]\n[train]\n"
      "loss = \"mse\"\noptimizer = \"adam\"\n");
  EXPECT_THAT(
      text,
      HasSubstr("{ linear = { units = 4, bias = true, weight_form = \"full\" }, name = \"a\" }"));
  EXPECT_THAT(text, HasSubstr("{ relu = {}, name = \"b\" }"));
  EXPECT_THAT(text, HasSubstr("{ add = {}, inputs = [\"a\", \"b\"] }"));
  EXPECT_EQ(resolved(text), text);
}

}  // namespace
}  // namespace trireme::job
