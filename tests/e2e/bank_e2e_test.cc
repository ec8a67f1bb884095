// Models of the bank, trained by jobs to the accuracy that they should have.

#include "end_to_end.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(EndToEnd, ManyColumnsOfIdsAndNumbers) {
  NEEDS_DATA("adult/train");
  const std::string output = train("../adult_wide_and_deep", "--set train.epochs=3");
  EXPECT_GT(number_behind(output, "test accuracy: "), 0.85);
  // The metrics that the job names, of the logits behind the model's probabilities.
  const std::string eval = succeeds(kTrireme + " eval model --data adult/test");
  for (const std::string metric : {"accuracy: ", "auc: "}) {
    EXPECT_NEAR(number_behind(eval, metric), number_behind(output, "test " + metric), 1e-6);
  }
  EXPECT_THAT(succeeds(kTrireme + " predict model --data adult/test --rows 0:2"),
              HasSubstr("prediction"));
}

TEST_F(EndToEnd, ManyIdsOfOneTable) {
  NEEDS_DATA("frappe/train");
  write(path("apps.toml"),
        "[data]\ntrain = \"frappe/train\"\ntest = \"frappe/test\"\ninput = \"ids\"\n"
        "limit = 20000\n[model]\nname = \"deepfm\"\n"
        "[train]\nloss = \"binary_cross_entropy\"\nepochs = 2\n");
  const std::string output = succeeds(kTrireme + " train apps.toml");
  EXPECT_GT(number_behind(output, "test accuracy: "), 0.8);  // a third are positive
}

TEST_F(EndToEnd, ATransformerOfWords) {
  NEEDS_DATA("sentence_polarity/train");
  const std::string zip =
      data::find_part(data::known_place("sentence_polarity"), "train", "").at(0);
  succeeds("python3 " + kJobs + "/../sentences.py words '" + zip + "'");
  const std::string output = succeeds(kTrireme + " train words/sentences.toml -o model");
  EXPECT_GT(number_behind(output, "test accuracy: "), 0.74);
  EXPECT_GT(number_behind(output, "test auc: "), 0.82);
}

TEST_F(EndToEnd, ARecommender) {
  NEEDS_DATA("movielens/train");
  const std::string output = train("../movielens_two_tower", "");
  EXPECT_LT(number_behind(output, "test mse: "), 0.9 * 0.9);
  const std::string eval = succeeds(kTrireme + " eval model --data movielens/test");
  EXPECT_NEAR(number_behind(eval, "\nrmse: "), number_behind(output, "test rmse: "), 1e-5);
}

TEST_F(EndToEnd, ModelsOfTheBankNormaliseTheirPictures) {
  NEEDS_DATA("cifar10/train");
  const std::string output = train("../cifar10_resnet20",
                                   "--set data.limit=256 --set data.test_limit=100 "
                                   "--set train.epochs=1 --set model.width=0.25");
  const std::string eval = succeeds(kTrireme + " eval model --data cifar10/test --limit 100");
  EXPECT_NEAR(number_behind(eval, "accuracy: "), number_behind(output, "test accuracy: "), 1e-9);
  EXPECT_THAT(read(path("model/program.txt")), HasSubstr("normalize_0"));
}

}  // namespace
}  // namespace trireme::testing
