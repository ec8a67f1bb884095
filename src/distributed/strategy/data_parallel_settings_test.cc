// Options of a Trainer beside the rule of the optimizer, with all-reduce: the result equals one
// process with all batches joined.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "base/testing/error.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/strategy/data_parallel.h"
#include "trireme/trireme.h"

namespace trireme::distributed {
namespace {

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr std::int64_t kWidth = 6, kStep = 20, kIds = 97;

data::Batch examples(std::int64_t begin, std::int64_t end) {
  std::vector<float> x, y;
  std::vector<std::int64_t> ids;
  for (std::int64_t i = begin; i < end; ++i) {
    float sum = 0;
    for (std::int64_t j = 0; j < kWidth; ++j) {
      x.push_back(static_cast<float>(std::sin(static_cast<double>(i * 5 + j * 3))));
      sum += x.back();
    }
    y.push_back(2 * sum + 1);
    ids.push_back(i * i % kIds);
  }
  const std::int64_t count = end - begin;
  return {{"x", Tensor::from<float>({count, kWidth}, x)},
          {"y", Tensor::from<float>({count, 1}, y)},
          {"id", Tensor::from<std::int64_t>({count}, ids)}};
}

struct Told {
  Optimizer optimizer = Momentum{.learning_rate = 0.05};
  UpdateOptions updates = {};
  std::map<std::string, ParameterSettings> parameters = {};
  Precision precision = Precision::f32;
  bool sparse =
      false;  // with rows that have a gradient of their own; a step looks up a few of them
};

using Values = std::map<std::string, std::vector<float>>;

struct Model {
  Program program{"settings"};
  Value x = program.input("x", f32, {batch, kWidth});
  Value y = program.input("y", f32, {batch, 1});
  Value loss;
  std::optional<Trainer> trainer;

  explicit Model(const Told& told) {
    Value all = x;
    if (told.sparse) {
      const Value id = program.input("id", i64, {batch});
      const Value row =
          nn::embedding(id, {.num_embeddings = kIds, .dim = 3, .sparse_gradient = true});
      all = concat({x, row}, {.axis = 1});
    }
    const Value h = nn::linear(all, {.units = 40, .activation = nn::tanh});
    loss = mean(nn::mse(nn::linear(h, {.units = 1}), y));
    for (const auto& [name, settings] : told.parameters) {
      EXPECT_EQ(program.configure(name, settings), 1) << name;
    }
  }
  TrainerOptions options(const Told& told) const {
    return {.loss = loss,
            .optimizer = told.optimizer,
            .updates = told.updates,
            .session = {.threads = 1, .precision = told.precision}};
  }
  // The trained parameters and their averages.
  Values parameters() {
    Values all;
    for (const Value& parameter : program.parameters()) {
      if (parameter.dtype() != f32) continue;
      const std::string name = parameter.name().substr(1);
      all[name] = trainer->session().parameter(name).to_vector<float>();
    }
    return all;
  }
};

// Returns the parameters of each member after `steps` steps.
std::vector<Values> together(int members, const Told& told, int steps) {
  const std::unique_ptr<Store> store = make_memory_store();
  std::vector<Values> last(static_cast<std::size_t>(members));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < members; ++rank) {
    threads.emplace_back([&, rank] {
      Model model(told);
      DataParallelOptions how;
      how.group = {.prefix = "job/ring/",
                   .name = "member_" + std::to_string(rank),
                   .min_members = static_cast<std::size_t>(members)};
      DataParallel parallel(*store, how, model.program, model.x);
      TrainerOptions options = model.options(told);
      parallel.extend(options);
      model.trainer.emplace(model.program, options);
      parallel.join(*model.trainer);
      const auto cut = [&](int i) { return kStep * i / members; };
      for (int step = 0; step < steps; ++step) {
        parallel.step(examples(step * kStep + cut(rank), step * kStep + cut(rank + 1)));
      }
      last[static_cast<std::size_t>(rank)] = model.parameters();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return last;
}

void expect_the_same(const Told& told, float within = 2e-5f, int steps = 7) {
  Model alone(told);
  TrainerOptions options = alone.options(told);
  // Members weigh accumulated steps equally; one process alone weighs them by their examples.
  if (options.updates.accumulate > 1) {
    options.updates.accumulate_weight = constant(alone.program, {.value = 1});
  }
  alone.trainer.emplace(alone.program, std::move(options));
  const Values first = alone.parameters();
  for (int step = 0; step < steps; ++step) {
    alone.trainer->step(examples(step * kStep, (step + 1) * kStep));
  }
  const Values expected = alone.parameters();
  EXPECT_NE(expected, first);
  for (const int members : {1, 3}) {
    const std::vector<Values> last = together(members, told, steps);
    for (const Values& other : last) EXPECT_EQ(other, last[0]);
    for (const auto& [name, values] : expected) {
      EXPECT_THAT(last[0].at(name), Pointwise(FloatNear(within), values))
          << name << " by " << members << ", optimizer " << told.optimizer.index();
    }
  }
}

// Seven steps with an update every three: the sums of the last step remain.
TEST(DataParallelSettings, AccumulatedGradients) {
  expect_the_same({.updates = {.accumulate = 3}});
  expect_the_same({.optimizer = Adam{.learning_rate = Schedule::cosine(0.01, 2), .epsilon = 1e-3},
                   .updates = {.accumulate = 3, .average = Average::exponential(0.5)}});
}

TEST(DataParallelSettings, Averages) {
  expect_the_same({.updates = {.average = Average::exponential(0.8)}});
  expect_the_same({.updates = {.average = Average::window(3)}});
}

TEST(DataParallelSettings, LimitsArePutToTheSum) {
  for (const Clip& clip : {Clip{.value = 0.02}, Clip{.norm = 0.03}, Clip{.global_norm = 0.05}}) {
    expect_the_same({.optimizer = Sgd{.learning_rate = 1, .clip = clip}});
  }
}

TEST(DataParallelSettings, PenaltiesAndSettingsOfSingleParameters) {
  for (const Optimizer& optimizer :
       {Optimizer(Sgd{.learning_rate = 0.05, .weight_decay = 0.3}),
        Optimizer(AdamW{.learning_rate = 0.01, .epsilon = 1e-3, .weight_decay = 0.3}),
        Optimizer(Lamb{.learning_rate = 0.01, .epsilon = 1e-3})}) {
    expect_the_same(
        {.optimizer = optimizer,
         .updates = {.l1 = 0.02, .l2 = 0.1},
         .parameters = {{"linear_0.weight", {.learning_rate = 3, .weight_decay = 0.5, .l1 = 0.01}},
                        {"linear_0.bias", {.weight_decay = 0}},
                        {"linear_1.bias", {.frozen = true}}}});
  }
}

TEST(DataParallelSettings, ValuesInSixteenBits) {
  expect_the_same({.precision = Precision::bf16}, 5e-3f);
}

// Rows without a lookup stay unchanged, and so do their running means.
TEST(DataParallelSettings, RowsOfTheirOwnGradient) {
  for (const Optimizer& optimizer :
       {Optimizer(Momentum{.learning_rate = 0.05}), Optimizer(Sgd{.learning_rate = 0.05}),
        Optimizer(Adam{.learning_rate = 0.01, .epsilon = 1e-3})}) {
    expect_the_same({.optimizer = optimizer, .sparse = true});
  }
}

TEST(DataParallelSettings, WhatNobodyMeasuresIsRefused) {
  const std::unique_ptr<Store> store = make_memory_store();
  const Told told{.optimizer = Sgd{.learning_rate = Schedule().on_plateau({})}};
  Model model(told);
  DataParallel parallel(*store, {}, model.program, model.x);
  TrainerOptions options = model.options(told);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { parallel.extend(options); }),
              HasSubstr("TrainerOptions: schedule goes by what is measured"));
}

}  // namespace
}  // namespace trireme::distributed
