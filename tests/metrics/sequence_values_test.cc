// Metrics of Values over sequences, joined over batches of odd sizes, against the functions over
// plain data on all at once.

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "../command.h"
#include "session/metrics/sum.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

// Of splits there is one more than of sequences.
const Dim kTokens{std::string_view("tokens")}, kSplits{std::string_view("splits")};
const std::vector<std::string> kTags{"O", "B-ARG0", "I-ARG0", "B-V", "I-V"};

// Concatenated sequences, as tags and with the loss of each token.
struct Packed {
  std::vector<std::int64_t> predicted, right, splits{0};
  std::vector<float> losses;
};

Packed sequences_at_random(unsigned seed, int count) {
  std::mt19937 random(seed);
  Packed packed;
  for (int i = 0; i < count; ++i) {
    for (unsigned left = i % 3 == 0 ? 0 : random() % 9; left > 0; --left) {
      packed.right.push_back(random() % 5);
      packed.predicted.push_back(random() % 4 == 0 ? random() % 5 : packed.right.back());
      packed.losses.push_back(static_cast<float>(random() % 1000) / 200);
    }
    packed.splits.push_back(static_cast<std::int64_t>(packed.right.size()));
  }
  return packed;
}

template <class T>
Tensor tensor_of(const std::vector<T>& values, std::int64_t begin, std::int64_t end) {
  return Tensor::from<T>({end - begin}, {values.begin() + begin, values.begin() + end});
}

// Sequences [begin, end) as a batch.
Feeds batch_of(const Packed& packed, std::int64_t begin, std::int64_t end) {
  const auto at = [&](std::int64_t i) { return packed.splits[static_cast<std::size_t>(i)]; };
  Tensor splits(i64, {end - begin + 1});
  for (std::int64_t i = begin; i <= end; ++i) {
    splits.data<std::int64_t>()[i - begin] = at(i) - at(begin);
  }
  return {{"predicted", tensor_of(packed.predicted, at(begin), at(end))},
          {"right", tensor_of(packed.right, at(begin), at(end))},
          {"loss", tensor_of(packed.losses, at(begin), at(end))},
          {"splits", splits}};
}

struct Question {
  Program program{"sequences"};
  Value predicted = program.input("predicted", i64, {kTokens});
  Value right = program.input("right", i64, {kTokens});
  Value loss = program.input("loss", f32, {kTokens});
  Value splits = program.input("splits", i64, {kSplits});
  std::vector<Metric> metrics;

  Metrics measured(const Packed& packed, std::int64_t batch_size) const {
    Session session(program);
    MetricSum sum(metrics);
    std::vector<Value> fetches;
    for (const Metric& metric : metrics) fetches.push_back(metric.value);
    const auto all = static_cast<std::int64_t>(packed.splits.size()) - 1;
    for (std::int64_t i = 0; i < all; i += batch_size) {
      const std::int64_t end = std::min(i + batch_size, all);
      sum.add(session.run(batch_of(packed, i, end), fetches), end - i);
    }
    return sum.result();
  }
};

TEST(SequenceValues, AreWhatPlainDataSay) {
  const Packed packed = sequences_at_random(1, 200);
  Question q;
  const ChunkOptions no_verbs{.tags = kTags, .leave_out = {"V"}};
  q.metrics = {chunk_f1(q.predicted, q.right, q.splits, no_verbs),
               chunk_precision(q.predicted, q.right, q.splits, no_verbs),
               chunk_recall(q.predicted, q.right, q.splits, no_verbs), perplexity(q.loss)};
  ChunkF1 chunks(no_verbs);
  chunks.update(packed.predicted, packed.right, packed.splits);
  ASSERT_GT(chunks.counts().correct, 50);
  ASSERT_LT(chunks.value(), 0.9);
  for (const std::int64_t batch_size : {1000, 64, 7, 1}) {
    const Metrics measured = q.measured(packed, batch_size);
    EXPECT_EQ(measured["chunk_f1"], chunks.counts().f1()) << batch_size;
    EXPECT_EQ(measured["chunk_precision"], chunks.counts().precision()) << batch_size;
    EXPECT_EQ(measured["chunk_recall"], chunks.counts().recall()) << batch_size;
    EXPECT_NEAR(measured["perplexity"], perplexity(packed.losses), 1e-9) << batch_size;
  }
  for (const Metric& metric : q.metrics) {
    EXPECT_EQ(metric.larger_better, metric.name != "perplexity") << metric.name;
  }
}

TEST(SequenceValues, OfNothingAreNaN) {
  Question q;
  q.metrics = {chunk_f1(q.predicted, q.right, q.splits, {.tags = kTags}), perplexity(q.loss)};
  for (const std::int64_t batch_size : {1, 2}) {  // no batch at all, and one without sequences
    Packed none;
    if (batch_size == 2) none.splits = {0, 0};
    const Metrics measured = q.measured(none, batch_size);
    EXPECT_TRUE(std::isnan(measured["perplexity"]));
    EXPECT_EQ(std::isnan(measured["chunk_f1"]), batch_size == 1);
  }
}

TEST(SequenceValues, PaddingDoesNotCount) {
  Program program("padded");
  const Dim length{std::string_view("length")};
  const Value loss = program.input("loss", f32, {batch, length});
  const Value mask = program.input("mask", DType::boolean, {batch, length});
  const Metric metric = perplexity(loss, mask);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Session session(program);
  MetricSum sum({metric});
  sum.add(session.run({{"loss", Tensor::from<float>({2, 2}, {1, 2, 3, nan})},
                       {"mask", Tensor::from<bool>({2, 2}, {true, true, true, false})}},
                      {metric.value}),
          2);
  sum.add(session.run({{"loss", Tensor::from<float>({1, 1}, {7})},
                       {"mask", Tensor::from<bool>({1, 1}, {true})}},
                      {metric.value}),
          1);
  EXPECT_NEAR(sum.result()["perplexity"], std::exp(13.0 / 4), 1e-9);
}

// A model of letters that come in turn learns them: its perplexity is that of its mean loss, and
// ends near 1.
TEST(SequenceValues, OfATrainer) {
  constexpr std::int64_t kLetters = 4, kLength = 6;
  Program program("letters");
  const Value letter = program.input("letter", i64, {batch, kLength});
  const Value next = program.input("next", i64, {batch, kLength});
  const Value x = nn::embedding(letter, {.num_embeddings = kLetters, .dim = 8});
  const Value logits = nn::linear(x, {.units = kLetters});
  const Value losses = nn::cross_entropy(logits, next);
  Tensor letters(i64, {50, kLength}), nexts(i64, {50, kLength});
  for (std::int64_t i = 0; i < letters.elements(); ++i) {
    letters.data<std::int64_t>()[i] = i * 7 % kLetters;
    nexts.data<std::int64_t>()[i] = (i * 7 + 1) % kLetters;
  }
  const data::Dataset data = data::from_tensors({{"letter", letters}, {"next", nexts}});
  Trainer trainer(program, {.loss = mean(losses),
                            .optimizer = Adam{.learning_rate = 0.05},
                            .metrics = {perplexity(losses)}});
  const Metrics before = trainer.evaluate(data.batch(8));
  EXPECT_NEAR(before["perplexity"], std::exp(before["loss"]), 1e-5 * before["perplexity"]);
  EXPECT_GT(before["perplexity"], 2);
  const data::Batches validation = data.batch(8);
  FitOptions fit{.epochs = 20, .progress = false, .validation = &validation};
  fit.early_stopping = {.watch = {"perplexity"}, .patience = 30};  // knows that smaller is better
  trainer.fit(data.batch(8), fit);
  EXPECT_LT(trainer.evaluate(validation)["perplexity"], 1.1);
}

TEST(SequenceValues, AreRefusedWhereTheyMakeNoSense) {
  Question q;
  const Value scores = q.program.input("scores", f32, {kTokens});
  const Value others = q.program.input("others", i64, {Dim(std::string_view("others"))});
  fails(ErrorKind::usage, "chunk_f1: predicted and right tags must be i64[tokens]",
        [&] { chunk_f1(scores, q.right, q.splits, {.tags = kTags}); });
  fails(ErrorKind::usage, "chunk_recall: predicted and right tags",
        [&] { chunk_recall(others, q.right, q.splits, {.tags = kTags}); });
  fails(ErrorKind::usage, "entry 1 of tags is the tag \"X-ARG0\"",
        [&] { chunk_f1(q.predicted, q.right, q.splits, {.tags = {"O", "X-ARG0"}}); });
  fails(ErrorKind::usage, "chunk_f1: ids need the list of tags",
        [&] { chunk_f1(q.predicted, q.right, q.splits, {}); });
  fails(ErrorKind::usage, "must be floats", [&] { perplexity(q.right); });
  fails(ErrorKind::usage, "of one shape", [&] { perplexity(q.loss, others); });
  q.metrics = {chunk_f1(q.predicted, q.right, q.splits, {.tags = kTags})};
  Packed wrong = sequences_at_random(2, 9);
  wrong.right[3] = 5;
  fails(ErrorKind::data, "is 5, but there are tags 0 to 4", [&] { q.measured(wrong, 4); });
  const auto with_splits = [&](std::vector<std::int64_t> splits) {
    Session session(q.program);
    MetricSum sum(q.metrics);
    const Tensor tags = Tensor::from<std::int64_t>({3}, {0, 1, 2});
    sum.add(session.run({{"predicted", tags},
                         {"right", tags},
                         {"splits", Tensor::from<std::int64_t>(
                                        {static_cast<std::int64_t>(splits.size())}, splits)}},
                        {q.metrics[0].value}),
            1);
    return sum.result();
  };
  EXPECT_EQ(with_splits({0, 3})["chunk_f1"], 1);
  fails(ErrorKind::data, "splits end with 2, but there are 3 ids", [&] { with_splits({0, 2}); });
  fails(ErrorKind::data, "splits[2] is 1 after 2", [&] { with_splits({0, 2, 1, 3}); });
  fails(ErrorKind::data, "begin with 1", [&] { with_splits({1, 3}); });
}

}  // namespace
}  // namespace trireme::testing
