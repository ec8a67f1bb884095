#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/testing/error.h"
#include "trireme/job.h"
#include "trireme/saved_model.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class FineTune : public ::testing::Test {
 protected:
  FineTune() {
    folder_ = fs::temp_directory_path() / ("fine_tune_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write("two.csv", "a,b,kind\n1,2,x\n2,1,y\n3,4,x\n4,3,y\n");
    write("three.csv", "a,b,kind\n1,2,x\n2,1,y\n3,4,z\n4,3,y\n");
    Job job = parse("two", 2, "");
    job.trainer().fit(job.train_data(), {.progress = false});
    job.trainer().save((folder_ / "base").string(), job.save_options());
    base_ = job.trainer().session().parameter("linear_0.weight");
  }
  ~FineTune() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  Job parse(const std::string& data, int units, const std::string& model,
            const std::string& train = "") {
    return Job::parse("[data]\ntrain = { csv = \"" + data +
                          ".csv\", classes = true }\nbatch = 2\n[model]\n" + model +
                          "layers = [ { linear = { units = 5, activation = \"relu\" } }, "
                          "{ linear = { units = " +
                          std::to_string(units) +
                          " } } ]\n[train]\nloss = \"cross_entropy\"\noptimizer = { sgd = { "
                          "learning_rate = 0.5 } }\n" +
                          train,
                      (folder_ / "job.toml").string());
  }
  std::string refusal(int units, const std::string& model) {
    return error_of(ErrorKind::data, [&] { parse("two", units, model).trainer(); });
  }

  fs::path folder_;
  Tensor base_;
};

TEST_F(FineTune, StartsFromASavedModel) {
  Job job = parse("two", 2, "from = \"base\"\n");
  EXPECT_TRUE(equal(job.trainer().session().parameter("linear_0.weight"), base_));
}

TEST_F(FineTune, TrainsAFreshHeadOnFrozenLayers) {
  Job job = parse("three", 3, "from = \"base\"\nfresh = [\"linear_1.*\"]\n",
                  "parameters = [{ match = \"linear_0.*\", frozen = true }]\n");
  Session& session = job.trainer().session();
  const Tensor head = session.parameter("linear_1.weight").clone();
  EXPECT_EQ(head.shape(), (std::vector<std::int64_t>{5, 3}));
  job.trainer().fit(job.train_data(), {.epochs = 3, .progress = false});
  EXPECT_TRUE(equal(session.parameter("linear_0.weight"), base_));
  EXPECT_FALSE(equal(session.parameter("linear_1.weight"), head));
}

TEST_F(FineTune, NamesWhatDoesNotFit) {
  EXPECT_THAT(
      refusal(3, "from = \"base\"\n"),
      AllOf(HasSubstr("job.toml:5: model.from"), HasSubstr("\"linear_1.weight\" is f32[5, 2]"),
            HasSubstr("but f32[5, 3] in this job"), HasSubstr("model.fresh")));
  EXPECT_THAT(refusal(2, "from = \"base\"\nfresh = [\"linear_7.*\"]\n"),
              HasSubstr("no parameter matches \"linear_7.*\""));
  EXPECT_THAT(refusal(2, "from = \"base\"\nfresh = [\"*\"]\n"),
              HasSubstr("every parameter is fresh"));
  EXPECT_THAT(refusal(2, "fresh = [\"*\"]\n"), HasSubstr("only with model.from"));
  EXPECT_THAT(refusal(2, "from = 3\n"), HasSubstr("must be the folder of a saved model"));
  EXPECT_THAT(refusal(2, "from = \"base\"\nfresh = \"linear_1.*\"\n"),
              HasSubstr("must be a list of patterns"));
  EXPECT_THAT(
      error_of(ErrorKind::not_found, [&] { parse("two", 2, "from = \"none\"\n").trainer(); }),
      HasSubstr("job.toml:5: model.from"));
}

TEST_F(FineTune, KeepsTheVocabularyOfTexts) {
  write("old.tsv", "a good film\tgood\na bad film\tbad\n");
  write("new.tsv", "so so film\tmixed\na fine film\tgood\nbad bad\tbad\n");
  const auto texts = [&](const std::string& data, const std::string& model, int units) {
    return Job::parse("[data]\ntrain = \"" + data + "\"\nbatch = 2\n[model]\n" + model +
                          "layers = [ { embedding = { dim = 3 } }, \"sequence_mean\", "
                          "{ linear = { units = " +
                          std::to_string(units) + " } } ]\n[train]\nloss = \"cross_entropy\"\n",
                      (folder_ / "job.toml").string());
  };
  Job old = texts("old.tsv", "", 2);
  old.trainer().save((folder_ / "texts").string(), old.save_options());
  Job job = texts("new.tsv", "from = \"texts\"\nfresh = [\"linear_0.*\"]\n", 3);
  EXPECT_TRUE(equal(job.trainer().session().parameter("embedding_0.weight"),
                    old.trainer().session().parameter("embedding_0.weight")));
  EXPECT_EQ(job.save_options().text.at("text").vocabulary.str(),
            old.save_options().text.at("text").vocabulary.str());
  EXPECT_EQ(job.save_options().labels, (std::vector<std::string>{"bad", "good", "mixed"}));
}

}  // namespace
}  // namespace trireme
