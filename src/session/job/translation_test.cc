// Jobs that learn to write texts, and what their models write.

#include <gmock/gmock.h>

#include "base/testing/error.h"
#include "data/testing/files.h"
#include "trireme/trireme.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

const char* const kPairs =
    "one two\tun deux\ntwo one\tdeux un\none\tun\ntwo\tdeux\none one\tun un\ntwo two\tdeux deux\n";

std::string job_of(const std::string& text, const std::string& model,
                   const std::string& rate = "0.03") {
  return "[data]\ntrain = { texts = \"pairs.tsv\", fields = [\"source\", \"target\"] }\n"
         "text = { " +
         text + " }\nbatch = 3\n[model]\nname = \"translator\"\n" + model +
         "\n[train]\nloss = \"cross_entropy\"\nmetrics = [\"perplexity\"]\n"
         "optimizer = { adam = { learning_rate = " +
         rate + " } }\n";
}

const char* const kSmall = "width = 16\ndropout = 0\nlimit = 8\nsearch = { beam = 2 }\n";

struct Kind {
  const char *text, *model, *rate;
};
class Translating : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, Translating,
                         testing::Values(Kind{"tokens = \"words\"", "units = 8", "0.03"},
                                         Kind{"tokens = \"subwords\", size = 30, fewer = true",
                                              "cell = \"transformer\"\nheads = 4\nlayers = 2",
                                              "0.004"}));

TEST_P(Translating, LearnsAndWritesWhatItRead) {
  const data::TestDirectory folder;
  folder.write("pairs.tsv", kPairs);
  const auto& [text, model_keys, rate] = GetParam();
  Job job =
      Job::parse(job_of(text, std::string(kSmall) + model_keys, rate), folder.path() + "/job.toml");
  EXPECT_EQ(job.target_name(), "next");
  job.trainer().fit(job.train_data(), {.epochs = 150, .progress = false});
  EXPECT_LT(job.trainer().evaluate(job.train_data())["perplexity"], 1.4);
  const std::string path = folder.path() + "/model";
  job.trainer().save(path, job.save_options());

  Model model = load_model(path);
  ASSERT_TRUE(writes_texts(model));
  EXPECT_EQ(model.inputs().size(), 2u) << "the source and its splits";
  const std::vector<WrittenText> written = write_texts(model, {"two one", "", "one one", "two"}, 3);
  ASSERT_EQ(written.size(), 4u);
  EXPECT_EQ(written[0].text, "deux un");
  EXPECT_EQ(written[2].text, "un un");
  EXPECT_EQ(written[3].text, "deux");
  EXPECT_LT(written[0].score, 0);
  EXPECT_GT(written[0].score, -1);
  EXPECT_TRUE(write_texts(model, {}).empty());
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { write_texts(model, {"one"}, 0); }),
              HasSubstr("batch must be at least 1"));
  EXPECT_THAT(error_of(ErrorKind::data, [&] { write_texts(model, {"\xff"}); }), HasSubstr("UTF-8"));
}

TEST(JobTranslation, OtherModelsWriteNothing) {
  Program program("line");
  const Value x = program.input("x", f32, {batch, 2});
  Session session(program);
  const data::TestDirectory folder;
  save_model(program, session, folder.path() + "/model", {.outputs = {x + 1.0}});
  Model model = load_model(folder.path() + "/model");
  EXPECT_FALSE(writes_texts(model));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { write_texts(model, {"one"}); }),
              HasSubstr("line writes no texts"));
}

TEST(JobTranslation, MistakesNameTheLine) {
  const data::TestDirectory folder;
  const auto refusal = [&](const std::string& pairs, const std::string& text,
                           const std::string& model) {
    folder.write("pairs.tsv", pairs);
    return error_of(ErrorKind::data, [&] {
      Job::parse(job_of(text, model), folder.path() + "/job.toml").program();
    });
  };
  EXPECT_THAT(refusal("one\tun\ntwo\n", "tokens = \"words\"", kSmall),
              testing::AllOf(HasSubstr("job.toml:2: data.train"), HasSubstr("pairs.tsv:2: ")));
  EXPECT_THAT(refusal(kPairs, "tokens = \"subword\"", kSmall),
              HasSubstr("did you mean \"subwords\"?"));
  EXPECT_THAT(refusal(kPairs, "tokens = \"subwords\", min_count = 2", kSmall),
              HasSubstr("min_count"));
  EXPECT_THAT(refusal(kPairs, "tokens = \"words\"", "cell = \"lstm\""), HasSubstr("cell"));
  EXPECT_THAT(refusal(kPairs, "tokens = \"words\"", "search = { beams = 2 }"),
              HasSubstr("did you mean \"beam\"?"));
  EXPECT_THAT(
      error_of(
          ErrorKind::usage,
          [&] {
            folder.write("pairs.tsv", kPairs);
            Job::parse(job_of("tokens = \"bytes\"", kSmall), folder.path() + "/job.toml").program();
          }),
      HasSubstr("the target has no tokens that begin and end a text"));
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         folder.write("pairs.tsv", kPairs);
                         Job::parse(job_of("tokens = \"words\"", "search = { beam = 20000 }"),
                                    folder.path() + "/job.toml")
                             .program();
                       }),
              HasSubstr("job.toml"));
}

}  // namespace
}  // namespace trireme
