// Which examples a job trains and validates on, and in what order.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/testing/error.h"
#include "data/testing/files.h"
#include "trireme/job.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;
using Numbers = std::vector<float>;

class JobData : public testing::Test {
 protected:
  JobData() {
    std::string rows = "x,target\n";
    for (int i = 0; i < 40; ++i) rows += std::to_string(i) + "," + std::to_string(i) + "\n";
    directory_.write("count.csv", rows);
  }

  Job job(const std::string& data) const {
    return Job::parse("[data]\ntrain = \"count.csv\"\nbatch = 6\n" + data +
                          "[model]\nlayers = [{ linear = { units = 1 } }]\n"
                          "[train]\nloss = \"mse\"\nseed = 3\n",
                      directory_.path() + "/job.toml");
  }

  static Numbers numbers(const data::Batches& batches, std::int64_t epoch) {
    Numbers all;
    for (const data::Batch& batch : batches.epoch(epoch)) {
      const Numbers part = batch.at("target").to_vector<float>();
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  static Numbers sorted(Numbers numbers) {
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  }

  data::TestDirectory directory_;
};

TEST_F(JobData, WithoutShufflingTheTrainingPartKeepsTheOrderOfTheFile) {
  Job held = job("validation_split = 0.25\nshuffle = false\n");
  const Numbers training = numbers(held.train_data(), 0);
  const Numbers validation = numbers(*held.validation_data(), 0);
  EXPECT_EQ(training.size(), 30u);
  EXPECT_EQ(training, sorted(training));
  EXPECT_EQ(numbers(held.train_data(), 1), training);

  Numbers both = training, all(40);
  both.insert(both.end(), validation.begin(), validation.end());
  std::iota(all.begin(), all.end(), 0.0f);
  EXPECT_EQ(sorted(both), all) << "each example is in one part";
  EXPECT_GT(training.back(), 30) << "and the parts are picked at random";
  EXPECT_LT(validation.front(), 30);
}

TEST_F(JobData, ShufflingChangesTheOrderOfATrainingPartButNotWhatIsInIt) {
  Job held = job("validation_split = 0.25\n");
  const Numbers first = numbers(held.train_data(), 0), second = numbers(held.train_data(), 1);
  EXPECT_NE(first, second);
  EXPECT_NE(first, sorted(first));
  EXPECT_EQ(sorted(first), sorted(second));
  Job still = job("validation_split = 0.25\nshuffle = false\n");
  EXPECT_EQ(sorted(first), numbers(still.train_data(), 0)) << "the seed alone picks the parts";
  EXPECT_EQ(numbers(*held.validation_data(), 0), numbers(*held.validation_data(), 1));
}

TEST_F(JobData, FoldsHaveEachExampleOnceAsValidation) {
  Numbers validated, all(40);
  for (const char* fold : {"0", "1", "2"}) {
    Job held = job("folds = 3\nfold = " + std::string(fold) + "\n");
    const Numbers training = numbers(held.train_data(), 0);
    const Numbers validation = numbers(*held.validation_data(), 0);
    Numbers both = training;
    both.insert(both.end(), validation.begin(), validation.end());
    std::iota(all.begin(), all.end(), 0.0f);
    EXPECT_EQ(sorted(both), all);
    validated.insert(validated.end(), validation.begin(), validation.end());
  }
  EXPECT_EQ(sorted(validated), all);
  EXPECT_THAT(error_of([&] { job("folds = 3\nfold = 3\n"); }),
              HasSubstr("must be below data.folds, which is 3"));
  EXPECT_THAT(error_of([&] { job("folds = 1\n"); }), HasSubstr("at least 2"));
  EXPECT_THAT(error_of([&] { job("folds = 2\nvalidation_split = 0.5\n"); }),
              HasSubstr("a fold is the validation data"));
}

TEST_F(JobData, CachedDataAreTheSame) {
  Job plain = job("");
  for (const char* cache : {"memory", "kept.trec", "kept.trec"}) {
    Job cached = job("cache = \"" + std::string(cache) + "\"\n");
    EXPECT_EQ(numbers(cached.train_data(), 1), numbers(plain.train_data(), 1)) << cache;
  }
  EXPECT_TRUE(std::filesystem::exists(directory_.path() + "/kept.trec"));
}

TEST(JobMadeClicks, TrainWhatTakesManyColumns) {
  Job job = Job::parse(
      "[data]\ntrain = { synthetic_clicks = 200, ids = 50, seed = 2 }\n"
      "test = { synthetic_clicks = 60, first = 200, ids = 50, seed = 2 }\nbatch = 50\n"
      "[model]\nname = \"deepfm\"\nwidth = 2\nhidden = [4]\n"
      "[train]\nloss = \"binary_cross_entropy\"\nmetrics = [\"auc\"]\n",
      "clicks.toml");
  EXPECT_EQ(job.target_name(), "target");
  EXPECT_EQ(job.train_data().examples(), 200);
  job.trainer().fit(job.train_data(), {.epochs = 1, .progress = false});
  EXPECT_EQ(job.trainer().evaluate(*job.test_data()).examples(), 60);
}

}  // namespace
}  // namespace trireme
