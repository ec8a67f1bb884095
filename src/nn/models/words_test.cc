// Models of words: formulas in separate loops, parameters, and errors.

#include <gmock/gmock.h>

#include "nn/testing/running.h"
#include "trireme/models.h"

namespace trireme::models {
namespace {

using nn::first_values;
using nn::noise;
using nn::refusal_here;
using nn::tensor;
using ops::RefTensor;
using ops::RefTensors;
using ::testing::HasSubstr;

// Returns the score of a word and a candidate.
double score(const RefTensors& p, std::size_t word, std::size_t candidate, bool bias) {
  const std::vector<double>& x = p.at("skip_gram_0/words.weight").data;
  const std::vector<double>& y = p.at("skip_gram_0/candidates.weight").data;
  double total = bias ? p.at("skip_gram_0/bias.weight").data[candidate] : 0;
  for (std::size_t k = 0; k < 2; ++k) total += x[2 * word + k] * y[2 * candidate + k];
  return total;
}

RefTensors noisy(const Program& program) {
  RefTensors values = first_values(program);
  unsigned seed = 3;
  for (auto& [name, value] : values) value = noise(value.shape, ++seed);
  return values;
}

TEST(SkipGram, ScoresEachCandidateOfAWord) {
  Program program;
  const Value center = program.input("center", i64, {batch});
  const Value candidates = program.input("candidates", i64, {batch, 3});
  const Value y = skip_gram({center, 4}, {candidates, 5}, {.width = 2});
  EXPECT_EQ(y.shape(), (Shape{batch, 3}));
  const RefTensor first = first_values(program).at("skip_gram_0/candidates.weight");
  EXPECT_EQ(first.data, std::vector<double>(5 * 2, 0));
  RefTensors p = noisy(program);
  const std::vector<double> words{3, 0}, others{4, 0, 1, 2, 2, 3};
  const RefTensors inputs{{"center", tensor({2}, words)}, {"candidates", tensor({2, 3}, others)}};
  const RefTensor scores = nn::run(program, y, inputs, p);
  for (std::size_t i = 0; i < others.size(); ++i) {
    const double expected = score(p, static_cast<std::size_t>(words[i / 3]),
                                  static_cast<std::size_t>(others[i]), false);
    EXPECT_NEAR(scores.data[i], expected, 1e-6) << i;
  }
}

TEST(SkipGram, ScoresPathsOfAnyLength) {
  Program program;
  const Value center = program.input("center", i64, {batch});
  const Value nodes = program.input("nodes", i64, ragged());
  const Value y = skip_gram({center, 4}, {nodes, 5}, {.width = 2, .bias = true});
  EXPECT_EQ(y.shape(), (Shape{Dim("nodes")}));
  RefTensors p = noisy(program);
  const std::vector<double> words{3, 0, 1}, others{4, 0, 2};
  const std::size_t owner[] = {3, 3, 1};  // the second word has no nodes
  const RefTensors inputs{{"center", tensor({3}, words)},
                          {"nodes", tensor({3}, others)},
                          {"nodes.splits", tensor({4}, {0, 2, 2, 3})}};
  const RefTensor scores = nn::run(program, y, inputs, p);
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_NEAR(scores.data[i], score(p, owner[i], static_cast<std::size_t>(others[i]), true),
                1e-6);
  }
}

std::int64_t trainable(const Program& program) {
  std::int64_t total = 0;
  for (const auto& [name, value] : first_values(program)) {
    total += static_cast<std::int64_t>(value.data.size());
  }
  return total;
}

struct Sentences {
  Program program;
  Value words = program.input("words", i64, ragged());
  Value tags = program.input("tags", i64, {words.dim(0)});
  Value position = program.input("position", i64, {batch});
};

TEST(Tagger, HasTheParametersOfItsLayers) {
  // Both directions of an LSTM: 4 gates, each with a matrix for the input, one for the state, and a
  // bias.
  const auto lstm = [](std::int64_t in, std::int64_t units) {
    return 2 * 4 * units * (in + units + 1);
  };
  const TaggerOptions options{.classes = 7, .width = 6, .other_width = 3, .units = 5};
  Sentences plain;
  const Value y = tagger({{plain.words, 11}}, {}, options);
  EXPECT_EQ(y.shape(), (Shape{Dim("words"), 7}));
  EXPECT_EQ(trainable(plain.program), 11 * 6 + lstm(6, 5) + lstm(10, 5) + 11 * 7);

  Sentences full;
  TaggerOptions full_options = options;
  full_options.layers = 1, full_options.context = 4, full_options.mark_width = 2,
  full_options.max_distance = 3;
  tagger({{full.words, 11}, {full.tags, 8}}, full.position, full_options);
  const std::int64_t embedded = 6 + 3;
  EXPECT_EQ(trainable(full.program),
            11 * 6 + 8 * 3 + (3 * embedded + 1) * 4 + 7 * 2 + lstm(embedded + 4 + 2, 5) + 11 * 7);
}

TEST(ModelsOfWords, RejectInvalidArguments) {
  Sentences s;
  const Value row = s.program.input("row", f32, {batch, 2});
  const Value near = s.program.input("near", i64, {batch, 2});
  EXPECT_THAT(refusal_here([&] { skip_gram({near, 5}, {near, 5}, {}); }), HasSubstr("center"));
  EXPECT_THAT(refusal_here([&] { skip_gram({s.position, 5}, {row, 5}, {}); }),
              HasSubstr("field 1 is not ids"));
  EXPECT_THAT(refusal_here([&] { skip_gram({s.position, 5}, {near, 5}, {.width = 0}); }),
              HasSubstr("width must be at least 1"));
  EXPECT_THAT(refusal_here([&] { tagger({{s.words, 5}, {s.position, 5}}, {}, {}); }),
              HasSubstr("the same sequences"));
  EXPECT_THAT(refusal_here([&] { tagger({{s.words, 5}}, {}, {.units = 0}); }),
              HasSubstr("units and layers must be at least 1"));
  EXPECT_THAT(refusal_here([&] { tagger({{s.words, 5}}, {}, {.context = -1}); }),
              HasSubstr("must not be negative"));
}

}  // namespace
}  // namespace trireme::models
