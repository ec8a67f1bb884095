// Jobs over corpora of running text and of sentences with roles, with corpora made here.

#include <gmock/gmock.h>

#include "base/testing/error.h"
#include "data/testing/files.h"
#include "ir/program.h"
#include "session/job/model.h"
#include "session/job/text.h"
#include "trireme/inspect.h"
#include "trireme/trireme.h"

namespace trireme::job {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What becomes of a job, with this corpus as its training data.
struct Trained {
  Trained(const data::Corpus& corpus, const std::string& text, const std::string& model,
          const std::string& train)
      : root(parse_toml("[data]\ntrain = \"tiny_shakespeare/train\"\ntext = { " + text +
                            " }\n[model]\n" + model + "\n[train]\n" + train + "\n",
                        "job.toml")),
        settings(read_settings(root)),
        reader(settings.data.text, settings.seed),
        dataset(reader.read(corpus)),
        columns(choose_columns(dataset, settings.data, takes_many(settings), *settings.data.train)),
        network(build_network(program, settings, columns, "")) {}

  Metrics fit(int epochs, double rate = 0.1) {
    trainer.emplace(program, TrainerOptions{.loss = network.loss,
                                            .optimizer = Adam{.learning_rate = rate},
                                            .metrics = network.metrics});
    for (const auto& [name, value] : network.constants) {
      trainer->session().set_parameter(name, value);
    }
    trainer->fit(dataset.shuffle(1).batch(8), {.epochs = epochs, .progress = false});
    return trainer->evaluate(dataset.batch(64));
  }

  Node root;
  Settings settings;
  TextReader reader;
  data::Dataset dataset;
  Columns columns;
  Program program{"job"};
  Network network;
  std::optional<Trainer> trainer;
};

data::Corpus running(int repeats) {
  std::string text;
  for (int i = 0; i < repeats; ++i) text += "one two three . ";
  return {"prose", {"text"}, {{text}}};
}

const char* const kCrossEntropy = "loss = \"cross_entropy\"\nmetrics = [\"perplexity\"]";

TEST(JobWords, TheNextCharacter) {
  Trained job(running(20), "tokens = \"bytes\", next = true, length = 40, test_length = 100",
              "layers = [{ embedding = { dim = 8 } }, { lstm = { units = 12 } }, \"linear\"]",
              kCrossEntropy);
  EXPECT_EQ(job.dataset.size(), 8);
  EXPECT_EQ(job.network.logits.shape(), (Shape{Dim("text"), 256}));
  EXPECT_TRUE(std::none_of(job.network.metrics.begin(), job.network.metrics.end(),
                           [](const Metric& metric) { return metric.name == "confusion"; }));
  EXPECT_LT(job.fit(60, 0.1)["perplexity"], 4) << "7.6 by their frequencies alone";
  // Other texts come in other pieces, with the same ids.
  const data::Dataset test = job.reader.read(running(10));
  EXPECT_EQ(test.size(), 2);
  EXPECT_THAT(job.reader.encoders().at("text").encode("\n!"), ElementsAre(10, '!'));
}

TEST(JobWords, TheNextWordOfTwo) {
  Trained job(running(20), "tokens = \"split\", ngrams = 3",
              "layers = [{ embedding = { dim = 4 } }, \"flatten\", \"linear\"]", kCrossEntropy);
  EXPECT_EQ(job.network.logits.shape(), (Shape{batch, 5}));  // <unk> too
  EXPECT_EQ(job.columns.target.words.size(), 5u);
  EXPECT_LT(job.fit(10)["perplexity"], 1.2);
}

TEST(JobWords, PairsWithNoiseAndInATree) {
  const std::string text = "tokens = \"split\", skip_grams = { window = 1, subsample = 0, ";
  Trained noisy(running(20), text + "noise = 2 }", "name = \"skip_gram\"\nwidth = 4",
                "loss = \"binary_cross_entropy\"\nmetrics = [\"auc\"]");
  EXPECT_EQ(noisy.network.logits.shape(), (Shape{batch, 3}));
  EXPECT_EQ(trainable_elements(noisy.program), 2 * 5 * 4);
  EXPECT_GT(noisy.fit(10)["auc"], 0.7);
  Trained tree(running(20), text + "tree = true }", "name = \"skip_gram\"\nwidth = 4\nbias = true",
               "loss = \"binary_cross_entropy\"");
  EXPECT_EQ(tree.network.logits.shape(), (Shape{Dim("candidates")}));
  EXPECT_EQ(trainable_elements(tree.program), 5 * 4 + 4 * 4 + 4);  // one node less than words
  // Each word has two neighbors of equal frequency: the logarithm of 2 over a path of 2 or 3
  // nodes.
  EXPECT_LT(tree.fit(10)["loss"], 0.45);
}

data::Corpus sentences() {
  data::Corpus corpus{"roles", {"words", "tags", "position", "roles"}, {{}, {}, {}, {}}};
  for (int i = 0; i < 24; ++i) {
    const bool passive = i % 2 == 0;
    corpus.values[0].push_back(passive ? "it was seen" : "The cat saw it");
    corpus.values[1].push_back(passive ? "P X V" : "D N V P");
    corpus.values[2].push_back("2");
    corpus.values[3].push_back(passive ? "B-ARG1 O B-V" : "B-ARG0 I-ARG0 B-V B-ARG1");
  }
  corpus.values[3][0] = "B-ARGM-TMP O B-V";  // too rare to be learned
  return corpus;
}

const char* const kTagger =
    "name = \"tagger\"\nwidth = 6\nother_width = 3\nunits = 5\nlayers = 1\ncontext = 4\n"
    "mark_width = 2\ndropout = 0";
const char* const kField = "loss = \"crf\"\nmetrics = [\"chunk_f1\", \"chunk_recall\"]";

TEST(JobWords, RolesBelowARandomField) {
  Trained job(sentences(), "lower_case = true, min_label_count = 2", kTagger, kField);
  EXPECT_EQ(job.columns.classes, 5) << "O, ARG1 and ARG0; not V, and not what is rare";
  EXPECT_EQ(job.columns.rows_of.size(), 2u) << "tags and roles are those of words";
  EXPECT_EQ(job.network.output.dtype(), i64);
  const Metrics measured = job.fit(15, 0.05);
  EXPECT_FLOAT_EQ(measured["chunk_recall"], 35.0 / 36) << "all but the rare one";
  EXPECT_GT(measured["chunk_f1"], 0.9);
  EXPECT_GT(measured["accuracy"], 0.9);

  const data::TestDirectory folder;
  const std::string path = folder.path() + "/model";
  job.trainer->save(path, {.outputs = {job.network.output},
                           .labels = job.dataset.class_names(),
                           .target = "roles",
                           .measured = measured_text(job.settings)});
  Model model = load_model(path);
  const Metrics again = evaluate(model, job.dataset.batch(5));
  EXPECT_EQ(again["chunk_f1"], measured["chunk_f1"]);
  EXPECT_EQ(again["accuracy"], measured["accuracy"]);
  EXPECT_FALSE(again.has("loss"));
}

// Neighbours at the end of a sentence are not those of the next one.
TEST(JobWords, ATaggerSeesItsOwnSentence) {
  using Ids = std::vector<std::vector<std::int64_t>>;
  Program program("tagger");
  const Value words = program.input("words", i64, ragged());
  const Value position = program.input("position", i64, {batch});
  models::TaggerOptions options{.classes = 3, .width = 4, .units = 3, .layers = 1};
  options.context = 5, options.mark_width = 2, options.max_distance = 2;
  const Value scores = models::tagger({{words, 9}}, position, options);
  Session session(program);
  const auto run = [&](const Ids& sentences, std::vector<std::int64_t> positions) {
    const auto count = static_cast<std::int64_t>(positions.size());
    Feeds feeds{{"position", Tensor::from<std::int64_t>({count}, positions)}};
    RaggedTensor::from(sentences).add_to(feeds, "words");
    return session.run(feeds, {scores})[0].to_vector<float>();
  };
  const Ids sentences{{7}, {1, 2, 3, 4}, {5, 6, 8}};
  const std::vector<std::int64_t> positions{0, 3, 0};
  std::vector<float> alone;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const std::vector<float> part = run({sentences[i]}, {positions[i]});
    alone.insert(alone.end(), part.begin(), part.end());
  }
  const std::vector<float> together = run(sentences, positions);
  EXPECT_THAT(together, testing::Pointwise(testing::FloatNear(1e-5f), alone));
  EXPECT_NE(run({sentences[1]}, {0}), run({sentences[1]}, {1})) << "the position matters";
}

TEST(JobWords, WhatMakesNoSenseIsForbidden) {
  const Trained job(sentences(), "min_label_count = 2", kTagger, kField);
  ASSERT_EQ(job.network.constants.size(), 1u);
  const Tensor& pairs = job.network.constants.begin()->second;
  const std::vector<std::string>& names = job.columns.names;  // O, B- and I-ARG1, B- and I-ARG0
  ASSERT_THAT(names, ElementsAre("O", "B-ARG1", "I-ARG1", "B-ARG0", "I-ARG0"));
  const float no = -1e4f;
  EXPECT_THAT(pairs.to_vector<float>(), ElementsAre(0, 0, no, 0, no,  //
                                                    0, 0, 0, 0, no,   //
                                                    0, 0, 0, 0, no,   //
                                                    0, 0, no, 0, 0,   //
                                                    0, 0, no, 0, 0));
  const Trained free(sentences(), "min_label_count = 2", kTagger,
                     "loss = { crf = { constrained = false } }");
  EXPECT_TRUE(free.network.constants.empty());
}

TEST(JobWords, MistakesNameTheLine) {
  const std::string layers = "layers = [{ embedding = { dim = 8 } }, \"linear\"]";
  const auto refusal = [&](const data::Corpus& corpus, const std::string& text,
                           const std::string& model, const std::string& train) {
    return error_of(ErrorKind::data, [&] { Trained(corpus, text, model, train); });
  };
  const auto of_text = [&](const std::string& text) {
    return refusal(running(2), text, layers, kCrossEntropy);
  };
  EXPECT_THAT(
      of_text("min_count = 1"),
      HasSubstr(
          "job.toml:3: data.text: prose is one running text; to make examples of it, set one of "
          "next = true, ngrams = 5 and skip_grams"));
  EXPECT_THAT(of_text("next = true, ngrams = 5"), HasSubstr("set one of"));
  EXPECT_THAT(of_text("ngrams = 1"), HasSubstr("data.text.ngrams"));
  EXPECT_THAT(of_text("next = true, lenght = 5"), HasSubstr("length"));
  EXPECT_THAT(of_text("ngrams = 5, length = 5"), HasSubstr("length"));
  EXPECT_THAT(of_text("skip_grams = { tree = true, noise = 5 }"), HasSubstr("noise"));
  EXPECT_THAT(of_text("ngrams = 50"), HasSubstr("a text of 8 tokens has no run of that length"));
  EXPECT_THAT(refusal(sentences(), "min_label_count = 99", kTagger, kField),
              HasSubstr("job.toml:3: data.text"));
  EXPECT_THAT(refusal(running(2), "ngrams = 3", "name = \"tagger\"", kCrossEntropy),
              HasSubstr("neither ids of sequences nor the position of a row"));
  EXPECT_THAT(refusal(running(2), "ngrams = 3", "name = \"skip_gram\"", kCrossEntropy),
              HasSubstr("skip_gram takes two columns of ids, the word and its candidates; the data "
                        "have 1"));
  EXPECT_THAT(
      refusal(running(2), "ngrams = 3",
              "layers = [{ embedding = { dim = 8 } }, \"flatten\", \"linear\"]", "loss = \"crf\""),
      HasSubstr("column \"next\" is not ragged"));
  EXPECT_THAT(refusal(running(2), "next = true", layers,
                      "loss = \"cross_entropy\"\nmetrics = [\"chunk_f1\"]"),
              HasSubstr("needs labels with names such as \"B-ARG0\""));
  EXPECT_THAT(refusal(sentences(), "", kTagger, "loss = \"crf\"\nmetrics = [\"auc\"]"),
              HasSubstr("metric \"auc\" needs a loss of"));
}

}  // namespace
}  // namespace trireme::job
