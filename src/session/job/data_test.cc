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

TEST_F(JobData, FiltersApplyToAllDataSets) {
  Job some =
      job("test = \"count.csv\"\nshuffle = false\n"
          "filter = [{ column = \"target\", min = 3, max = 9 },\n"
          "  { column = \"target\", values = [4, 8], invert = true }]\n");
  const Numbers kept{3, 5, 6, 7, 9};
  EXPECT_EQ(numbers(some.train_data(), 0), kept);
  EXPECT_EQ(numbers(*some.test_data(), 0), kept);
  Job one = job("filter = { column = \"target\", min = 39 }\nlimit = 9\n");
  EXPECT_EQ(numbers(one.train_data(), 0), Numbers{39});
}

TEST_F(JobData, WrongFiltersAreErrorsWithTheirLine) {
  const auto error = [&](const std::string& filter) {
    return error_of(ErrorKind::data, [&] { job("filter = " + filter + "\n").train_data(); });
  };
  EXPECT_THAT(error("{ column = \"targe\", min = 1 }"),
              AllOf(HasSubstr("job.toml:4: data.filter"), HasSubstr("\"target\"")));
  EXPECT_THAT(error("{ column = \"target\" }"), HasSubstr("needs min, max, values or words"));
  EXPECT_THAT(error("{ column = \"target\", min = 1, max_length = 2 }"), HasSubstr("needs min"));
  EXPECT_THAT(error("{ column = \"target\", max_length = 2 }"), HasSubstr("has no sequences"));
  EXPECT_THAT(error("[{ column = \"target\", min = 90 }]"), HasSubstr("keeps none of 40"));
  EXPECT_THAT(error("{ column = \"target\", words = [\"a\"] }"), HasSubstr("has no word \"a\""));
  EXPECT_THAT(error("{ column = \"target\", least = 1 }"), HasSubstr("least"));
}

TEST_F(JobData, AFilterNeedsOneNumberForEachExample) {
  directory_.write("wide.csv", "x,y,target\n1,2,3\n");
  Job wide = Job::parse(
      "[data]\ntrain = \"wide.csv\"\nfilter = { column = \"features\", min = 1 }\n"
      "[model]\nlayers = [{ linear = { units = 1 } }]\n[train]\nloss = \"mse\"\n",
      directory_.path() + "/job.toml");
  EXPECT_THAT(error_of(ErrorKind::data, [&] { wide.train_data(); }),
              HasSubstr("\"features\" has no single number"));
}

TEST_F(JobData, ClassesAreFilteredByTheirWordsAndBalanced) {
  std::string rows = "x,kind\n";
  for (int i = 0; i < 40; ++i) rows += std::to_string(i) + (i % 10 == 0 ? ",rare\n" : ",usual\n");
  directory_.write("kinds.csv", rows);
  const auto labels = [&](const std::string& data) {
    Job made = Job::parse("[data]\ntrain = { csv = \"kinds.csv\", classes = true }\n" + data +
                              "[model]\nlayers = [{ linear = { units = 2 } }]\n"
                              "[train]\nloss = \"cross_entropy\"\n",
                          directory_.path() + "/job.toml");
    std::vector<std::int64_t> all;
    for (const data::Batch& batch : made.train_data().epoch(0)) {
      const std::vector<std::int64_t> part = batch.at("label").to_vector<std::int64_t>();
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
  EXPECT_EQ(labels("filter = { column = \"label\", words = [\"rare\"] }\n"),
            std::vector<std::int64_t>(4, 0));
  const auto drawn = labels("sample = { balance = true, count = 1000 }\n");
  EXPECT_EQ(drawn.size(), 1000u);
  EXPECT_NEAR(static_cast<double>(std::count(drawn.begin(), drawn.end(), 0)), 500, 80);
}

TEST_F(JobData, SamplesFollowTheColumnOfWeights) {
  directory_.write("weighted.csv", "x,w,target\n1,0,1\n2,1,2\n3,3,3\n");
  const std::string train =
      "train = { csv = \"weighted.csv\", target = \"target\", named = true, "
      "standardize = false }\n";
  const auto made = [&](const std::string& sample) {
    return Job::parse("[data]\n" + train + sample +
                          "[model]\nlayers = [{ linear = { units = 1 } }]\n"
                          "[train]\nloss = \"mse\"\n",
                      directory_.path() + "/job.toml");
  };
  Job weighted = made("sample = { weights = \"w\", count = 400 }\n");
  const Numbers drawn = numbers(weighted.train_data(), 0);
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), 1), 0);
  EXPECT_NEAR(static_cast<double>(std::count(drawn.begin(), drawn.end(), 3)), 300, 50);
  EXPECT_NE(drawn, numbers(weighted.train_data(), 1));
  EXPECT_THAT(error_of([&] { made("sample = {}\n"); }), HasSubstr("needs either weights"));
  EXPECT_THAT(error_of([&] { made("sample = { weights = \"w\", balance = true }\n"); }),
              HasSubstr("needs either weights"));
  EXPECT_THAT(error_of([&] { made("bucket = true\nsample = { weights = \"w\" }\n"); }),
              HasSubstr("cannot be cut by length"));
  EXPECT_THAT(error_of([&] { made("sample = { weights = \"v\" }\n").train_data(); }),
              HasSubstr("data.sample"));
}

TEST_F(JobData, AListOfDataSetsIsJoined) {
  directory_.write("more.csv", "x,target\n40,40\n41,41\n");
  const auto made = [&](const std::string& train) {
    return Job::parse("[data]\nshuffle = false\ntrain = " + train +
                          "\n[model]\nlayers = [{ linear = { units = 1 } }]\n"
                          "[train]\nloss = \"mse\"\n",
                      directory_.path() + "/job.toml");
  };
  Job joined = made(
      "[{ csv = \"count.csv\", standardize = true }, { csv = \"more.csv\", standardize = true }]");
  const Numbers all = numbers(joined.train_data(), 0);
  EXPECT_EQ(all.size(), 42u);
  EXPECT_EQ(all, sorted(all));
  EXPECT_EQ(all.back(), 41);
  const data::Batches batches = joined.train_data();
  const data::Batch rows = batches.dataset().rows(39, 42);
  const Numbers x = rows.at("features").to_vector<float>();
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 1e-5) << "the scale of the first file";
  EXPECT_LT(x[2], 2) << "standardized";
  EXPECT_THAT(error_of(ErrorKind::data, [&] { made("[]").train_data(); }), HasSubstr("empty list"));
  directory_.write("other.csv", "x,y,target\n1,2,3\n");
  EXPECT_THAT(
      error_of(ErrorKind::data, [&] { made("[\"count.csv\", \"other.csv\"]").train_data(); }),
      HasSubstr("other.csv"));
}

TEST_F(JobData, ListsOfTextsShareOneVocabulary) {
  directory_.write("a.tsv", "a good film\tpos\n");
  directory_.write("b.tsv", "a long evening\tneg\nbad\tneg\n");
  const auto made = [&](const std::string& data) {
    return Job::parse(
        "[data]\nshuffle = false\ntrain = [\"a.tsv\", \"b.tsv\"]\n"
        "text = { tokens = \"words\" }\n" +
            data +
            "[model]\nlayers = [{ embedding = { dim = 4 } }, "
            "\"sequence_mean\", { linear = {} }]\n"
            "[train]\nloss = \"cross_entropy\"\n",
        directory_.path() + "/job.toml");
  };
  Job both = made("");
  const data::Batch batch = both.train_data().dataset().all();
  EXPECT_EQ(batch.at("label").to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0, 0}));
  EXPECT_EQ(batch.at("text").dim(0), 7);
  const std::vector<std::int64_t> ids = batch.at("text").to_vector<std::int64_t>();
  EXPECT_EQ(ids[0], ids[3]) << "the word a";
  Job longer = made("filter = { column = \"text\", min_length = 2 }\n");
  EXPECT_EQ(longer.train_data().dataset().size(), 2);
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
