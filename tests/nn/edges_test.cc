// Compiled ops at special values: zeros of both signs, infinity, NaN, ties, and no elements.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/testing/error.h"
#include "trireme/attention.h"
#include "trireme/functions.h"
#include "trireme/loss.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/optimizer.h"
#include "trireme/session.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

// All pairs of special values.
template <class T>
void check_atan2(DType dtype) {
  const std::vector<T> special = {T(0),
                                  -T(0),
                                  T(1),
                                  T(-1),
                                  std::numeric_limits<T>::denorm_min(),
                                  -std::numeric_limits<T>::max(),
                                  std::numeric_limits<T>::max(),
                                  kInfinity<T>,
                                  -kInfinity<T>,
                                  kNan<T>};
  std::vector<T> ys, xs;
  for (const T y : special) {
    for (const T x : special) ys.push_back(y), xs.push_back(x);
  }
  const auto count = static_cast<std::int64_t>(ys.size());
  Program program("atan2");
  const Value y = program.input("y", dtype, {batch}), x = program.input("x", dtype, {batch});
  Session session(program);
  const std::vector<Tensor> results = session.run(
      {{"y", Tensor::from<T>({count}, ys)}, {"x", Tensor::from<T>({count}, xs)}}, {atan2(y, x)});
  for (std::size_t i = 0; i < ys.size(); ++i) {
    const T expected = std::atan2(ys[i], xs[i]), got = results[0].data<T>()[i];
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(got)) << ys[i] << ", " << xs[i];
    } else {
      EXPECT_NEAR(got, expected, 4 * std::numeric_limits<T>::epsilon()) << ys[i] << ", " << xs[i];
      EXPECT_EQ(std::signbit(got), std::signbit(expected)) << ys[i] << ", " << xs[i];
    }
  }
}

TEST(Edges, Atan2AsInC) {
  check_atan2<float>(f32);
  check_atan2<double>(f64);
}

TEST(Edges, CummaxTakesTheLastOfEqualElementsAndKeepsNan) {
  Program program("cummax");
  const Value x = program.input("x", f32, {batch, 7});
  const std::vector<Value> results = cummax(x, {.axis = 1});
  Session session(program);
  const std::vector<float> input = {1,
                                    1,
                                    -2,
                                    3,
                                    3,
                                    2,
                                    3,  //
                                    -kInfinity<float>,
                                    0,
                                    -0.0f,
                                    kNan<float>,
                                    5,
                                    kNan<float>,
                                    9,  //
                                    2,
                                    1,
                                    0,
                                    -1,
                                    -2,
                                    -3,
                                    kInfinity<float>};
  const std::vector<Tensor> got =
      session.run({{"x", Tensor::from<float>({3, 7}, input)}}, {results[0], results[1]});
  const std::vector<std::int64_t> indices = {0, 1, 1, 3, 4, 4, 6, 0, 1, 2, 3,
                                             3, 5, 5, 0, 0, 0, 0, 0, 0, 6};
  EXPECT_EQ(got[1].to_vector<std::int64_t>(), indices);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const float expected = input[i / 7 * 7 + static_cast<std::size_t>(indices[i])];
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got[0].data<float>()[i]),
              std::bit_cast<std::uint32_t>(expected))
        << i;
  }
  const std::vector<Tensor> none =
      session.run({{"x", Tensor::from<float>({0, 7}, {})}}, {results[0], results[1]});
  EXPECT_EQ(none[0].elements(), 0);
  EXPECT_EQ(none[1].elements(), 0);
}

TEST(Edges, BatchNormOfNoRowsKeepsItsRunningStatistics) {
  Program program("batch_norm");
  const Value x = program.input("x", f32, {batch, 2});
  const Value y = nn::batch_norm(x);
  Session session(program);
  const auto train = [&](std::int64_t rows, const std::vector<float>& values) {
    session.run({{"x", Tensor::from<float>({rows, 2}, values)}}, {y},
                {.training = true, .updates = true});
  };
  train(2, {1, 2, 3, 6});
  const std::vector<float> mean = session.parameter("batch_norm_0.running_mean").to_vector<float>();
  const std::vector<float> variance =
      session.parameter("batch_norm_0.running_var").to_vector<float>();
  train(0, {});
  EXPECT_EQ(session.parameter("batch_norm_0.running_mean").to_vector<float>(), mean);
  EXPECT_EQ(session.parameter("batch_norm_0.running_var").to_vector<float>(), variance);
}

// A parameter p whose gradient is g.
struct Clipped {
  Clipped(const Optimizer& optimizer, const std::vector<float>& start) {
    minimize(sum(p * g), optimizer);
    session.emplace(program);
    session->set_parameter("p", Tensor::from<float>({2}, start));
  }
  void step(const std::vector<float>& gradient) {
    session->run({{"g", Tensor::from<float>({2}, gradient)}}, {},
                 {.training = true, .updates = true});
  }
  Program program{"clip"};
  Value p = program.parameter("p", f32, {2});
  Value g = program.input("g", f32, {2});
  std::optional<Session> session;
};

// Their squares are beyond f32.
TEST(Edges, ClippingByANormOfHugeGradients) {
  for (const Clip& clip : {Clip{.norm = 1}, Clip{.global_norm = 1}}) {
    Clipped clipped(Sgd{.learning_rate = 1, .clip = clip}, {0, 0});
    clipped.step({3e19f, -3e19f});
    const std::vector<float> stepped = clipped.session->parameter("p").to_vector<float>();
    EXPECT_FLOAT_EQ(stepped[0], -std::sqrt(0.5f));
    EXPECT_FLOAT_EQ(stepped[1], std::sqrt(0.5f));
  }
}

// The gradient at a kink, by one step of Sgd with rate 1 from the given point.
double slope_at(double at, const std::function<Value(const Value&)>& f) {
  Program program("kink");
  const Value p = program.parameter("p", f64, {1});
  minimize(sum(f(p)), Sgd{.learning_rate = 1});
  Session session(program);
  session.set_parameter("p", Tensor::from<double>({1}, {at}));
  session.run({}, {}, {.training = true, .updates = true});
  return at - session.parameter("p").data<double>()[0];
}

// docs/reference/numerics.md states these choices.
TEST(Edges, GradientsAtKinks) {
  const auto pair = [](const Value& p) { return concat({p, p}, {.axis = 0}); };
  EXPECT_EQ(slope_at(0, [](const Value& p) { return abs(p); }), 0);
  EXPECT_EQ(slope_at(0, [](const Value& p) { return nn::relu(p); }), 0);
  EXPECT_EQ(slope_at(6, [](const Value& p) { return nn::relu6(p); }), 0);
  EXPECT_EQ(slope_at(2, [](const Value& p) { return clamp(p, 2, 3); }), 0);
  EXPECT_EQ(slope_at(3, [](const Value& p) { return clamp(p, 2, 3); }), 0);
  EXPECT_EQ(slope_at(2.5, [](const Value& p) { return clamp(p, 2, 3); }), 1);
  EXPECT_EQ(slope_at(2, [](const Value& p) { return maximum(p, p * 2.0 - 2.0); }), 1.5);
  EXPECT_EQ(slope_at(2, [](const Value& p) { return minimum(p, p * 2.0 - 2.0); }), 1.5);
  EXPECT_EQ(slope_at(1, [&](const Value& p) { return maximum(pair(p), pair(p)); }), 2);
  EXPECT_EQ(slope_at(0, [](const Value& p) { return maximum(0.0, p); }), 0);
  EXPECT_EQ(slope_at(1, [](const Value& p) { return reduce_max(stack({p, p * 3.0 - 2.0}, 0)); }),
            2);
  EXPECT_EQ(slope_at(0, [](const Value& p) { return norm(p); }), 0);
  EXPECT_DOUBLE_EQ(slope_at(-2, [&](const Value& p) { return norm(pair(p)); }), -std::sqrt(2.0));
  EXPECT_EQ(slope_at(0, [](const Value& p) { return pow(p, 0.0); }), 0);
  EXPECT_EQ(slope_at(0, [](const Value& p) { return pow(p, 1.0); }), 1);
  EXPECT_EQ(slope_at(0, [](const Value& p) { return pow(p, 2.0); }), 0);
  EXPECT_EQ(slope_at(0, [](const Value& p) { return sign(p); }), 0);
  EXPECT_TRUE(std::isinf(slope_at(0, [](const Value& p) { return sqrt(p); })));
}

TEST(Edges, NormOfHugeNumbers) {
  Program program("norm");
  const Value x = program.input("x", f32, {2, 2});
  Session session(program);
  const Tensor norms = session.run({{"x", Tensor::from<float>({2, 2}, {3e30f, -4e30f, 0, 0})}},
                                   {norm(x, {.axes = {1}})})[0];
  EXPECT_FLOAT_EQ(norms.data<float>()[0], 5e30f);
  EXPECT_EQ(norms.data<float>()[1], 0);
}

// Before anything changes.
TEST(Edges, ClippingRefusesGradientsThatAreNotFinite) {
  for (const Clip& clip : {Clip{.norm = 1}, Clip{.global_norm = 1}}) {
    for (const float wrong : {kInfinity<float>, -kInfinity<float>, kNan<float>}) {
      Clipped clipped(Adam{.learning_rate = 1, .clip = clip}, {1, 2});
      EXPECT_THAT(error_of(ErrorKind::numeric, [&] { clipped.step({1, wrong}); }),
                  HasSubstr("the norm of "));
      Session& session = *clipped.session;
      EXPECT_EQ(session.parameter("p").to_vector<float>(), (std::vector<float>{1, 2}));
      EXPECT_EQ(session.parameter("p.adam_m").to_vector<float>(), (std::vector<float>{0, 0}));
    }
  }
}

// All options together, against the formulas of torch.nn.CrossEntropyLoss.
TEST(Edges, CrossEntropyWithWeightsAndIgnoredLabels) {
  const std::vector<double> weights = {0.5, 3, 0, 2.25};
  constexpr double kSmoothing = 0.2;
  constexpr std::int64_t kIgnored = -100, kRows = 6, kClasses = 4;
  const std::vector<std::int64_t> labels = {0, kIgnored, 3, 2, 1, kIgnored};
  Tensor logits(f32, {kRows, kClasses});
  for (std::int64_t i = 0; i < logits.elements(); ++i) {
    logits.data<float>()[i] = float(std::sin(1.7 * double(i)) * 3);
  }
  Program program("loss");
  const Value x = program.input("x", f32, {batch, kClasses});
  const Value label = program.input("label", i64, {batch});
  const auto loss = [&](nn::Reduction reduction) {
    return nn::cross_entropy(x, label,
                             {.label_smoothing = kSmoothing,
                              .ignore_index = kIgnored,
                              .class_weights = weights,
                              .reduction = reduction});
  };
  const std::vector<Value> fetches = {loss(nn::Reduction::none), loss(nn::Reduction::mean),
                                      loss(nn::Reduction::sum)};
  Session session(program);
  const std::vector<Tensor> got =
      session.run({{"x", logits}, {"label", Tensor::from<std::int64_t>({kRows}, labels)}}, fetches);
  double total = 0, weight = 0;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const float* row = logits.data<float>() + i * kClasses;
    const std::int64_t of = labels[static_cast<std::size_t>(i)];
    double sum = 0, expected = 0;
    for (std::int64_t j = 0; j < kClasses; ++j) sum += std::exp(double(row[j]));
    for (std::int64_t j = 0; j < kClasses && of != kIgnored; ++j) {
      const double share = (j == of ? 1 - kSmoothing : 0) + kSmoothing / kClasses;
      expected -= share * weights[static_cast<std::size_t>(j)] * (double(row[j]) - std::log(sum));
    }
    EXPECT_NEAR(got[0].data<float>()[i], expected, 1e-5) << i;
    total += expected;
    if (of != kIgnored) weight += weights[static_cast<std::size_t>(of)];
  }
  EXPECT_NEAR(got[1].item<float>(), total / weight, 1e-5);
  EXPECT_NEAR(got[2].item<float>(), total, 1e-4);
  const std::vector<std::int64_t> none(kRows, kIgnored);
  const std::vector<Tensor> of_none =
      session.run({{"x", logits}, {"label", Tensor::from<std::int64_t>({kRows}, none)}}, fetches);
  EXPECT_EQ(of_none[1].item<float>(), 0) << "the mean of no examples";
}

TEST(Edges, LossesRefuseLabelsThatAreNoClass) {
  using Loss = std::function<Value(const Value& logits, const Value& label)>;
  const std::vector<Loss> losses = {
      [](const Value& x, const Value& y) { return nn::cross_entropy(x, y); },
      [](const Value& x, const Value& y) { return nn::cross_entropy(x, y, {.ignore_index = -1}); },
      [](const Value& x, const Value& y) { return nn::focal_cross_entropy(x, y); },
      [](const Value& x, const Value& y) { return nn::multi_class_hinge(x, y); }};
  for (const Loss& loss : losses) {
    for (const std::int64_t wrong : {std::int64_t{10}, std::int64_t{-100}, INT64_MIN}) {
      Program program("labels");
      const Value x = program.input("x", f32, {batch, 10});
      const Value label = program.input("label", i64, {batch});
      Session session(program);
      const Feeds feeds = {{"x", Tensor(f32, {2, 10})},
                           {"label", Tensor::from<std::int64_t>({2}, {9, wrong})}};
      EXPECT_THAT(error_of(ErrorKind::data, [&] { session.run(feeds, {loss(x, label)}); }),
                  HasSubstr("label " + std::to_string(wrong) +
                            " is outside [0, 10), for 10 classes, at [1]"));
    }
  }
}

// One batch of three rows and one of a single row are as one batch of four.
TEST(Edges, AccumulationWeightsBatchesByTheirRows) {
  const auto trained = [](const std::vector<std::vector<float>>& batches, UpdateOptions updates) {
    Program program("accumulate");
    const Value x = program.input("x", f32, {batch});
    const Value p = program.parameter("p", f32, {});
    updates.accumulate = static_cast<int>(batches.size());
    minimize(mean(x * p), Sgd{.learning_rate = 1}, updates);
    Session session(program);
    session.set_parameter("p", Tensor::scalar(0.0f));
    for (int round = 0; round < 2; ++round) {
      for (const std::vector<float>& rows : batches) {
        const auto n = static_cast<std::int64_t>(rows.size());
        session.run({{"x", Tensor::from<float>({n}, rows)}}, {},
                    {.training = true, .updates = true});
      }
    }
    return session.parameter("p").item<float>();
  };
  EXPECT_FLOAT_EQ(trained({{1, 2, 6}, {3}}, {}), trained({{1, 2, 6, 3}}, {}));
  EXPECT_FLOAT_EQ(trained({{1, 2, 6}, {}, {3}}, {}), -6) << "an empty batch";
}

TEST(Edges, AccumulationByAGivenWeight) {
  Program program("weights");
  const Value x = program.input("x", f32, {}), weight = program.input("weight", i64, {});
  const Value p = program.parameter("p", f32, {});
  minimize(x * p, Sgd{.learning_rate = 1}, {.accumulate = 2, .accumulate_weight = weight});
  Session session(program);
  const auto step = [&](float gradient, std::int64_t by) {
    session.run({{"x", Tensor::scalar(gradient)}, {"weight", Tensor::scalar(by)}}, {},
                {.training = true, .updates = true});
    return session.parameter("p").item<float>();
  };
  session.set_parameter("p", Tensor::scalar(0.0f));
  EXPECT_EQ(step(8, 1), 0);
  EXPECT_FLOAT_EQ(step(4, 3), -5);
  step(7, 0);
  EXPECT_FLOAT_EQ(step(7, 0), -5) << "weights of 0 change nothing";

  Program other("exchange");
  const Value q = other.parameter("q", f32, {});
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         minimize(q * 1.0, Sgd{}, {.accumulate = 2, .accumulate_weight = q},
                                  [](std::vector<ParameterGradient>&) {});
                       }),
              HasSubstr("accumulate_weight is the weight of one process"));
}

TEST(Edges, PoolingWithHugeNumbersAndCeilMode) {
  Program program("pool");
  const Value x = program.input("x", f32, {batch, 1, 8, 8});
  const auto refused = [&](const nn::PoolOptions& options) {
    return error_of(ErrorKind::usage, [&] { nn::avg_pool(x, options); });
  };
  EXPECT_THAT(refused({.padding = INT64_MAX, .ceil_mode = true}), HasSubstr("at most 2147483647"));
  EXPECT_THAT(refused({.kernel = INT64_MAX, .ceil_mode = true}), HasSubstr("at most 2147483647"));
}

// Forbidden keys by numbers, as by booleans.
TEST(Edges, AttentionWithARowOfForbiddenKeys) {
  Program program("attention");
  const Value q = program.input("q", f32, {batch, 2, 4});
  const Value k = program.input("k", f32, {batch, 3, 4});
  const Value numbers = program.input("numbers", f32, {2, 3});
  const Value allowed = program.input("allowed", boolean, {2, 3});
  const std::vector<Value> results = {nn::scaled_dot_product_attention(q, k, k, {.mask = numbers}),
                                      nn::scaled_dot_product_attention(q, k, k, {.mask = allowed})};
  Session session(program);
  Tensor queries(f32, {1, 2, 4}), keys(f32, {1, 3, 4});
  for (int i = 0; i < 8; ++i) queries.data<float>()[i] = float(i) / 4;
  for (int i = 0; i < 12; ++i) keys.data<float>()[i] = float(i * i % 7);
  for (const float forbidden : {-kInfinity<float>, -std::numeric_limits<float>::max()}) {
    const std::vector<Tensor> got = session.run(
        {{"q", queries},
         {"k", keys},
         {"numbers",
          Tensor::from<float>({2, 3}, {forbidden, forbidden, forbidden, 0, forbidden, 0})},
         {"allowed", Tensor::from<bool>({2, 3}, {false, false, false, true, false, true})}},
        results);
    for (std::int64_t i = 0; i < 8; ++i) {
      EXPECT_FLOAT_EQ(got[0].data<float>()[i], got[1].data<float>()[i]) << i;
    }
  }
}

// Where numbers are far apart, rounding would often give the upper end.
TEST(Edges, RandomNumbersStayBelowTheUpperEnd) {
  constexpr std::int64_t kCount = 1'000'000;
  Program program("uniform");
  const Value far =
      random_uniform(program, {.shape = {kCount}, .stream = 1, .low = 1000, .high = 1001});
  const Value tenth =
      random_uniform(program, {.shape = {kCount}, .stream = 2, .low = -0.1, .high = 0.1});
  const Value wide = random_uniform(
      program, {.shape = {kCount}, .stream = 3, .low = 1e15, .high = 1e15 + 1, .dtype = f64});
  Session session(program);
  const std::vector<Tensor> drawn = session.run({}, {far, tenth, wide});
  const auto expect_inside = [](const auto& values, double low, double high) {
    const auto [least, largest] = std::minmax_element(values.begin(), values.end());
    EXPECT_GE(*least, low);
    EXPECT_LT(*largest, high);
  };
  expect_inside(drawn[0].to_vector<float>(), 1000, 1001);
  expect_inside(drawn[1].to_vector<float>(), -0.1, 0.1);
  expect_inside(drawn[2].to_vector<double>(), 1e15, 1e15 + 1);
}

}  // namespace
}  // namespace trireme
