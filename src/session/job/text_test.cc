// Jobs over texts: what becomes of them, and what a saved model makes of texts.

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/testing/error.h"
#include "data/testing/files.h"
#include "data/testing/needs_data.h"
#include "trireme/trireme.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

std::string text_of(const std::string& data, const std::string& layers,
                    const std::string& loss = "cross_entropy") {
  return "[data]\ntrain = \"sentence_polarity/train\"\nlimit = 64\n" + data +
         "[model]\nlayers = [" + layers + "]\n[train]\nloss = \"" + loss + "\"\n";
}

const char* const kLayers =
    "{ embedding = { dim = 4 } }, { sequence_conv = { units = 3 } }, \"sequence_max\", "
    "{ linear = { units = 2 } }";

std::string refusal(const std::string& text, ErrorKind kind = ErrorKind::data) {
  return error_of(kind, [&] { Job::parse(text, "job.toml").program(); });
}

TEST(JobText, BecomesIdsAndClasses) {
  NEEDS_DATA("sentence_polarity/train");
  Job job = Job::parse(
      text_of("text = { lower_case = true, min_count = 3, max_size = 500, max_tokens = 20 }\n"
              "bucket = true\n",
              kLayers),
      "job.toml");
  const data::Dataset& dataset = job.train_data().dataset();
  EXPECT_EQ(dataset.column("text").ids, 500);
  EXPECT_EQ(dataset.column("text").levels, 1);
  EXPECT_EQ(dataset.class_names(), (std::vector<std::string>{"neg", "pos"}));
  for (const std::int64_t length : RaggedTensor::from_feeds(dataset.all(), "text").lengths()) {
    EXPECT_LE(length, 20);
  }
  EXPECT_THAT(job.program().str(), HasSubstr("%text : i64[text], %text.splits"));
  EXPECT_THAT(job.summary(), HasSubstr("4 layers"));
  job.trainer().fit(job.train_data(), {.epochs = 1, .progress = false});
}

TEST(JobText, ASavedModelTakesTexts) {
  NEEDS_DATA("sentence_polarity/train");
  const data::TestDirectory folder;
  Job job = Job::parse(text_of("text = { grams = 2 }\nbatch_tokens = 400\n", kLayers), "job.toml");
  job.trainer().fit(job.train_data(), {.epochs = 1, .progress = false});
  const std::string path = folder.path() + "/model";
  job.trainer().save(path, job.save_options());
  Model model = load_model(path);
  ASSERT_EQ(model.text().size(), 1u);
  const text::Encoder& encoder = model.text().at("text");
  EXPECT_EQ(encoder.tokens.grams, 2);
  EXPECT_EQ(encoder.encode("a fine film .").size(), 7u);
  Feeds feeds;
  RaggedTensor::from(std::vector<std::vector<std::int64_t>>{encoder.encode("a fine film ."), {}})
      .add_to(feeds, "text");
  EXPECT_EQ(model.predict(feeds)[0].shape(), (std::vector<std::int64_t>{2, 2}));
  const data::Dataset test = open_data("sentence_polarity/test", model);
  const data::Batches some = test.shuffle(1).take(100).batch(50);
  EXPECT_EQ(evaluate(model, some)["accuracy"], job.trainer().evaluate(some)["accuracy"]);

  // Options of the text that are not there have their defaults.
  std::filesystem::remove(path + "/checksums.txt");
  nlohmann::json json = nlohmann::json::parse(read_file(path + "/model.json"));
  for (auto& input : json["inputs"]) {
    if (!input.contains("text")) continue;
    input["text"].erase("most");
    input["text"].erase("grams");
  }
  folder.write("model/model.json", json.dump());
  const text::TokenOptions defaults = load_model(path).text().at("text").tokens;
  EXPECT_EQ(defaults.grams, 1);
  EXPECT_EQ(defaults.max_tokens, text::TokenOptions().max_tokens);

  folder.write("model/text.vocabulary.txt", "damaged");
  EXPECT_THAT(error_of(ErrorKind::data, [&] { load_model(path); }), HasSubstr("vocabulary"));
}

TEST(JobText, MistakesNameTheLine) {
  NEEDS_DATA("sentence_polarity/train");
  EXPECT_THAT(refusal(text_of("text = { tokens = \"word\" }\n", kLayers)),
              HasSubstr("did you mean \"words\""));
  EXPECT_THAT(refusal(text_of("text = { min_cuont = 2 }\n", kLayers)), HasSubstr("min_count"));
  EXPECT_THAT(refusal(text_of("text = { min_count = 1000000 }\n", kLayers)),
              HasSubstr("job.toml:4: data.text"));
  EXPECT_THAT(refusal(text_of("batch = 3\nbatch_tokens = 100\n", kLayers)),
              HasSubstr("leave data.batch and data.bucket out"));
  EXPECT_THAT(refusal(text_of("", "{ embedding = { dim = 4 } }, { linear = { units = 2 } }"),
                      ErrorKind::usage),
              HasSubstr("cross_entropy"));
  EXPECT_THAT(refusal("[data]\ntrain = \"sentence_polarity/train\"\n[model]\nname = \"mlp\"\n"
                      "[train]\nloss = \"cross_entropy\"\n"),
              HasSubstr("sequences of different lengths, which this model does not take"));
  EXPECT_THAT(
      refusal("[data]\ntrain = \"wikitext2/test\"\n[model]\nlayers = [\"flatten\"]\n"
              "[train]\nloss = \"mse\"\n"),
      testing::AllOf(
          testing::StartsWith("job.toml:2: data.train: "),
          HasSubstr("is one running text; to make examples of it, set one of next = true")));
  EXPECT_THAT(refusal("[data]\ntrain = \"none.csv\"\ntext = {}\n[model]\nlayers = [\"flatten\"]\n"
                      "[train]\nloss = \"mse\"\n"),
              HasSubstr("job.toml:3: data.text: data.train are no texts"));
}

}  // namespace
}  // namespace trireme
