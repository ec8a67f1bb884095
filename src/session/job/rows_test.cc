// Jobs with a target for each row of sequences.

#include <gmock/gmock.h>

#include "base/testing/error.h"
#include "data/testing/files.h"
#include "trireme/trireme.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<std::vector<std::int64_t>>;

// Sequences of 0 to 6 ids below 9 in turn, and of each id its remainder by 3.
Ids some_words(std::int64_t count) {
  Ids words;
  for (std::int64_t i = 0, next = 0; i < count; ++i) {
    words.emplace_back();
    for (std::int64_t k = 0; k < i % 7; ++k) words.back().push_back(next++ % 9);
  }
  return words;
}

Ids remainders(Ids words) {
  for (auto& line : words) {
    for (auto& id : line) id %= 3;
  }
  return words;
}

class JobRows : public testing::Test {
 protected:
  JobRows() { write("data.trec", some_words(40), remainders(some_words(40))); }

  void write(const std::string& file, const Ids& words, const Ids& labels) const {
    data::write_records(directory_.path() + "/" + file,
                        data::from_ragged({{"words", RaggedTensor::from(words)},
                                           {"label", RaggedTensor::from(labels)}}));
  }

  Job job(const std::string& data, const std::string& layers = kRowByRow) const {
    return Job::parse("[data]\ntrain = \"data.trec\"\ninput = \"words\"\nbatch = 8\n" + data +
                          "[model]\nlayers = [" + layers +
                          "]\n[train]\nloss = \"cross_entropy\"\nmetrics = [\"perplexity\"]\n"
                          "optimizer = { adam = { learning_rate = 0.1 } }\nepochs = 20\n",
                      directory_.path() + "/job.toml");
  }

  std::string refusal(const std::string& data, const std::string& layers = kRowByRow) const {
    return error_of(ErrorKind::data, [&] {
      Job wrong = job(data, layers);
      for (const data::Batch& batch : wrong.train_data().epoch(0)) data::examples_in(batch);
    });
  }

  static constexpr const char* kRowByRow =
      "{ embedding = { dim = 4, num_embeddings = 9 } }, { linear = { units = 3 } }";
  data::TestDirectory directory_;
};

TEST_F(JobRows, EachRowLearnsItsTarget) {
  Job learns = job("bucket = true\n");
  EXPECT_THAT(learns.program().str(), HasSubstr("%label : i64[words]"));
  learns.trainer().fit(learns.train_data(), {.epochs = 20, .progress = false});
  const Metrics measured = learns.trainer().evaluate(learns.train_data());
  EXPECT_GT(measured["accuracy"], 0.99);
  EXPECT_LT(measured["perplexity"], 1.2);
  EXPECT_EQ(measured.tensor("confusion").shape(), (std::vector<std::int64_t>{3, 3}));
}

TEST_F(JobRows, ASavedModelIsMeasuredAndPredictsRowByRow) {
  Job learns = job("",
                   "{ embedding = { dim = 3, num_embeddings = 9 } }, { lstm = { units = 3 } }, "
                   "{ linear = { units = 3 } }");
  learns.trainer().fit(learns.train_data(), {.epochs = 1, .progress = false});
  const std::string path = directory_.path() + "/model";
  learns.trainer().save(path, learns.save_options());
  Model model = load_model(path);
  const data::Dataset dataset = data::records(directory_.path() + "/data.trec");
  const data::Batches batches = dataset.batch(16);
  const Metrics measured = evaluate(model, batches), before = learns.trainer().evaluate(batches);
  EXPECT_NEAR(measured["perplexity"], before["perplexity"], 1e-4);
  EXPECT_EQ(measured["accuracy"], before["accuracy"]);

  Feeds feeds;
  RaggedTensor::from(Ids{{1, 2, 3}, {}, {4}}).add_to(feeds, "words");
  EXPECT_EQ(model.predict(feeds)[0].shape(), (std::vector<std::int64_t>{4, 3}));

  Ids other = remainders(some_words(40));
  other[5].pop_back();
  write("other.trec", some_words(40), other);
  const data::Dataset wrong = data::records(directory_.path() + "/other.trec");
  EXPECT_THAT(error_of(ErrorKind::data, [&] { evaluate(model, wrong.batch(16)); }),
              HasSubstr("example 5 has 4 rows of \"label\" and 5 of \"words\""));
}

TEST_F(JobRows, SequencesThatDifferAreRefused) {
  Ids labels = remainders(some_words(300));
  labels[290].push_back(0);
  write("data.trec", some_words(300), labels);
  EXPECT_THAT(refusal("shuffle = false\n"),
              HasSubstr("\"label\" and \"words\" must have sequences of the same lengths, but of a "
                        "batch example 2 has 4 rows of \"label\" and 3 of \"words\""));
  labels[4].clear();
  write("data.trec", some_words(300), labels);
  EXPECT_THAT(refusal(""), HasSubstr("job.toml:2: data.train: column \"label\" is ragged, and no "
                                     "input has such sequences: example 4 has 0 rows of \"label\" "
                                     "and 4 of \"words\""));
}

TEST_F(JobRows, ANetworkThatPoolsIsRefused) {
  EXPECT_THAT(refusal("",
                      "{ embedding = { dim = 4, num_embeddings = 9 } }, \"sequence_max\", "
                      "{ linear = { units = 3 } }"),
              HasSubstr("there is a target for each row of \"words\", %label : i64[words], but the "
                        "network ends in"));
}

}  // namespace
}  // namespace trireme
