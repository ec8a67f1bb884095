// Functions of the host in a run, and gradients that they exchange.

#include <gmock/gmock.h>

#include "base/testing/error.h"
#include "trireme/trireme.h"

namespace trireme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor tensor(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::from<float>({count}, values);
}

TEST(HostCall, ComputesWhatItsFunctionDoes) {
  Program program("host");
  const Value x = program.input("x", f32, {batch}), n = program.input("n", i64, {});
  const Value y =
      host_call({x * 2.0, n}, {.name = "add", .key = "one", .dtype = f32, .shape = {batch}});
  std::vector<std::string> keys;
  const HostFunction add = [&](const std::string& key, std::span<const HostTensor> operands,
                               HostTensor& result) {
    keys.push_back(key);
    const std::span<const float> from = operands[0].elements<float>();
    for (std::size_t i = 0; i < from.size(); ++i) {
      result.elements<float>()[i] =
          from[i] + static_cast<float>(operands[1].elements<std::int64_t>()[0]);
    }
  };
  Session session(program, {.host = {{"add", add}}});
  const auto run = [&](std::vector<float> values) {
    const Feeds feeds{{"x", tensor(std::move(values))},
                      {"n", Tensor::from<std::int64_t>({}, {10})}};
    return session.run(feeds, {y + 1.0})[0].to_vector<float>();
  };
  EXPECT_THAT(run({1, 2, 3}), ElementsAre(13, 15, 17));
  EXPECT_THAT(run({}), ElementsAre());
  EXPECT_THAT(run({5}), ElementsAre(21));
  EXPECT_THAT(keys, ElementsAre("one", "one", "one"));
  session.run({{"x", tensor({1})}, {"n", Tensor::from<std::int64_t>({}, {1})}}, {x});
  EXPECT_EQ(keys.size(), 3u) << "not needed for what was fetched";
  // As text and back.
  EXPECT_EQ(Program::parse(program.str()).str(), program.str());
}

TEST(HostCall, MistakesSayWhere) {
  Program program("host");
  const Value x = program.input("x", f32, {batch});
  const auto scope = program.scope("far");
  const Value y = host_call({x}, {.name = "fetch", .dtype = f32, .shape = {batch}});
  const Feeds feeds{{"x", tensor({1})}};
  Session without(program);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { without.run(feeds, {y}); }),
              testing::AllOf(HasSubstr("there is no function \"fetch\""), HasSubstr("far")));
  const HostFunction fails = [](const std::string&, std::span<const HostTensor>, HostTensor&) {
    throw Error(ErrorKind::io, "the other side is gone");
  };
  Session failing(program, {.host = {{"fetch", fails}}});
  EXPECT_THAT(error_of(ErrorKind::io, [&] { failing.run(feeds, {y}); }),
              testing::AllOf(HasSubstr("the other side is gone"), HasSubstr("far"),
                             HasSubstr("host_call_test.cc")));
}

// An exchange that halves gradients in two calls, the first ones early.
struct Halves {
  std::vector<std::string> calls;

  void exchange(std::vector<ParameterGradient>& all) {
    for (ParameterGradient& one : all) {
      Value& g = one.gradient.values;
      const std::string key = one.parameter.name();
      const Value token =
          host_call({g}, {.name = "begin", .key = key, .dtype = i64, .early = true});
      g = host_call({g, token},
                    {.name = "end", .key = key, .dtype = g.dtype(), .shape = g.shape()});
    }
  }
  HostFunctions functions() {
    const HostFunction begin = [this](const std::string& key, std::span<const HostTensor>,
                                      HostTensor& result) {
      calls.push_back("begin " + key);
      result.elements<std::int64_t>()[0] = 1;
    };
    const HostFunction end = [this](const std::string& key, std::span<const HostTensor> operands,
                                    HostTensor& result) {
      calls.push_back("end " + key);
      for (std::size_t i = 0; i < result.elements<float>().size(); ++i) {
        result.elements<float>()[i] = operands[0].elements<float>()[i] / 2;
      }
    };
    return {{"begin", begin}, {"end", end}};
  }
};

std::vector<Tensor> trained(double rate, Halves* halves) {
  Program program("line");
  const Value x = program.input("x", f32, {batch, 3}), target = program.input("y", f32, {batch, 1});
  const Value hidden = nn::linear(x, {.units = 4, .activation = nn::tanh});
  const Value y = nn::linear(hidden, {.units = 1});
  TrainerOptions options{.loss = mean(nn::mse(y, target)), .optimizer = Sgd{.learning_rate = rate}};
  if (halves != nullptr) {
    options.exchange = [halves](std::vector<ParameterGradient>& all) { halves->exchange(all); };
    options.session.host = halves->functions();
  }
  Trainer trainer(program, options);
  const auto data = data::from_tensors({{"x", Tensor::from<float>({2, 3}, {1, 2, 3, -1, 0, 1})},
                                        {"y", Tensor::from<float>({2, 1}, {1, 0})}});
  trainer.fit(data.batch(2), {.epochs = 3, .progress = false});
  std::vector<Tensor> parameters;
  for (const Value& parameter : program.parameters()) {
    parameters.push_back(trainer.session().parameter(parameter.name().substr(1)));
  }
  return parameters;
}

TEST(ExchangeGradients, StandsBeforeTheOptimizer) {
  Halves halves;
  const std::vector<Tensor> exchanged = trained(0.5, &halves), plain = trained(0.25, nullptr);
  ASSERT_EQ(exchanged.size(), 4u);
  for (std::size_t i = 0; i < exchanged.size(); ++i) {
    EXPECT_EQ(exchanged[i].to_vector<float>(), plain[i].to_vector<float>());
  }
  // The gradients of the last layer are begun while those of the first are not there yet.
  ASSERT_EQ(halves.calls.size(), 3 * 8u);
  EXPECT_THAT(halves.calls[0], HasSubstr("begin %linear_1"));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_THAT(halves.calls[i], HasSubstr("begin"));
}

// This also holds if they read a value that the exchange makes for all, such as the number of
// examples.
TEST(ExchangeGradients, BeginsWhileOthersAreComputed) {
  Program program("line");
  const Value x = program.input("x", f32, {batch, 3});
  const Value y = nn::linear(nn::linear(x, {.units = 4, .activation = nn::tanh}), {.units = 1});
  const auto exchange = [&](std::vector<ParameterGradient>& all) {
    const Value count = dim_size(x, {.axes = {0}});
    for (ParameterGradient& one : all) {
      Value& g = one.gradient.values;
      const Value token =
          host_call({cast(g, {.dtype = f32}), count},
                    {.name = "begin", .key = one.parameter.name(), .dtype = i64, .early = true});
      g = host_call({g, token}, {.name = "end", .dtype = f32, .shape = g.shape()});
    }
  };
  const Trainer trainer(program, {.loss = mean(y), .optimizer = Sgd{}, .exchange = exchange});
  const std::string text = program.str();
  const std::size_t begun = text.find("host_call"), product = text.rfind("matmul(");
  ASSERT_NE(begun, std::string::npos);
  ASSERT_NE(product, std::string::npos);
  EXPECT_GT(product, begun) << "the first layer's gradient comes later\n" << text;
}

TEST(ExchangeGradients, MayTakeParametersOut) {
  Program program("line");
  const Value x = program.input("x", f32, {batch, 3});
  const Value y = nn::linear(x, {.units = 1});
  Trainer trainer(
      program,
      {.loss = mean(y), .optimizer = Sgd{}, .exchange = [](std::vector<ParameterGradient>& all) {
         std::erase_if(all, [](const ParameterGradient& one) {
           return one.parameter.name().ends_with("weight");
         });
       }});
  const std::vector<float> before =
      trainer.session().parameter("linear_0.weight").to_vector<float>();
  trainer.fit(data::from_tensors({{"x", Tensor::from<float>({1, 3}, {1, 2, 3})}}).batch(1),
              {.progress = false});
  EXPECT_EQ(trainer.session().parameter("linear_0.weight").to_vector<float>(), before);
  EXPECT_NE(trainer.session().parameter("linear_0.bias").to_vector<float>()[0], 0);
}

}  // namespace
}  // namespace trireme
