// Tests of translation models: generation computes the same as training.

#include <gmock/gmock.h>

#include "nn/testing/running.h"
#include "trireme/models.h"
#include "trireme/sequence.h"

namespace trireme::models {
namespace {

using nn::first_values;
using nn::refusal_here;
using nn::tensor;
using ops::RefTensor;
using ops::RefTensors;
using ::testing::HasSubstr;
using Cell = TranslatorOptions::Cell;

struct Words {
  Program program;
  Value source = program.input("source", i64, ragged({batch}));
  Value previous = program.input("previous", i64, ragged({batch}));
  TranslatorOptions options{
      .source_rows = 6, .rows = 5, .width = 8, .units = 6, .heads = 2, .limit = 4};

  static RefTensors feeds(const std::vector<double>& previous, const std::vector<double>& splits) {
    const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
    return {{"source", tensor({4}, {0, 5, 2, 2})},
            {"source.splits", tensor({4}, {0, 3, 3, 4})},
            {"previous", tensor({count(previous)}, previous)},
            {"previous.splits", tensor({count(splits)}, splits)}};
  }
};

class TranslatorOf : public testing::TestWithParam<Cell> {};
INSTANTIATE_TEST_SUITE_P(Cells, TranslatorOf, testing::Values(Cell::gru, Cell::transformer));

TEST_P(TranslatorOf, StepsAgreeWithTraining) {
  Words words;
  words.options.cell = GetParam();
  words.options.layers = 2;
  const Translator model = translator(words.source, words.previous, words.options);
  EXPECT_EQ(model.logits.shape(), (Shape{words.previous.dim(0), 5}));
  const std::size_t parameters = words.program.parameters().size();
  const auto [steps] = nn::rnn(
      [&](nn::Step& step) { step.output(model.decoder(step, step.input(words.previous))); });
  EXPECT_EQ(words.program.parameters().size(), parameters);
  EXPECT_TRUE(words.program.find("translator_0/decoder/linear_0.weight"));
  RefTensors p = first_values(words.program);
  const RefTensors feeds = Words::feeds({1, 0, 4, 3, 1, 1, 2}, {0, 4, 5, 7});
  const RefTensor whole = nn::run(words.program, model.logits, feeds, p);
  const RefTensor by_step = nn::run(words.program, steps, feeds, p);
  ASSERT_EQ(whole.data.size(), 35u);
  for (std::size_t i = 0; i < whole.data.size(); ++i) {
    EXPECT_NEAR(whole.data[i], by_step.data[i], 1e-9) << i;
  }
  EXPECT_NE(whole.data[0], whole.data[20]);  // the sources differ
}

TEST_P(TranslatorOf, GreedySearchSelectsTheLikeliestWord) {
  Words words;
  words.options.cell = GetParam();
  const Translator model = translator(words.source, words.previous, words.options);
  const Value tokens =
      nn::greedy_search(model.decoder,
                        {.start = 1, .end = 2, .limit = 4, .over = sequence::lengths(words.source)})
          .tokens;
  RefTensors p = first_values(words.program);
  const auto run = [&](const Value& value, const RefTensors& feeds) {
    return nn::run(words.program, value, feeds, p).data;
  };
  const RefTensors feeds = Words::feeds({}, {0, 0, 0, 0});
  const std::vector<double> found = run(tokens, feeds);
  const std::vector<double> splits = run(sequence::splits(tokens), feeds);
  ASSERT_EQ(splits.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) {  // for each example: compares with the likeliest next words
    const auto begin = static_cast<std::size_t>(splits[i]);
    const auto length = static_cast<std::size_t>(splits[i + 1]) - begin;
    std::vector<double> previous{1}, ends(4);
    previous.insert(previous.end(), found.begin() + static_cast<std::ptrdiff_t>(begin),
                    found.begin() + static_cast<std::ptrdiff_t>(begin + length));
    for (std::size_t k = i + 1; k < 4; ++k) ends[k] = static_cast<double>(previous.size());
    const std::vector<double> logits = run(model.logits, Words::feeds(previous, ends));
    for (std::size_t t = 0; t < std::min<std::size_t>(length + 1, 4); ++t) {
      const auto row = logits.begin() + static_cast<std::ptrdiff_t>(5 * t);
      const auto likeliest = std::max_element(row, row + 5) - row;
      EXPECT_EQ(static_cast<double>(likeliest), t < length ? found[begin + t] : 2.0);
    }
  }
}

TEST(TranslatorModel, RejectsInvalidOptions) {
  Words words;
  const auto error_for = [&](auto change) {
    TranslatorOptions options = words.options;
    change(options);
    return refusal_here([&] { translator(words.source, words.previous, options); });
  };
  EXPECT_THAT(error_for([](auto& o) { o.rows = 0; }),
              HasSubstr("the numbers of source ids and target ids"));
  EXPECT_THAT(error_for([](auto& o) { o.units = 7; }), HasSubstr("an even number, not 7"));
  EXPECT_THAT(error_for([](auto& o) { o.layers = 0; }), HasSubstr("at least 1"));
  EXPECT_THAT(error_for([](auto& o) { o.limit = 0; }), HasSubstr("limit must be at least 1"));
  EXPECT_THAT(error_for([](auto& o) { o.cell = Cell::transformer, o.heads = 3; }),
              HasSubstr("cannot be divided into 3 heads"));
  const Value others = words.program.input("others", i64, ragged({Dim("n")}));
  EXPECT_THAT(refusal_here([&] { translator(words.source, others, words.options); }),
              HasSubstr("batch source sequences, but n target sequences"));
}

}  // namespace
}  // namespace trireme::models
