// Compiled models that run blocks, and whose sizes only a run tells, against the Session that they
// were saved from.

#include <gmock/gmock.h>
#include <trireme/c.h>

#include <cmath>
#include <cstring>
#include <optional>

#include "../command.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using Ids = std::vector<std::int64_t>;
using Nested = std::vector<std::vector<Ids>>;

class CompiledSequences : public InFolder {
 protected:
  // The compiled model of what `program` computes; model_ is what it was made from.
  CompiledModel compiled(Program& program, const std::vector<Value>& outputs) {
    Session session(program);
    save_model(program, session, path("model"), {.outputs = outputs});
    model_.emplace(load_model(path("model")));
    compile_model(*model_, path("compiled"));
    return CompiledModel::load(path("compiled"), {.threads = 2});
  }

  void expect_equal_predictions(CompiledModel& compiled, const Feeds& feeds) {
    const std::vector<Tensor> expected = model_->predict(feeds), actual = compiled.predict(feeds);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(actual[i].type_str(), expected[i].type_str()) << i;
      const auto same = [&](auto type, double bound) {
        const auto a = actual[i].to_vector<decltype(type)>(),
                   b = expected[i].to_vector<decltype(type)>();
        for (std::size_t k = 0; k < a.size(); ++k) {
          ASSERT_NEAR(static_cast<double>(a[k]), static_cast<double>(b[k]), bound)
              << i << ", " << k;
        }
      };
      if (actual[i].dtype() == f32) same(float{}, 3e-6);
      else same(std::int64_t{}, 0);
    }
  }

  static Feeds words_of(const std::vector<Ids>& sequences) {
    Feeds feeds;
    RaggedTensor::from(sequences).add_to(feeds, "words");
    return feeds;
  }

  std::optional<Model> model_;
};

Value embedded(const Value& words) {
  return nn::embedding(words, {.num_embeddings = 20, .dim = 24});
}

TEST_F(CompiledSequences, RecurrentClassifiersTakeAnyLengths) {
  Program program("sentences");
  const Value words = program.input("words", i64, ragged({batch}));
  const Value states = nn::lstm(embedded(words), {.units = 16, .layers = 2, .bidirectional = true});
  CompiledModel model = compiled(program, {softmax(nn::linear(sequence::max(states), {.units = 3})),
                                           sequence::lengths(words)});
  ASSERT_EQ(model.inputs().size(), 2U);
  EXPECT_EQ(model.inputs()[0].splits_of + model.inputs()[1].splits_of, words.dim(0).str());
  const std::vector<Ids> many = {{1, 2, 3}, {}, {4}, {5, 6, 7, 8, 9, 10, 11}, {19, 0}};
  for (const std::vector<Ids>& sequences :
       {many, {{3}}, {{}}, std::vector<Ids>{}, {Ids(60, 7), Ids(3, 2)}, many}) {
    expect_equal_predictions(model, words_of(sequences));
  }
}

TEST_F(CompiledSequences, SequencesOfSequences) {
  Program program("documents");
  const Value words = program.input("words", i64, ragged(Shape{batch, Dim("sentences")}));
  const Value of_words = embedded(words);
  const auto [states] = nn::rnn(
      [&](nn::Step& step) {
        const Value sentence = step.input(of_words);
        const Value before = step.state({.width = 8});
        const auto [inner] = nn::rnn([&](nn::Step& word) {
          const Value x = word.input(sentence), h = word.state({.init = before});
          const Value next = nn::gru_cell(x, h, {.units = 8});
          word.update(h, next);
          word.output(next);
        });
        const Value last = sequence::last(inner);
        step.update(before, last);
        step.output(last);
      },
      {.over = sequence::lengths(words)});
  CompiledModel model = compiled(program, {sequence::mean(states)});
  for (const Nested& documents :
       {Nested{{{1, 2}, {3}}, {}, {{4, 5, 6}}}, Nested{{{}}}, Nested{{{1}, {}, {2, 3}}}}) {
    Feeds feeds;
    RaggedTensor::from(documents).add_to(feeds, "words");
    expect_equal_predictions(model, feeds);
  }
}

TEST_F(CompiledSequences, ConditionsAndLoops) {
  Program program("control");
  const Value x = program.input("x", f32, {batch, 4});
  const Value chosen = cond(sum(x) > 0.0, [&] { return tanh(x); }, [&] { return x * 2.0; });
  const Value doubled = while_values(
      {x}, [](const Values& v) { return sum(abs(v[0])) < 100.0; },
      [](const Values& v) { return Values{v[0] * 2.0}; }, {.limit = 50})[0];
  const ScanResult running =
      scan({mean(x, {.axes = {0}})}, {x}, [](const Values& c, const Values& r) {
        const Value next = tanh(c[0] + r[0]);
        return ScanStep{{next}, {next}};
      });
  const Value by_rows = if_else(
      mean(x, {.axes = {1}}) > 0.0, {x}, [](const Values& rows) { return Values{exp(rows[0])}; },
      [](const Values& rows) { return Values{rows[0] - 1.0}; })[0];
  CompiledModel model = compiled(program, {chosen, doubled, running.outputs[0], by_rows});
  for (const float sign : {1.0F, -1.0F}) {
    Tensor feed(f32, {5, 4});
    for (int i = 0; i < 20; ++i) feed.data<float>()[i] = sign * static_cast<float>(i % 7 - 2) / 3;
    expect_equal_predictions(model, {{"x", feed}});
  }
  fails(ErrorKind::data, "still holds after 50 steps",
        [&] { model.predict({{"x", Tensor(f32, {2, 4})}}); });
}

// A copying decoder: its words, and how many, are known when it has run.
struct Generator {
  Program program{"generator"};
  Value words = program.input("words", i64, ragged({batch}));
  nn::Hypotheses found;
  Generator() {
    const Value states = nn::gru(embedded(words), {.units = 12});
    const Value summary = sequence::last(states);
    found = nn::beam_search(
        [&](nn::Step& step, const Value& word) {
          const Value h = step.state({.init = summary});
          const Value next = nn::gru_cell(embedded(word), h, {.units = 12});
          step.update(h, next);
          return nn::linear(next, {.units = 20}) * 4.0;
        },
        {.beam = 3, .best = 2, .start = 0, .end = 1, .limit = 9, .over = summary});
  }
};

TEST_F(CompiledSequences, OutputsWhoseSizeOnlyTheRunTells) {
  Generator g;
  CompiledModel model = compiled(g.program, {g.found.tokens, sequence::splits(g.found.tokens),
                                             g.found.scores, sequence::erase(g.words, {4, 7})});
  for (const std::vector<Ids>& sequences :
       {std::vector<Ids>{{2, 3}, {4, 7, 4}, {5}}, {{4}}, std::vector<Ids>{}, {{2, 9, 9}}}) {
    expect_equal_predictions(model, words_of(sequences));
  }
}

TEST_F(CompiledSequences, CTakesResultsOfTheModelsMemory) {
  Generator g;
  compiled(g.program, {g.found.tokens, g.found.scores});
  const Feeds feeds = words_of({{2, 3}, {5}});
  const std::vector<Tensor> expected = model_->predict(feeds);
  trireme_model* loaded = nullptr;
  ASSERT_EQ(trireme_load(path("compiled").c_str(), 1, &loaded), TRIREME_OK) << trireme_error();
  std::vector<trireme_tensor> in;
  for (std::size_t i = 0; i < trireme_inputs(loaded); ++i) {
    const Tensor& feed = feeds.at(trireme_input(loaded, i)->name);
    in.push_back(
        {const_cast<std::byte*>(feed.bytes()), feed.size_bytes(), TRIREME_I64, 1, {feed.dim(0)}});
  }
  trireme_tensor out[2] = {};
  ASSERT_EQ(trireme_plan_outputs(loaded, in.data(), 2, out, 2), TRIREME_OK) << trireme_error();
  EXPECT_EQ(out[0].shape[0], -1);
  EXPECT_EQ(out[0].bytes, 0U);
  EXPECT_EQ(out[1].bytes, 4 * sizeof(float));
  std::vector<float> scores(4);
  out[1].data = scores.data();
  ASSERT_EQ(trireme_run(loaded, in.data(), 2, out, 2), TRIREME_OK) << trireme_error();
  ASSERT_EQ(out[0].shape[0], expected[0].dim(0));
  ASSERT_EQ(out[0].bytes, expected[0].size_bytes());
  EXPECT_EQ(std::memcmp(out[0].data, expected[0].bytes(), out[0].bytes), 0);

  // Memory of the caller's works too, if it suffices.
  Ids tokens(100);
  out[0].data = tokens.data();
  out[0].bytes = tokens.size() * 8;
  ASSERT_EQ(trireme_run(loaded, in.data(), 2, out, 2), TRIREME_OK) << trireme_error();
  EXPECT_EQ(std::memcmp(tokens.data(), expected[0].bytes(), expected[0].size_bytes()), 0);
  out[0].bytes = 3;
  EXPECT_EQ(trireme_run(loaded, in.data(), 2, out, 2), TRIREME_USAGE);
  EXPECT_THAT(trireme_error(), ::testing::HasSubstr("bytes, and there are 3"));

  // Splits that are none are refused before anything runs.
  for (trireme_tensor& tensor : in) {
    if (tensor.shape[0] == 3 && static_cast<std::int64_t*>(tensor.data)[2] == 3) {
      static_cast<std::int64_t*>(tensor.data)[1] = 7;
    }
  }
  EXPECT_EQ(trireme_run(loaded, in.data(), 2, out, 2), TRIREME_USAGE);
  EXPECT_THAT(trireme_error(), ::testing::HasSubstr("splits never decrease"));
  trireme_free(loaded);
}

}  // namespace
}  // namespace trireme::testing
