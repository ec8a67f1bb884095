#include "trireme/control.h"

#include "blocks.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/ragged.h"
#include "trireme/rnn.h"
#include "trireme/sequence.h"

namespace trireme {
namespace {

Tensor numbers(std::vector<std::int64_t> shape, unsigned seed) {
  Tensor tensor(DType::f32, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.data<float>()[i] =
        static_cast<float>(std::sin(0.7 * static_cast<double>(i) + seed) * 0.8);
  }
  return tensor;
}

Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

Value total(const Value& x) { return sum(x * x); }

TEST(Control, CondTakesOneBlockAndItsGradient) {
  Program program;
  const Value flag = program.input("flag", boolean, {});
  const Value x = program.input("x", f32, {batch, 3});
  const Value y = program.input("y", f32, {batch, 3});
  const Value result = cond(flag, [&] { return tanh(x) * y; }, [&] { return x + 2.0; });
  const Value loss = total(result);
  Feeds feeds{{"flag", Tensor::scalar(true)}, {"x", numbers({2, 3}, 1)}, {"y", numbers({2, 3}, 2)}};
  expect_gradients(program, feeds, loss, {x, y});
  feeds["flag"] = Tensor::scalar(false);
  Program::parse(program.str());
  expect_compiled(program, feeds, {loss, result});
}

TEST(Control, WhileRunsUntilItsConditionFails) {
  Program program;
  const Value limit = program.input("limit", f32, {});
  const Value x = program.input("x", f32, {batch, 2});
  const auto [state, sum_of] = while_loop(
      std::tuple{x, x}, [&](const Value& h, const Value&) { return sum(abs(h)) > limit; },
      [&](const Value& h, const Value& s) { return std::tuple{tanh(h) * 0.7, s + h}; });
  const Value loss = total(state) + total(sum_of);
  const Feeds feeds{{"limit", Tensor::scalar(0.3f)}, {"x", numbers({3, 2}, 4)}};
  expect_gradients(program, feeds, loss, {x});
  EXPECT_EQ(Program::parse(program.str()).str(), program.str());
}

// The gradient of the body needs no value of the steps, only their number.
TEST(Control, WhileWhoseGradientNeedsNoValueOfItsSteps) {
  Program program;
  const Value w = program.input("w", f32, {});
  const Value below = program.input("below", f32, {});
  const auto [tripled] = while_loop(
      std::tuple{w * 2.0}, [&](const Value& h) { return h < below; },
      [](const Value& h) { return std::tuple{h * 3.0}; });
  const auto [raised] = while_loop(
      std::tuple{w}, [&](const Value& h) { return h < 3.5; },
      [](const Value& h) { return std::tuple{h + 1.0}; });
  for (const float limit : {1.0f, 10.0f, 100.0f}) {  // 0, 2 and 4 steps
    const Feeds feeds{{"w", Tensor::scalar(1.0f)}, {"below", Tensor::scalar(limit)}};
    expect_gradients(program, feeds, tripled + raised, {w});
  }
}

TEST(Control, ScanCarriesAndStacks) {
  Program program;
  const Value xs = program.input("xs", f32, {Dim(std::string_view("steps")), batch, 3});
  const Value w = program.input("w", f32, {3, 3});
  const Value h0 = program.input("h0", f32, {batch, 3});
  for (const bool reverse : {false, true}) {
    const ScanResult result = scan({h0}, {xs},
                                   [&](const Values& h, const Values& x) {
                                     const Value next = tanh(matmul(h[0], w) + x[0]);
                                     return ScanStep{{next}, {next * 2.0}};
                                   },
                                   {.reverse = reverse});
    const Value loss = total(result.carried[0]) + total(result.outputs[0]);
    const Feeds feeds{
        {"xs", numbers({4, 2, 3}, 1)}, {"w", numbers({3, 3}, 2)}, {"h0", numbers({2, 3}, 3)}};
    expect_gradients(program, feeds, loss, {xs, w, h0});
  }
}

// The gradients of the results differ by mode, and the gradient of a loop takes both.
TEST(Control, ResultsAreChosenByTheMode) {
  Program program;
  const Value xs = program.input("xs", f32, {Dim(std::string_view("steps")), 3});
  const Value x = program.input("x", f32, {3});
  const ScanResult scanned = scan({x}, {xs}, [](const Values& h, const Values& row) {
    const Value next = tanh(h[0] * row[0]);
    return ScanStep{{next}, {next * 2.0}};
  });
  const auto [raised] = while_loop(
      std::tuple{x}, [](const Value& h) { return sum(h) < 3.5; },
      [](const Value& h) { return std::tuple{exp(h)}; });
  const Value chosen = cond(sum(x) > 0.0, [&] { return tanh(x); }, [&] { return x * x; });
  Value loss = 0.0 * sum(x);
  for (const Value& y : {scanned.carried[0], scanned.outputs[0], raised, chosen}) {
    loss = loss + total(when_training(y * 3.0, tanh(y)));
  }
  expect_gradients(program, {{"xs", numbers({4, 3}, 1)}, {"x", numbers({3}, 2)}}, loss, {xs, x});
}

TEST(Control, IfElseSplitsRowsAndMergesThemInOrder) {
  Program program;
  const Value x = program.input("x", f32, {batch, 2});
  const Value condition = sum(x, {.axes = {1}}) > 0.1;
  const Values result = if_else(
      condition, {x}, [](const Values& rows) { return Values{tanh(rows[0])}; },
      [](const Values& rows) { return Values{rows[0] * 3.0 + 1.0}; });
  const Value loss = total(result[0]);
  expect_gradients(program, {{"x", numbers({5, 2}, 7)}}, loss, {x});
  for (const std::int64_t rows : {0, 1, 9}) {
    expect_compiled(program, {{"x", numbers({rows, 2}, 7)}}, {result[0], loss});
  }
}

TEST(Control, SwitchAndArrays) {
  Program program;
  const Value which = program.input("which", i64, {});
  const Value x = program.input("x", f32, {4, 2});
  const Value y =
      switch_case(which, {[&] { return x + 1.0; }, [&] { return x * 2.0; }, [&] { return x * x; }});
  const TensorArray array = TensorArray(y).write(which, gather(x, which));
  for (const std::int64_t i : {0, 1, 2, 5}) {
    expect_compiled(program, {{"which", Tensor::scalar(i)}, {"x", numbers({4, 2}, 3)}},
                    {y, array.values(), array.read(which)});
  }
}

struct Words {
  Program program;
  Value x = program.input("words", f32, ragged({batch}, {3}));
  Feeds feeds(const std::vector<std::int64_t>& splits) const {
    return {{"words", numbers({splits.back(), 3}, 5)}, {"words.splits", integers(splits)}};
  }
};

TEST(Rnn, AnElmanNetworkAndItsGradients) {
  for (const bool reverse : {false, true}) {
    Words words;
    const Value w = words.program.input("w", f32, {3, 4});
    const Value u = words.program.input("u", f32, {4, 4});
    const Value h0 = words.program.input("h0", f32, {batch, 4});
    const nn::RnnResult result = nn::run_rnn(
        [&](nn::Step& step) {
          const Value x = step.input(words.x);
          const Value h = step.state({.init = h0});
          const Value next = tanh(matmul(x, w) + matmul(h, u));
          step.update(h, next);
          step.output(next);
        },
        {.reverse = reverse});
    const Value loss = total(result.outputs[0]) + total(result.states[0]) +
                       total(sequence::last(result.outputs[0]));
    Feeds feeds = words.feeds({0, 2, 2, 5, 6});
    feeds["w"] = numbers({3, 4}, 1);
    feeds["u"] = numbers({4, 4}, 2);
    feeds["h0"] = numbers({4, 4}, 3);
    expect_gradients(words.program, feeds, loss, {words.x, w, u, h0});
    EXPECT_EQ(Program::parse(words.program.str()).str(), words.program.str());
    Feeds none = words.feeds({0});
    none["w"] = feeds["w"];
    none["u"] = feeds["u"];
    none["h0"] = numbers({0, 4}, 3);
    expect_compiled(words.program, none, {loss, result.states[0]});
  }
}

// Large enough for weights in strips (packed_matmul): in the step, before it and after it.
TEST(Rnn, AWideStepAndItsGradients) {
  Program program;
  const Value x = program.input("x", f32, ragged({batch}, {64}));
  const Value weight = program.input("weight", f32, {64, 256});
  const Value recurrent = program.input("recurrent", f32, {64, 256});
  const Value known = program.input("known", f32, {batch, 64});
  const nn::RnnResult result = nn::run_rnn([&](nn::Step& step) {
    const Value now = step.input(x);
    const Value h = step.state({.init = known}), c = step.state({.width = 64});
    const Value gates = matmul(now, weight) + matmul(h, recurrent);
    const auto gate = [&](std::int64_t i) {
      return slice(gates, {.starts = {0, 64 * i}, .limits = {gates.dim(0), 64 * i + 64}});
    };
    const Value cell = sigmoid(gate(0) + 1.0) * c + sigmoid(gate(1)) * tanh(gate(2));
    const Value next = sigmoid(gate(3)) * tanh(cell);
    step.update(h, next);
    step.update(c, cell);
    step.output(next);
  });
  const Value loss = total(result.outputs[0]) + total(sequence::last(result.outputs[0]));
  std::vector<Value> fetches{loss, result.states[1]};
  for (ir::Value* gradient :
       transforms::gradients(loss.get(), {x.get(), weight.get(), recurrent.get(), known.get()})) {
    fetches.emplace_back(gradient);
  }
  Feeds feeds{{"weight", noise({64, 256}, 1, -0.2, 0.2)},
              {"recurrent", noise({64, 256}, 2, -0.2, 0.2)},
              {"known", noise({17, 64}, 3)}};
  RaggedTensor::from_lengths(noise({49, 64}, 4),
                             {3, 0, 5, 1, 2, 4, 3, 3, 2, 6, 1, 1, 4, 3, 5, 2, 4})
      .add_to(feeds, "x");
  expect_compiled(program, feeds, fetches, 1e-4);
}

// Rows that other rows are added to are made in the order of time. An invalid row number is still
// an error.
TEST(Rnn, RowsThatAreAddedToOneByOne) {
  Program program;
  const Value like = program.input("like", f32, ragged({batch}, {2}));
  const Value places = program.input("places", i64, {Dim("few")});
  const Value updates = program.input("updates", f32, {Dim("few"), 2});
  const Value added = scatter_add(places, updates, {.rows = {like.dim(0)}});
  auto [states] = nn::rnn(
      [&](nn::Step& step) {
        const Value h = step.state({.width = 2});
        const Value next = tanh(h + step.input(added));
        step.update(h, next);
        step.output(next);
      },
      {.over = like});
  Feeds feeds{{"places", integers({4, -1, 0, 4})}, {"updates", numbers({4, 2}, 1)}};
  RaggedTensor::from_lengths(numbers({6, 2}, 2), {1, 3, 0, 2}).add_to(feeds, "like");
  expect_compiled(program, feeds, {states});
  feeds["places"] = integers({4, 6, 0, 4});
  Session session(program);
  try {
    session.run(feeds, {states});
    FAIL() << "there is no row 6";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
  }
}

TEST(Rnn, AttentionOverAnotherSequence) {
  Words words;
  const Value source = words.program.input("source", f32, ragged({batch}, {4}));
  const Value w = words.program.input("w", f32, {3, 4});
  const Value u = words.program.input("u", f32, {4, 4});
  const auto [states] = nn::rnn([&](nn::Step& step) {
    const Value x = step.input(words.x);
    const Value seen = step.static_input(source);
    const Value h = step.state({.width = 4});
    const Value score = sum(tanh(seen + sequence::expand(matmul(h, u), seen)), {.axes = {1}});
    const Value weight = sequence::softmax(score);
    const Value context =
        sequence::sum(seen * broadcast(weight, {.shape = seen.shape(), .axes = {0}}));
    const Value next = tanh(matmul(x, w) + context);
    step.update(h, next);
    step.output(next);
  });
  const Value loss = total(states);
  Feeds feeds = words.feeds({0, 1, 4, 4});
  feeds["source"] = numbers({6, 4}, 9);
  feeds["source.splits"] = integers({0, 3, 4, 6});
  feeds["w"] = numbers({3, 4}, 1);
  feeds["u"] = numbers({4, 4}, 2);
  expect_gradients(words.program, feeds, loss, {words.x, source, w, u});
}

TEST(Rnn, AnRnnInAStepOverTheNextLevel) {
  Program program;
  const Value x =
      program.input("words", f32, ragged({batch, Dim(std::string_view("sentences"))}, {3}));
  const Value w = program.input("w", f32, {3, 3});
  const Value sentences = sequence::sum(x);
  const auto [documents] = nn::rnn(
      [&](nn::Step& step) {
        const Value words = step.input(x);
        const Value topic = step.state({.width = 3});
        const auto [inner] = nn::rnn([&](nn::Step& word) {
          const Value at = word.input(words);
          const Value h = word.state({.init = topic});
          const Value next = tanh(matmul(h, w) + at);
          word.update(h, next);
          word.output(next);
        });
        const Value next = tanh(sequence::last(inner) + topic * 0.5);
        step.update(topic, next);
        step.output(next);
      },
      {.over = sentences});
  const Value loss = total(documents);
  const Feeds feeds{{"words", numbers({7, 3}, 2)},
                    {"words.splits_0", integers({0, 2, 2, 4})},
                    {"words.splits_1", integers({0, 3, 4, 4, 7})},
                    {"w", numbers({3, 3}, 1)}};
  expect_gradients(program, feeds, loss, {x, w});
}

TEST(Sequences, FunctionsAgreeWithPlainLoops) {
  Words words;
  const Value x = words.x;
  const Value keep = sum(x, {.axes = {1}}) > 0.0;
  const std::vector<Value> all{sequence::sum(x),
                               sequence::mean(x),
                               sequence::sqrt_n(x),
                               sequence::max(x),
                               sequence::min(x),
                               sequence::first(x),
                               sequence::last(x),
                               sequence::softmax(x),
                               sequence::reverse(x),
                               sequence::concat({x, sequence::reverse(x)}),
                               sequence::filter(x, keep),
                               sequence::windows(x, 3),
                               sequence::pad(x, 4, -1),
                               sequence::positions(x),
                               sequence::lengths(x),
                               sequence::mask(x, 4),
                               sequence::unpad(sequence::pad(x, 4), x)};
  for (const auto& splits :
       std::vector<std::vector<std::int64_t>>{{0, 2, 2, 5, 6}, {0, 0, 0}, {0}, {0, 7}, {0, 0, 4}}) {
    expect_compiled(words.program, words.feeds(splits), all);
  }
  Value loss = total(all[0]);
  for (std::size_t i = 1; i < 13; ++i) loss = loss + total(all[i]) * (0.1 * static_cast<double>(i));
  expect_gradients(words.program, words.feeds({0, 2, 2, 5, 6}), loss, {x});
}

}  // namespace
}  // namespace trireme
