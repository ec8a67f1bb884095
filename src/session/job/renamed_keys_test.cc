#include "session/job/renamed_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/error.h"

namespace trireme::job {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Node renamed(const std::string& text, std::vector<std::string>& warnings) {
  Node root = parse_toml(text, "job.toml");
  warnings = use_new_keys(root);
  return root;
}

// Every old key and word, each with the text of the same job under the new name.
const std::vector<std::pair<std::string, std::string>> kTexts = {
    {"data.train.made_clicks = 5", "data.train.synthetic_clicks = 5"},
    {"data.test.made_clicks = 5", "data.test.synthetic_clicks = 5"},
    {"data.validation.made_clicks = 5", "data.validation.synthetic_clicks = 5"},
    {"data.train.standardise = true", "data.train.standardize = true"},
    {"data.test.standardise = true", "data.test.standardize = true"},
    {"data.validation.standardise = true", "data.validation.standardize = true"},
    {"data.text.most = 5", "data.text.max_tokens = 5"},
    {"data.augment = [\"flip\", \"colour_jitter\"]", "data.augment = [\"flip\", \"color_jitter\"]"},
    {"data.augment = [{ colour_jitter = { contrast = 1 } }]",
     "data.augment = [{ color_jitter = { contrast = 1 } }]"},
    {"model.normalise = { mean = 1 }", "model.normalize = { mean = 1 }"},
    {"model.normalize = { deviation = 2 }", "model.normalize = { stddev = 2 }"},
    {"model.most_steps = 4", "model.max_steps = 4"},
    {"model.most_distance = 4", "model.max_distance = 4"},
    {"model.layers = [\"flatten\", { embedding = { rows = 5 } }]",
     "model.layers = [\"flatten\", { embedding = { num_embeddings = 5 } }]"},
    {"model.layers = [{ embedding = { width = 5 } }]",
     "model.layers = [{ embedding = { dim = 5 } }]"},
    {"model.layers = [{ embedding = { deviation = 5 } }]",
     "model.layers = [{ embedding = { stddev = 5 } }]"},
    {"model.layers = [{ avg_pool = { count_padding = true } }]",
     "model.layers = [{ avg_pool = { count_include_pad = true } }]"},
    {"model.layers = [{ learned_positions = { most_steps = 5 } }]",
     "model.layers = [{ learned_positions = { max_steps = 5 } }]"},
    {"train.optimizer.rmsprop.centred = true", "train.optimizer.rmsprop.centered = true"},
    {"train.schedule.plateau.least = 0.5", "train.schedule.plateau.min_factor = 0.5"},
    {"train.metrics = [\"top_k\"]", "train.metrics = [\"top_k_accuracy\"]"},
    {"train.metrics = [{ top_k = { k = 2 } }]", "train.metrics = [{ top_k_accuracy = { k = 2 } }]"},
};

TEST(RenamedKeys, EveryOldNameGivesTheNewJobAndOneWarning) {
  for (const auto& [before, after] : kTexts) {
    std::vector<std::string> warnings;
    const std::string expected = json_text(renamed(after, warnings));
    EXPECT_THAT(warnings, IsEmpty()) << after;
    EXPECT_EQ(json_text(renamed(before, warnings)), expected) << before;
    EXPECT_EQ(warnings.size(), 1u) << before;
  }
}

TEST(RenamedKeys, AWarningHasThePlaceAndTheNewName) {
  std::vector<std::string> warnings;
  renamed("[model]\nlayers = [\n  { embedding = { width = 3, rows = 9 } },\n]\n", warnings);
  EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("job.toml:3"),
                                          HasSubstr("model.layers[0].embedding.rows"),
                                          HasSubstr("use \"num_embeddings\"")),
                                    HasSubstr("use \"dim\"")));
}

TEST(RenamedKeys, ANameWarnsOnce) {
  std::vector<std::string> warnings;
  const Node root = renamed(
      "model.layers = [{ embedding = { width = 3 } }, { embedding = { width = 4 } }]", warnings);
  EXPECT_EQ(warnings.size(), 1u);
  EXPECT_THAT(json_text(root), ::testing::Not(HasSubstr("width")));
}

TEST(RenamedKeys, BothNamesAreAnErrorThatNamesBoth) {
  Node root = parse_toml("[model]\nnormalise = { mean = 1 }\nnormalize = { mean = 2 }\n", "a.toml");
  EXPECT_THAT(error_of(ErrorKind::data, [&] { use_new_keys(root); }),
              AllOf(HasSubstr("model.normalise"), HasSubstr("model.normalize"),
                    HasSubstr("a.toml:2"), HasSubstr("a.toml:3")));
}

TEST(RenamedKeys, OtherPlacesKeepTheirNames) {
  std::vector<std::string> warnings;
  renamed("[model]\nname = \"deepfm\"\nwidth = 4\nrows = 3\n[data.train]\nleast = 1\n", warnings);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(RenamedKeys, ATableOfASavedModel) {
  Node measured = parse_json(R"({"loss": "mse", "metrics": ["top_k"]})", "model.json");
  EXPECT_EQ(use_new_keys(measured, "train").size(), 1u);
  EXPECT_THAT(json_text(measured), HasSubstr("top_k_accuracy"));
}

}  // namespace
}  // namespace trireme::job
