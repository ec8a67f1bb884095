// Masks: their gradients, how they are chosen, and a training with each rule.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/testing/error.h"
#include "trireme/nn.h"
#include "trireme/packing.h"
#include "trireme/pruning.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Numbers = std::vector<float>;

Numbers numbers_of_parameter(Session& session, const std::string& name) {
  return session.parameter(name).to_vector<float>();
}

// sum(x * w) for one parameter w of the given numbers.
struct OneWeight {
  Program program;
  Value loss, w;
  std::unique_ptr<Session> session;
  OneWeight(const MaskOptions& options, const Numbers& numbers, Shape shape = {}) {
    if (shape.empty()) shape = {static_cast<std::int64_t>(numbers.size())};
    w = program.parameter("a.weight", f32, shape);
    loss = sum(w * w) * 0.5;
    add_masks(program, options);
    session = std::make_unique<Session>(program, SessionOptions{.threads = 1});
    std::vector<std::int64_t> sizes;
    for (const Dim& dim : shape) sizes.push_back(dim.constant());
    session->set_parameter("a.weight", Tensor::from<float>(sizes, numbers));
  }
  Numbers mask() { return numbers_of_parameter(*session, "a.weight.mask"); }
  Numbers masks_after(const MaskRule& rule) {
    update_masks(*session, rule);
    return mask();
  }
};

TEST(Masks, StopOrPassGradients) {
  for (const bool dense : {false, true}) {
    OneWeight one({.dense_gradients = dense}, {1, -2, 3});
    one.session->set_parameter("a.weight.mask", Tensor::from<float>({3}, {1, 0, 1}));
    const Value slope = gradients(one.loss, {one.w})[0];
    const std::vector<Tensor> results = one.session->run({}, {one.loss, slope});
    EXPECT_EQ(results[0].item<float>(), 5);
    // The gradient of (w m)^2 / 2 is w m^2; for the dense one, w m.
    EXPECT_THAT(results[1].to_vector<float>(), ElementsAre(1, 0, 3));
  }
  // The dense gradient of a linear loss is that of the pruned weight, too.
  Program program;
  const Value w = program.parameter("a.weight", f32, {2});
  const Value loss = sum(w * 4.0);
  add_masks(program, {.dense_gradients = true});
  const Value slope = gradients(loss, {w})[0];
  Session session(program, {.threads = 1});
  session.set_parameter("a.weight.mask", Tensor::from<float>({2}, {1, 0}));
  EXPECT_THAT(session.run({}, {slope})[0].to_vector<float>(), ElementsAre(4, 4));
}

TEST(Masks, ScoresHaveTheGradientTimesTheWeight) {
  Program program;
  const Value w = program.parameter("a.weight", f32, {2});
  const Value loss = sum(w * 4.0);
  add_masks(program, {.movement = true});
  const Value slope = gradients(loss, {program.find("a.weight.score")})[0];
  Session session(program, {.threads = 1});
  session.set_parameter("a.weight", Tensor::from<float>({2}, {3, -5}));
  session.set_parameter("a.weight.mask", Tensor::from<float>({2}, {1, 0}));
  EXPECT_THAT(session.run({}, {slope})[0].to_vector<float>(), ElementsAre(12, -20));
  session.set_parameter("a.weight.score", Tensor::from<float>({2}, {-1, 2}));
  update_masks(session, {.sparsity = 0.5});
  EXPECT_THAT(numbers_of_parameter(session, "a.weight.mask"), ElementsAre(0, 1));
}

TEST(UpdateMasks, PrunesTheSmallestWeights) {
  OneWeight one({}, {1, -2, 3, -0.5f, 2});
  EXPECT_THAT(one.masks_after({.sparsity = 0}), Each(1));
  EXPECT_THAT(one.masks_after({.sparsity = 0.4}), ElementsAre(0, 1, 1, 0, 1));
  // Of the equal weights -2 and 2, the first.
  EXPECT_THAT(one.masks_after({.sparsity = 0.6}), ElementsAre(0, 0, 1, 0, 1));
  EXPECT_DOUBLE_EQ(mask_sparsity(*one.session), 0.6);
  one.session->set_parameter("a.weight", Tensor::from<float>({5}, {9, -2, 3, -0.5f, 2}));
  EXPECT_THAT(one.masks_after({.sparsity = 0.2}), ElementsAre(0, 0, 1, 0, 1));
  EXPECT_THAT(one.masks_after({.sparsity = 0.6, .splice = true}), ElementsAre(1, 0, 1, 0, 0));
  apply_masks(*one.session);
  EXPECT_THAT(numbers_of_parameter(*one.session, "a.weight"), ElementsAre(9, 0, 3, 0, 0));
}

TEST(UpdateMasks, SplicesBeyondAMargin) {
  OneWeight one({.dense_gradients = true}, {1, 2, 3, 4});
  one.session->set_parameter("a.weight.mask", Tensor::from<float>({4}, {1, 1, 0, 0}));
  // The limit is 3: 2.4 to 3.6 keep their masks.
  EXPECT_THAT(one.masks_after({.sparsity = 0.5, .splice = true, .margin = 0.2}),
              ElementsAre(0, 0, 0, 1));
}

TEST(UpdateMasks, KeepsTwoOfFourAlongTheInputs) {
  OneWeight matrix({}, {1, 8, 2, 7, 3, 6, 4, 5}, {4, 2});
  EXPECT_THAT(matrix.masks_after({.keep = 2, .of = 4}), ElementsAre(0, 1, 0, 1, 1, 0, 1, 0));
  OneWeight window({}, {4, 1, 3, 2, 1, 2, 2, 2}, {2, 2, 1, 2});
  EXPECT_THAT(window.masks_after({.keep = 1, .of = 2}), ElementsAre(1, 0, 0, 1, 0, 0, 1, 1));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { matrix.masks_after({.keep = 1, .of = 3}); }),
              HasSubstr("3 does not divide"));
}

TEST(UpdateMasks, RanksLayersTogetherOrAlone) {
  for (const bool global : {true, false}) {
    Program program;
    program.parameter("a.weight", f32, {2}, {.initializer = nn::values({1, 2})});
    program.parameter("b.weight", f32, {2}, {.initializer = nn::values({3, 4})});
    program.parameter("b.bias", f32, {2});
    EXPECT_THAT(add_masks(program), ElementsAre("a.weight", "b.weight"));
    Session session(program, {.threads = 1});
    update_masks(session, {.sparsity = 0.5, .global = global});
    EXPECT_EQ(numbers_of_parameter(session, "a.weight.mask"), (Numbers{0, global ? 0.0f : 1.0f}));
    EXPECT_EQ(numbers_of_parameter(session, "b.weight.mask"), (Numbers{global ? 1.0f : 0.0f, 1}));
  }
}

TEST(ScheduledSparsity, IsCubic) {
  const PruningOptions options{.sparsity = 0.8, .initial_sparsity = 0.2, .begin = 100, .end = 300};
  EXPECT_EQ(scheduled_sparsity(options, 99), 0);
  EXPECT_DOUBLE_EQ(scheduled_sparsity(options, 100), 0.2);
  EXPECT_DOUBLE_EQ(scheduled_sparsity(options, 200), 0.8 - 0.6 / 8);
  EXPECT_EQ(scheduled_sparsity(options, 300), 0.8);
  EXPECT_EQ(scheduled_sparsity(options, 9999), 0.8);
}

TEST(Masks, RefuseWrongUse) {
  const auto refusal = [](const auto& f) { return error_of(ErrorKind::usage, f); };
  Program program;
  const Value w = program.parameter("a.weight", f32, {2});
  const Value loss = sum(w * w);
  Session session(program, {.threads = 1});
  EXPECT_THAT(refusal([&] { update_masks(session, {}); }), HasSubstr("has no masks"));
  EXPECT_THAT(refusal([&] { apply_masks(session); }), HasSubstr("call add_masks()"));
  EXPECT_THAT(refusal([&] { add_masks(program, {.score_rate = 0}); }), HasSubstr("above 0"));
  EXPECT_THAT(error_of(ErrorKind::not_found, [&] { add_masks(program, {.parameters = {"b.*"}}); }),
              HasSubstr("matches \"b.*\""));
  EXPECT_THAT(refusal([&] { Pruning({.sparsity = 1}); }), HasSubstr("in [0, 1)"));
  EXPECT_THAT(refusal([&] { Pruning({.begin = 9, .end = 8}); }), HasSubstr("not before begin"));
  EXPECT_THAT(refusal([&] { Pruning({.keep = 4, .of = 4}); }), HasSubstr("2 of 4"));
  EXPECT_THAT(refusal([&] { Rewinding().rewind(session); }), HasSubstr("has reached step 0"));
  minimize(loss, Sgd{.learning_rate = 0.1});
  EXPECT_THAT(refusal([&] { add_masks(program); }), HasSubstr("before minimize()"));
}

// y = x w with 4 weights of 40 that matter: pruning finds them.
TEST(Pruning, FindsTheWeightsThatMatter) {
  const std::int64_t rows = 512, in = 40;
  Tensor x(f32, {rows, in}), y(f32, {rows, 1});
  unsigned seed = 1;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < in; ++j) {
      seed = seed * 1664525u + 1013904223u;
      x.data<float>()[i * in + j] = static_cast<float>(seed >> 8) * 0x1p-23f - 1;
    }
    const float* row = x.data<float>() + i * in;
    y.data<float>()[i] = row[3] - 2 * row[17] + 1.5f * row[30] + row[39];
  }
  const data::Batches batches = data::from_tensors({{"x", x}, {"y", y}}).shuffle(1).batch(32);
  for (const int kind : {0, 1, 2}) {  // magnitude, movement, surgery
    Program program;
    const Value input = program.input("x", f32, {batch, in});
    const Value target = program.input("y", f32, {batch, 1});
    const Value out = nn::linear(input, {.units = 1, .bias = false, .name = "fc"});
    const Value loss = mean(nn::mse(out, target));
    add_masks(program, {.dense_gradients = kind == 2, .movement = kind == 1});
    Trainer trainer(
        program,
        {.loss = loss, .optimizer = Adam{.learning_rate = 0.02}, .session = {.threads = 1}});
    const auto pruning = std::make_shared<Pruning>(
        PruningOptions{.sparsity = 0.9, .begin = 16, .end = 128, .every = 16, .splice = kind == 2});
    const auto rewinding = std::make_shared<Rewinding>(4);
    const auto fit = [&](int epochs) {
      return trainer.fit(
          batches,
          {.epochs = epochs, .progress = false, .callbacks = {pruning, rewinding}})["loss"];
    };
    EXPECT_LT(fit(20), 1e-3) << kind;
    EXPECT_NEAR(mask_sparsity(trainer.session()), 0.9, 1e-9);
    Numbers mask = numbers_of_parameter(trainer.session(), "fc.weight.mask");
    for (const int place : {3, 17, 30, 39}) EXPECT_EQ(mask[static_cast<std::size_t>(place)], 1);
    // The ticket: the weights of step 4 with the masks of now.
    rewinding->rewind(trainer.session());
    EXPECT_GT(trainer.evaluate(batches)["loss"], 0.1);
    EXPECT_EQ(numbers_of_parameter(trainer.session(), "fc.weight.mask"), mask);
    EXPECT_LT(fit(20), 1e-3) << kind;
    const double before = trainer.evaluate(batches)["loss"];
    PackedModel small = pack_weights(program, trainer.session(), {out});
    EXPECT_FALSE(small.program.find("fc.weight.mask"));
    EXPECT_EQ(small.bytes, small.weights.empty() ? in * 4 : small.bytes);
    apply_masks(trainer.session());
    EXPECT_EQ(trainer.evaluate(batches)["loss"], before);
  }
}

}  // namespace
}  // namespace trireme
