// Updates of parameters as compiled and as the Trainer drives them.

#include <gmock/gmock.h>

#include <cmath>

#include "ir/program.h"
#include "trireme/nn.h"
#include "trireme/session.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

// Of two parameters whose gradients are fed.
int kernels_of(const Optimizer& optimizer, const UpdateOptions& options = {}) {
  Program program;
  std::vector<Value> parameters, gradients;
  for (const char* name : {"a", "b"}) {
    parameters.push_back(program.parameter(name, f32, {30, 1000}));
    gradients.push_back(program.input(std::string(name) + "_gradient", f32, {30, 1000}));
  }
  nn::apply_updates(optimizer, parameters, gradients, options);
  Session session(program, {.threads = 1});
  return session.memory({}, {.training = true, .updates = true}, {}).kernels;
}

TEST(Updates, AreOneKernelForEachParameter) {
  for (const Optimizer& optimizer : std::initializer_list<Optimizer>{
           Sgd{.weight_decay = 0.1}, Momentum{.nesterov = true}, Adagrad{}, DecayedAdagrad{},
           Adadelta{}, RmsProp{.momentum = 0.9, .centered = true}, Lion{}, Ftrl{.l1 = 1},
           Rprop{}}) {
    EXPECT_EQ(kernels_of(optimizer), 2) << "optimizer " << optimizer.index();
  }
  // And one for the number of the step and what follows from it.
  for (const Optimizer& optimizer :
       std::initializer_list<Optimizer>{Adam{}, AdamW{}, Adamax{}, NAdam{}, RAdam{}}) {
    EXPECT_EQ(kernels_of(optimizer), 3) << "optimizer " << optimizer.index();
  }
  EXPECT_EQ(kernels_of(Adam{.learning_rate = Schedule::cosine(0.1, 100)}), 3);
}

TEST(Updates, AveragesAndAccumulationStayInThatKernel) {
  for (const Average& average :
       {Average::exponential(), Average::exponential(0.9, false), Average::window(10)}) {
    EXPECT_EQ(kernels_of(Sgd{}, {.average = average}), 3);
    EXPECT_EQ(kernels_of(Adam{}, {.average = average}), 3);
    EXPECT_EQ(kernels_of(Adam{}, {.accumulate = 4, .average = average, .l1 = 0.1}), 3);
  }
  EXPECT_EQ(kernels_of(Momentum{}, {.accumulate = 4}), 3);
}

// y = x * 3 - 1 and noise, to be found by a network with a hidden layer.
data::Dataset line() {
  Tensor x(f32, {90, 1}), y(f32, {90, 1});
  for (int i = 0; i < 90; ++i) {
    x.data<float>()[i] = static_cast<float>(i) / 45 - 1;
    y.data<float>()[i] = 3 * x.data<float>()[i] - 1 + static_cast<float>(i * 7 % 5 - 2) * 0.1f;
  }
  return data::from_tensors({{"x", x}, {"y", y}});
}

struct Net {
  Program program{"net"};
  Value y, loss;
  Net() {
    const Value x = program.input("x", f32, {batch, 1});
    y = nn::linear(nn::linear(x, {.units = 300, .activation = nn::tanh, .name = "hidden"}),
                   {.units = 1, .name = "out"});
    loss = mean(nn::mse(y, program.input("y", f32, {batch, 1})));
  }
};

std::vector<float> weights_after(int threads, const UpdateOptions& updates) {
  Net net;
  Trainer trainer(net.program, {.loss = net.loss,
                                .optimizer = Adam{.learning_rate = 0.01, .clip = {.norm = 1}},
                                .updates = updates,
                                .session = {.threads = threads}});
  trainer.fit(line().shuffle(1).batch(8), {.epochs = 3, .progress = false});
  std::vector<float> all = trainer.session().parameter("hidden.weight").to_vector<float>();
  const Tensor average = trainer.session().parameter("hidden.weight.average");
  for (const float x : average.to_vector<float>()) all.push_back(x);
  return all;
}

TEST(Updates, DoNotDependOnTheNumberOfThreads) {
  const UpdateOptions updates{.accumulate = 5, .average = Average::exponential(0.9), .l1 = 1e-3};
  EXPECT_EQ(weights_after(1, updates), weights_after(2, updates));
}

TEST(Averages, StandInForTheParametersAndGoBack) {
  Net net;
  Trainer trainer(net.program, {.loss = net.loss,
                                .optimizer = Sgd{.learning_rate = 0.001},
                                .updates = {.average = Average::window(5)}});
  const data::Dataset data = line();
  Session& session = trainer.session();
  const auto values = [&](const char* name) { return session.parameter(name).to_vector<float>(); };
  const std::vector<float> first = values("out.weight");
  {
    const AveragedParameters none_yet = trainer.averaged();
    EXPECT_EQ(values("out.weight"), first);
  }
  trainer.fit(data.batch(16), {.epochs = 4, .progress = false});
  const std::vector<float> own = values("out.weight"), average = values("out.weight.average");
  const double loss = trainer.evaluate(data.batch(90))["loss"];
  EXPECT_NE(own, average);
  {
    const AveragedParameters averaged = trainer.averaged(), again = trainer.averaged();
    EXPECT_EQ(values("out.weight"), average);
    EXPECT_NE(trainer.evaluate(data.batch(90))["loss"], loss);
    EXPECT_THROW(trainer.fit(data.batch(16), {.progress = false}), Error);
  }
  EXPECT_EQ(values("out.weight"), own);
  EXPECT_EQ(trainer.evaluate(data.batch(90))["loss"], loss);
  trainer.fit(data.batch(16), {.progress = false});

  Net plain;
  Trainer without(plain.program, {.loss = plain.loss});
  EXPECT_THROW(static_cast<void>(without.averaged()), Error);
}

TEST(Plateau, LowersTheRateOfTheNextSteps) {
  Net net;
  const data::Batches data = line().batch(90);
  // So slow that no epoch is better than the first by as much as the threshold.
  const Schedule rate = Schedule(1e-6).on_plateau(
      {.factor = 0.5, .patience = 1, .threshold = 0.5, .min_factor = 0.2});
  Trainer trainer(net.program, {.loss = net.loss, .optimizer = Sgd{.learning_rate = rate}});
  const auto state = [&](const char* what) {
    return trainer.session().parameter(std::string("optimizer.plateau_") + what).item<double>();
  };
  const std::vector<double> factors = {1, 1, 0.5, 0.5, 0.25, 0.25, 0.2};
  for (const double factor : factors) {
    const Metrics measured = trainer.fit(data, {.progress = false, .validation = &data});
    EXPECT_EQ(state("factor"), factor);
    EXPECT_NEAR(state("best"), measured["loss"], 1e-2);
  }
  // The factor is in the step: out.bias moves by rate * factor * gradient.
  const float before = trainer.session().parameter("out.bias").item<float>();
  trainer.session().set_parameter("optimizer.plateau_factor", Tensor::from<double>({}, {1e4}));
  trainer.fit(data, {.progress = false});
  EXPECT_GT(std::abs(trainer.session().parameter("out.bias").item<float>() - before), 1e-4f);
}

TEST(Plateau, NeedsAMetricThatIsMeasured) {
  Net net;
  const Schedule rate = Schedule(0.1).on_plateau({.metric = "accuracy"});
  EXPECT_THROW(Trainer(net.program, {.loss = net.loss, .optimizer = Sgd{.learning_rate = rate}}),
               Error);
}

TEST(Frozen, LayersStayAsTheyAre) {
  Net net;
  EXPECT_EQ(net.program.configure("hidden.*", {.frozen = true}), 2);
  Trainer trainer(net.program, {.loss = net.loss});
  const auto values = [&](const char* name) {
    return trainer.session().parameter(name).to_vector<float>();
  };
  const std::vector<float> hidden = values("hidden.weight"), out = values("out.weight");
  trainer.fit(line().batch(16), {.progress = false});
  EXPECT_EQ(values("hidden.weight"), hidden);
  EXPECT_NE(values("out.weight"), out);
  EXPECT_EQ(net.program.ir().find_parameter("hidden.weight.adam_m"), nullptr);

  Net all;
  all.program.configure("*", {.frozen = true});
  EXPECT_THROW(minimize(all.loss, Sgd{}), Error);
}

}  // namespace
}  // namespace trireme
