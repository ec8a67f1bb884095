#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "nn/testing/running.h"

namespace trireme::nn {
namespace {

using ops::RefTensor;
using ops::RefTensors;
using ::testing::HasSubstr;

TEST(Activations, AgreeWithTheirFormulas) {
  const std::vector<double> points{-30, -4, -3, -1.5, -0.5, 0, 0.25, 1, 2.5, 3.5, 7, 30};
  const auto softplus_of = [](double x) { return x > 20 ? x : std::log1p(std::exp(x)); };
  const std::vector<std::pair<std::string, std::function<double(double)>>> formulas = {
      {"identity", [](double x) { return x; }},
      {"relu", [](double x) { return x > 0 ? x : 0; }},
      {"relu6", [](double x) { return std::fmin(std::fmax(x, 0), 6); }},
      {"leaky_relu", [](double x) { return x > 0 ? x : 0.01 * x; }},
      {"elu", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"gelu", [](double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }},
      {"gelu_tanh",
       [](double x) {
         return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3))));
       }},
      {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"mish", [&](double x) { return x * std::tanh(softplus_of(x)); }},
      {"softplus", softplus_of},
      {"hard_sigmoid", [](double x) { return x <= -3  ? 0
                                             : x >= 3 ? 1
                                                      : x / 6 + 0.5; }},
      {"hard_swish", [](double x) { return x <= -3  ? 0
                                           : x >= 3 ? x
                                                    : x * (x + 3) / 6; }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"hard_tanh", [](double x) { return std::fmin(std::fmax(x, -1), 1); }},
      {"selu",
       [](double x) {
         const double alpha = 1.6732632423543772, scale = 1.0507009873554805;
         return scale * (x > 0 ? x : alpha * std::expm1(x));
       }},
      {"celu", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"log_sigmoid", [&](double x) { return -softplus_of(-x); }},
      {"softsign", [](double x) { return x / (1 + std::fabs(x)); }},
      {"tanh_shrink", [](double x) { return x - std::tanh(x); }},
      {"soft_shrink", [](double x) { return std::copysign(std::fmax(std::fabs(x) - 0.5, 0), x); }},
      {"hard_shrink", [](double x) { return std::fabs(x) > 0.5 ? x : 0; }},
  };
  EXPECT_EQ(formulas.size(), activation_names().size());
  for (const auto& [name, formula] : formulas) {
    Program program;
    const Value x = program.input("x", f64, {batch});
    const Activation activation = find_activation(name);
    ASSERT_TRUE(activation) << name;
    const Value y = activation(x, SourceLocation::current());
    RefTensors none;
    const RefTensor values = run(program, y, {{"x", tensor({12}, points)}}, none);
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_NEAR(values.data[i], formula(points[i]), 1e-12) << name << " of " << points[i];
    }
  }
  EXPECT_FALSE(find_activation("swoosh"));
}

TEST(Activations, FollowTheirOptions) {
  const std::vector<double> points = {-4, -1, -0.5, -0.0, 0.25, 0.5, 1, 2, 4};
  const auto count = static_cast<std::int64_t>(points.size());
  const std::vector<std::tuple<const char*, Activation, std::function<double(double)>>> cases = {
      {"celu", Celu{.alpha = 2},
       [](double x) { return std::fmax(x, 0) + std::fmin(2 * std::expm1(x / 2), 0); }},
      {"hard_tanh", HardTanh{.low = -2, .high = 0.5},
       [](double x) { return std::fmin(std::fmax(x, -2), 0.5); }},
      {"soft_shrink", SoftShrink{.lambda = 1},
       [](double x) { return x > 1    ? x - 1
                             : x < -1 ? x + 1
                                      : 0; }},
      {"hard_shrink", HardShrink{.lambda = 1}, [](double x) { return x > 1 || x < -1 ? x : 0; }},
      {"threshold", Threshold{.limit = 0.5, .value = -7},
       [](double x) { return x > 0.5 ? x : -7; }},
      {"swish", Swish{.beta = 3}, [](double x) { return x / (1 + std::exp(-3 * x)); }},
  };
  for (const auto& [name, activation, formula] : cases) {
    Program program;
    const Value x = program.input("x", f64, {batch});
    RefTensors none;
    const RefTensor values = run(program, activation(x, SourceLocation::current()),
                                 {{"x", tensor({count}, points)}}, none);
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_NEAR(values.data[i], formula(points[i]), 1e-12) << name << " of " << points[i];
    }
  }
}

TEST(Activations, RefuseWrongOptions) {
  Program program;
  const Value x = program.input("x", f64, {batch, 3});
  EXPECT_THROW(Celu{.alpha = 0}(x), Error);
  EXPECT_THROW(Celu{.alpha = std::nan("")}(x), Error);
  EXPECT_THROW((HardTanh{.low = 1, .high = 1}(x)), Error);
  EXPECT_THROW(SoftShrink{.lambda = -1}(x), Error);
  EXPECT_THROW(HardShrink{.lambda = std::nan("")}(x), Error);
  EXPECT_THROW(glu(x), Error);             // an odd size
  EXPECT_THROW(Glu{.axis = 0}(x), Error);  // a symbolic size
  EXPECT_THROW(Glu{.axis = 2}(x), Error);
}

TEST(Glu, GatesTheFirstHalfByTheSecond) {
  Program program;
  const Value x = program.input("x", f64, {batch, 4});
  const Value y = glu(x);
  EXPECT_EQ(y.shape(), (Shape{batch, 2}));
  RefTensors none;
  const RefTensor values = run(program, y, {{"x", tensor({1, 4}, {3, -2, 0, 1})}}, none);
  EXPECT_NEAR(values.data[0], 1.5, 1e-12);
  EXPECT_NEAR(values.data[1], -2 / (1 + std::exp(-1)), 1e-12);
}

TEST(Linear, MultipliesAddsAndNamesItsParameters) {
  Program program;
  const Value x = program.input("x", f32, {batch, 3});
  const Value y = linear(x, {.units = 2, .activation = relu});
  linear(y, {.units = 4, .bias = false});
  EXPECT_TRUE(program.find("linear_0.weight"));
  EXPECT_TRUE(program.find("linear_0.bias"));
  EXPECT_TRUE(program.find("linear_1.weight"));
  EXPECT_FALSE(program.find("linear_1.bias"));
  RefTensors parameters{{"linear_0.weight", tensor({3, 2}, {1, 2, 3, 4, 5, 6})},
                        {"linear_0.bias", tensor({2}, {10, -60})}};
  const RefTensor values = run(program, y, {{"x", tensor({1, 3}, {1, 2, 3})}}, parameters);
  EXPECT_EQ(values.data, (std::vector<double>{1 + 6 + 15 + 10, 0}));
}

TEST(Linear, ErrorsNameLayerAndLine) {
  Program program;
  const Value x = program.input("x", f32, {batch});
  EXPECT_THAT(refusal_here([&] { linear(x, {.units = 2}); }), HasSubstr("linear_0"));
  EXPECT_FALSE(program.ir().builder().has_location());
  EXPECT_EQ(program.ir().builder().layer(), "");
}

TEST(Conv2d, SamePaddingDividesTheSizeByTheStride) {
  Program program;
  const Value x = program.input("x", f32, {batch, 3, 7, 10});
  EXPECT_EQ(conv2d(x, {.channels = 4, .kernel = 3, .padding = "same"}).shape(),
            (Shape{batch, 4, 7, 10}));
  EXPECT_EQ(conv2d(x, {.channels = 4, .kernel = {2, 5}, .stride = 2, .padding = "same"}).shape(),
            (Shape{batch, 4, 4, 5}));
  EXPECT_EQ(conv2d(x, {.channels = 4, .kernel = 3, .padding = 0}).shape(), (Shape{batch, 4, 5, 8}));
  EXPECT_EQ(max_pool(x, {.kernel = 2}).shape(), (Shape{batch, 3, 3, 5}));
  EXPECT_EQ(flatten(x).shape(), (Shape{batch, 210}));
  EXPECT_EQ(global_avg_pool(x).shape(), (Shape{batch, 3}));
  EXPECT_THROW(Padding("some"), Error);
  EXPECT_THROW(conv2d(x, {.channels = 4, .kernel = 9}), Error);
  EXPECT_THROW(conv2d(x, {.channels = 4, .groups = 2}), Error);
}

TEST(Conv2d, AddsItsBiasToChannels) {
  Program program;
  const Value x = program.input("x", f32, {batch, 1, 2, 2});
  const Value y = conv2d(x, {.channels = 2, .kernel = 1});
  RefTensors parameters{{"conv2d_0.weight", tensor({2, 1, 1, 1}, {1, 10})},
                        {"conv2d_0.bias", tensor({2}, {100, 200})}};
  const RefTensor values = run(program, y, {{"x", tensor({1, 1, 2, 2}, {1, 2, 3, 4})}}, parameters);
  EXPECT_EQ(values.data, (std::vector<double>{101, 102, 103, 104, 210, 220, 230, 240}));
}

TEST(BatchNorm, NormalizesTheBatchAndUpdatesRunningStatistics) {
  Program program;
  const Value x = program.input("x", f64, {batch, 2});
  const Value y = batch_norm(x, {.momentum = 0.25});
  RefTensors parameters = first_values(program);
  const RefTensors inputs{{"x", tensor({3, 2}, {1, 10, 2, 20, 6, 60})}};
  const RefTensor values = run(program, y, inputs, parameters, /*training=*/true);
  // Channel 0: mean 3, variance 14 / 3, unbiased 7. Channel 1 is ten times that.
  EXPECT_NEAR(values.data[0], -2 / std::sqrt(14.0 / 3 + 1e-5), 1e-12);
  EXPECT_NEAR(values.data[5], 30 / std::sqrt(1400.0 / 3 + 1e-5), 1e-12);
  EXPECT_NEAR(parameters["batch_norm_0.running_mean"].data[1], 0.25 * 30, 1e-12);
  EXPECT_NEAR(parameters["batch_norm_0.running_var"].data[0], 0.75 + 0.25 * 7, 1e-12);

  const RefTensors before = parameters;
  const RefTensor inference = run(program, y, inputs, parameters);
  EXPECT_NEAR(inference.data[0], (1 - 0.75) / std::sqrt(2.5 + 1e-5), 1e-12);
  EXPECT_EQ(parameters["batch_norm_0.running_mean"].data,
            before.at("batch_norm_0.running_mean").data);
}

TEST(LayerNorm, NormalizesEachRow) {
  Program program;
  const Value x = program.input("x", f64, {batch, 5, 4});
  const Value y = layer_norm(x, {.axes = 2});
  RefTensors parameters = first_values(program);
  const RefTensor values = run(program, y, {{"x", noise({3, 5, 4})}}, parameters);
  for (std::size_t row = 0; row < 3; ++row) {
    double total = 0, squares = 0;
    for (std::size_t i = 0; i < 20; ++i) {
      total += values.data[row * 20 + i];
      squares += std::pow(values.data[row * 20 + i], 2);
    }
    EXPECT_NEAR(total, 0, 1e-12);
    EXPECT_NEAR(squares / 20, 1, 1e-4);
  }
}

TEST(Dropout, KeepsTheMeanAndDoesNothingInInference) {
  Program program;
  const Value x = program.input("x", f64, {batch});
  const Value y = dropout(x, {.rate = 0.3});
  const Value z = dropout(x, {.rate = 0.3});
  RefTensors none;
  const RefTensors inputs{{"x", tensor({20000}, std::vector<double>(20000, 1))}};
  const RefTensor dropped = run(program, y, inputs, none, true);
  double total = 0;
  for (const double value : dropped.data) {
    EXPECT_TRUE(value == 0 || std::abs(value - 1 / 0.7) < 1e-9);
    total += value;
  }
  EXPECT_NEAR(total / 20000, 1, 0.02);
  EXPECT_NE(dropped.data, run(program, z, inputs, none, true).data);
  EXPECT_EQ(run(program, y, inputs, none).data, inputs.at("x").data);
}

TEST(Dropout, DropsWholeChannelsAndExamples) {
  Program program;
  const Value x = program.input("x", f64, {batch, 2, 3});
  const Value channels = channel_dropout(x, {.rate = 0.25}), paths = drop_path(x, {.rate = 0.25});
  RefTensors none;
  const RefTensors inputs{{"x", tensor({2000, 2, 3}, std::vector<double>(12000, 1))}};
  const auto expect_runs = [&](const Value& y, std::size_t length) {
    const std::vector<double> data = run(program, y, inputs, none, true).data;
    double total = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
      EXPECT_EQ(data[i], data[i - i % length]);
      EXPECT_TRUE(data[i] == 0 || std::abs(data[i] - 1 / 0.75) < 1e-9);
      total += data[i];
    }
    EXPECT_NEAR(total / 12000, 1, 0.06);
    EXPECT_EQ(run(program, y, inputs, none).data, inputs.at("x").data);
    return data;
  };
  const std::vector<double> data = expect_runs(channels, 3);
  bool differ = false;  // channels of one example
  for (std::size_t i = 0; i < data.size(); i += 6) differ = differ || data[i] != data[i + 3];
  EXPECT_TRUE(differ);
  expect_runs(paths, 6);
  EXPECT_THROW(channel_dropout(program.input("line", f64, {batch})), Error);
  EXPECT_THROW(drop_path(x, {.rate = 1}), Error);
}

TEST(Dropout, AlphaDropoutKeepsMeanAndVariance) {
  constexpr std::int64_t kCount = 20000;
  std::vector<double> numbers(kCount, 1);  // mean 0, variance 1
  for (std::size_t i = 0; i < kCount; i += 2) numbers[i] = -1;
  Program program;
  const Value x = program.input("x", f64, {batch});
  const Value y = alpha_dropout(x, {.rate = 0.3});
  RefTensors none;
  const RefTensors inputs{{"x", tensor({kCount}, numbers)}};
  const std::vector<double> data = run(program, y, inputs, none, true).data;
  double sum = 0, squares = 0;
  for (const double value : data) {
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean, 0, 0.04);
  EXPECT_NEAR(squares / kCount - mean * mean, 1, 0.04);
  EXPECT_EQ(run(program, y, inputs, none).data, numbers);
  EXPECT_THROW(alpha_dropout(x, {.rate = -0.1}), Error);
}

TEST(Softmax, SumsToOneAlongItsAxisAndDoesNotOverflow) {
  Program program;
  const Value x = program.input("x", f64, {batch, 3});
  const Value rows = softmax(x), columns = softmax(x, 0), logs = log_softmax(x);
  RefTensors none;
  const RefTensors inputs{{"x", tensor({2, 3}, {1000, 1001, 999, -5, 0, 5})}};
  const RefTensor y = run(program, rows, inputs, none);
  EXPECT_NEAR(y.data[0] + y.data[1] + y.data[2], 1, 1e-12);
  EXPECT_NEAR(y.data[1] / y.data[0], std::exp(1), 1e-9);
  EXPECT_NEAR(run(program, logs, inputs, none).data[3], std::log(y.data[3]), 1e-12);
  EXPECT_NEAR(run(program, columns, inputs, none).data[0], 1, 1e-12);
}

TEST(Losses, AgreeWithTheirFormulas) {
  Program program;
  const Value x = program.input("x", f64, {batch, 3});
  const Value t = program.input("t", f64, {batch, 3});
  const Value label = program.input("label", i64, {batch});
  RefTensors none;
  const std::vector<double> xs{1, -2, 0.5, 3, 0, -1}, ts{0.5, 1, 0, 1, 0.25, 1};
  const RefTensors inputs{
      {"x", tensor({2, 3}, xs)}, {"t", tensor({2, 3}, ts)}, {"label", tensor({2}, {2, 0})}};
  const auto value = [&](const Value& v) { return run(program, v, inputs, none).data; };
  const auto bce = value(binary_cross_entropy_with_logits(x, t));
  const auto squares = value(mse(x, t)), distances = value(l1(x, t));
  const auto hubers = value(huber(x, t, {.delta = 0.75}));
  for (std::size_t i = 0; i < 6; ++i) {
    const double p = 1 / (1 + std::exp(-xs[i])), d = xs[i] - ts[i];
    EXPECT_NEAR(bce[i], -ts[i] * std::log(p) - (1 - ts[i]) * std::log(1 - p), 1e-12);
    EXPECT_NEAR(squares[i], d * d, 1e-12);
    EXPECT_NEAR(distances[i], std::abs(d), 1e-12);
    EXPECT_NEAR(hubers[i], std::abs(d) <= 0.75 ? d * d / 2 : 0.75 * (std::abs(d) - 0.375), 1e-12);
  }
  const auto plain = value(cross_entropy(x, label));
  const auto smooth = value(cross_entropy(x, label, {.label_smoothing = 0.1}));
  for (std::size_t row = 0; row < 2; ++row) {
    double total = 0, logs = 0;
    for (std::size_t i = 0; i < 3; ++i) total += std::exp(xs[row * 3 + i]);
    for (std::size_t i = 0; i < 3; ++i) logs += xs[row * 3 + i] - std::log(total);
    const double expected = std::log(total) - xs[row * 3 + (row == 0 ? 2 : 0)];
    EXPECT_NEAR(plain[row], expected, 1e-12);
    EXPECT_NEAR(smooth[row], 0.9 * expected - 0.1 * logs / 3, 1e-12);
  }
  EXPECT_THROW(cross_entropy(x, t), Error);
  EXPECT_THROW(mse(x, mean(t, {.axes = {1}})), Error);
}

}  // namespace
}  // namespace trireme::nn
