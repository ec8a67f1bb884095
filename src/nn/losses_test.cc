// Losses at the borders of their domain, their errors, and trees and samples of classes.
// tests/conformance checks other values and gradients.

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <numeric>

#include "nn/sampling.h"
#include "nn/testing/running.h"
#include "transforms/autodiff.h"
#include "trireme/error.h"

namespace trireme::nn {
namespace {

using ops::RefTensor;
using ops::RefTensors;
using ::testing::Each;
using ::testing::HasSubstr;

// Returns the gradient of the sum of `loss` with respect to `x`.
std::vector<double> gradient(const Program& program, const Value& loss, const Value& x,
                             const RefTensors& inputs) {
  RefTensors none;
  const Value g(transforms::gradients(sum(loss).get(), {x.get()})[0]);
  return run(program, g, inputs, none, true).data;
}

TEST(Losses, StayFiniteForLargeInputs) {
  Program program;
  const Value x = program.input("x", f64, {batch}), t = program.input("t", f64, {batch});
  const RefTensors inputs{{"x", tensor({4}, {1000, -1000, 1000, -1000})},
                          {"t", tensor({4}, {1, 1, 0, 0})}};
  RefTensors none;
  for (const double gamma : {0.0, 0.5, 2.0}) {
    const Value loss = focal(x, t, {.gamma = gamma});
    const std::vector<double> values = run(program, loss, inputs, none).data;
    EXPECT_NEAR(values[0], 0, 1e-12);
    EXPECT_NEAR(values[1], 0.25 * 1000, 1e-9);
    EXPECT_NEAR(values[2], 0.75 * 1000, 1e-9);
    const std::vector<double> slopes = gradient(program, loss, x, inputs);
    EXPECT_NEAR(slopes[1], -0.25, 1e-9);
    EXPECT_NEAR(slopes[2], 0.75, 1e-9);
    EXPECT_NEAR(slopes[3], 0, 1e-9);
  }
  Program classes;
  const Value logits = classes.input("logits", f64, {batch, 2});
  const Value label = classes.input("label", i64, {batch});
  const RefTensors sure{{"logits", tensor({2, 2}, {1000, -1000, 1000, -1000})},
                        {"label", tensor({2}, {0, 1})}};
  for (const double gamma : {0.5, 2.0}) {
    const Value loss = focal_cross_entropy(logits, label, {.gamma = gamma});
    EXPECT_NEAR(run(classes, loss, sure, none).data[1], 2000, 1e-9);
    for (const double slope : gradient(classes, loss, logits, sure)) {
      EXPECT_TRUE(std::isfinite(slope));
    }
  }
}

TEST(Losses, GradientsOfEqualVectorsAndEmptySetsAreFinite) {
  Program program;
  const Value a = program.input("a", f64, {batch, 2}), b = program.input("b", f64, {batch, 2});
  const Value similar = program.input("similar", f64, {batch});
  const RefTensors inputs{{"a", tensor({2, 2}, {1, 2, 0, 0})},
                          {"b", tensor({2, 2}, {1, 2, 0, 0})},
                          {"similar", tensor({2}, {0, 1})}};
  RefTensors none;
  const Value pair = contrastive(a, b, similar, {.margin = 2});
  EXPECT_NEAR(run(program, pair, inputs, none).data[0], 2, 1e-9);
  EXPECT_THAT(gradient(program, pair, a, inputs), Each(testing::Lt(1e-9)));
  for (const Value& loss : {triplet_margin(a, b, b), cosine_embedding(a, b, similar)}) {
    for (const double slope : gradient(program, loss, a, inputs)) {
      EXPECT_TRUE(std::isfinite(slope));
    }
  }
  const RefTensors zeros{{"a", tensor({1, 2}, {0, 0})}, {"b", tensor({1, 2}, {0, 0})}};
  EXPECT_NEAR(run(program, dice(a, b), zeros, none).data[0], 0, 1e-12);
  // Where p is 0, the divergence is 0 for any q.
  const RefTensors certain{{"a", tensor({1, 2}, {-800, 0})}, {"b", tensor({1, 2}, {0, 1})}};
  const Value kl = kl_divergence(a, b);
  EXPECT_EQ(run(program, kl, certain, none).data, (std::vector<double>{0, 0}));
  EXPECT_EQ(gradient(program, kl, a, certain), (std::vector<double>{0, -1}));
}

TEST(Losses, RejectInvalidArguments) {
  Program program;
  const Value x = program.input("x", f32, {batch, 3}), t = program.input("t", f32, {batch});
  const Value id = program.input("id", i64, {batch});
  EXPECT_THAT(refusal([&] { hinge(x, t); }), HasSubstr("hinge: prediction and target differ"));
  EXPECT_THAT(refusal([&] { smooth_l1(x, x, {.beta = 0}); }), HasSubstr("beta must be above 0"));
  EXPECT_THAT(refusal([&] { focal(x, x, {.gamma = -1}); }),
              HasSubstr("gamma must not be negative"));
  EXPECT_THAT(refusal([&] { focal(x, x, {.alpha = 2}); }), HasSubstr("alpha must be in [0, 1]"));
  EXPECT_THAT(refusal([&] { dice(t, t); }), HasSubstr("needs axes after the batch"));
  EXPECT_THAT(refusal([&] { multi_class_hinge(x, x); }), HasSubstr("need integer labels"));
  EXPECT_THAT(refusal([&] { focal_cross_entropy(x, t); }), HasSubstr("need integer labels"));
  EXPECT_THAT(refusal([&] { margin_ranking(x, x, t); }), HasSubstr("differ"));
  EXPECT_THAT(refusal([&] { cosine_embedding(x, x, id); }),
              HasSubstr("`similar` needs a number for each pair, f32[batch]"));
  EXPECT_THAT(refusal([&] { triplet_margin(x, x, t); }), HasSubstr("losses_test.cc"));

  const Value weight = program.parameter("weight", f32, {7, 3});
  const Value narrow = program.parameter("narrow", f32, {7, 2});
  EXPECT_THAT(refusal([&] { sampled_softmax(x, t, weight, {}); }),
              HasSubstr("the labels must be i64[batch]"));
  EXPECT_THAT(refusal([&] { nce(x, id, narrow, {}); }),
              HasSubstr("the table of classes must be f32[classes, 3]"));
  EXPECT_THAT(refusal([&] { nce(x, id, weight, t); }),
              HasSubstr("the bias needs a number for each row"));
  EXPECT_THAT(refusal([&] { sampled_softmax(x, id, weight, {}, {.samples = 0}); }),
              HasSubstr("samples must be at least 1"));
  EXPECT_THAT(refusal([&] { sampled_softmax(x, id, weight, {}, {.candidates = t}); }),
              HasSubstr("candidates must be i64[n]"));
  EXPECT_THAT(refusal([&] { hierarchical_softmax(x, id, narrow, {}); }),
              HasSubstr("the table of inner nodes must be f32[nodes, 3]"));
  EXPECT_THAT(refusal([&] { hierarchical_softmax(x, id, weight, {}, {.path = id}); }),
              HasSubstr("a tree needs both path and code"));
  EXPECT_THAT(refusal([&] { huffman_tree({1}); }), HasSubstr("at least two classes"));
  EXPECT_THAT(refusal([&] { huffman_tree({1, -1}); }), HasSubstr("class 1 is negative"));
}

TEST(Losses, NllIsCrossEntropyWithoutTheSoftmax) {
  Program program;
  const Value logits = program.input("logits", f64, {batch, 3});
  const Value label = program.input("label", i64, {batch});
  RefTensors parameters;
  const RefTensors inputs{{"logits", noise({4, 3})}, {"label", tensor({4}, {2, 0, 1, 1})}};
  const std::vector<double> weights{0.5, 0, 3};
  for (const Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum}) {
    const Value a = nll(log_softmax(logits), label,
                        {.ignore_index = 0, .class_weights = weights, .reduction = reduction});
    const Value b = cross_entropy(
        logits, label, {.ignore_index = 0, .class_weights = weights, .reduction = reduction});
    parameters = first_values(program);
    EXPECT_EQ(run(program, a, inputs, parameters).data, run(program, b, inputs, parameters).data);
  }
  // Only the logarithm of the label counts.
  const Value loss = nll(logits, label, {.ignore_index = -1});
  const RefTensors infinite{{"logits", tensor({2, 3}, {0, -INFINITY, -1, NAN, NAN, NAN})},
                            {"label", tensor({2}, {2, -1})}};
  EXPECT_EQ(run(program, loss, infinite, parameters).data, (std::vector<double>{1, 0}));
  EXPECT_EQ(gradient(program, loss, logits, infinite), (std::vector<double>{0, 0, -1, 0, 0, 0}));
  // The mean of no losses is 0.
  const Value none = nll(logits, label, {.ignore_index = 1, .reduction = Reduction::mean});
  const RefTensors empty{{"logits", tensor({0, 3}, {})}, {"label", tensor({0}, {})}};
  EXPECT_EQ(run(program, none, empty, parameters).data[0], 0);
}

// The sums of the pairs, written as loops.
TEST(Losses, MultiLabelMarginAddsUpPairs) {
  Program program;
  const Value x = program.input("x", f64, {batch, 4}), t = program.input("t", f64, {batch, 4});
  RefTensors none;
  const RefTensors inputs{{"x", noise({3, 4})},
                          {"t", tensor({3, 4}, {1, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1})}};
  const std::vector<double>&xs = inputs.at("x").data, &ts = inputs.at("t").data;
  const std::vector<double> values =
      run(program, multi_label_margin(x, t, {.margin = 2}), inputs, none).data;
  for (std::size_t row = 0; row < 3; ++row) {
    double expected = 0;
    for (std::size_t i = 4 * row; i < 4 * row + 4; ++i) {
      for (std::size_t j = 4 * row; j < 4 * row + 4; ++j) {
        if (ts[i] == 1 && ts[j] == 0) expected += std::fmax(0, 2 - xs[i] + xs[j]) / 4;
      }
    }
    EXPECT_NEAR(values[row], expected, 1e-12) << row;
  }
  EXPECT_EQ(values[1], 0);
  EXPECT_EQ(values[2], 0);
  const RefTensors one{{"x", tensor({1, 4}, {INFINITY, 0, 1, -INFINITY})},
                       {"t", tensor({1, 4}, {1, 0, 0, 0})}};
  EXPECT_EQ(run(program, multi_label_margin(x, t), one, none).data[0], 0);
}

TEST(Losses, GaussianNllOfSmallVariances) {
  Program program;
  const Value x = program.input("x", f64, {batch}), t = program.input("t", f64, {batch});
  const Value v = program.input("v", f64, {batch});
  RefTensors none;
  const RefTensors inputs{{"x", tensor({4}, {1, 1, 3, 2})},
                          {"t", tensor({4}, {1, 2, 1, 1})},
                          {"v", tensor({4}, {0, 0, 4, INFINITY})}};
  const Value loss = gaussian_nll(x, t, v, {.epsilon = 0.25});
  const std::vector<double> values = run(program, loss, inputs, none).data;
  EXPECT_NEAR(values[0], std::log(0.25) / 2, 1e-12);
  EXPECT_NEAR(values[1], std::log(0.25) / 2 + 2, 1e-12);
  EXPECT_NEAR(values[2], std::log(4) / 2 + 0.5, 1e-12);
  EXPECT_EQ(values[3], INFINITY);
  // (1 / v - d^2 / v^2) / 2, also where epsilon replaces v.
  const std::vector<double> slopes = gradient(program, loss, v, inputs);
  EXPECT_NEAR(slopes[0], 2, 1e-12);
  EXPECT_NEAR(slopes[1], 2 - 8, 1e-12);
  EXPECT_NEAR(slopes[2], (0.25 - 0.25) / 2, 1e-12);
  EXPECT_EQ(slopes[3], 0);
  EXPECT_NEAR(run(program, gaussian_nll(x, t, v, {.full = true}), inputs, none).data[2],
              std::log(4) / 2 + 0.5 + std::log(2 * M_PI) / 2, 1e-12);
}

TEST(Losses, TripletMarginWithAnotherDistance) {
  Program program;
  const Value a = program.input("a", f64, {batch, 2}), p = program.input("p", f64, {batch, 2});
  const Value n = program.input("n", f64, {batch, 2});
  RefTensors none;
  const RefTensors inputs{{"a", tensor({2, 2}, {0, 0, 1, 1})},
                          {"p", tensor({2, 2}, {1, 2, 1, 1})},
                          {"n", tensor({2, 2}, {1, 1, 4, 5})}};
  const auto city_blocks = [](const Value& x, const Value& y) {
    return sum(abs(x - y), {.axes = {-1}});
  };
  EXPECT_EQ(run(program, triplet_margin(a, p, n, {.distance = city_blocks}), inputs, none).data,
            (std::vector<double>{2, 0}));
  // The distance of positive and negative is smaller in the first row.
  const Value swapped = triplet_margin(a, p, n, {.swap = true, .distance = city_blocks});
  EXPECT_EQ(run(program, swapped, inputs, none).data, (std::vector<double>{3, 0}));
  EXPECT_THAT(refusal([&] {
                int calls = 0;
                triplet_margin(a, p, n, {.distance = [&](const Value& x, const Value& y) {
                                 return ++calls == 1 ? x - y : sum(x - y, {.axes = {-1}});
                               }});
              }),
              HasSubstr("triplet_margin: prediction and target differ"));
}

TEST(Losses, RejectInvalidWeightsAndOptions) {
  Program program;
  const Value x = program.input("x", f32, {batch, 3}), t = program.input("t", f32, {batch});
  const Value id = program.input("id", i64, {batch}), one = program.input("one", f32, {});
  EXPECT_THAT(refusal([&] { nll(x, t); }), HasSubstr("nll: logits [..., classes] need integer"));
  EXPECT_THAT(refusal([&] { nll(x, id, {.class_weights = {1, 2}}); }),
              HasSubstr("there are 2 class weights for 3 classes"));
  EXPECT_THAT(refusal([&] { nll(x, id, {.class_weights = {1, 2, NAN}}); }),
              HasSubstr("a class weight must be a finite number"));
  EXPECT_THAT(refusal([&] { binary_cross_entropy_with_logits(x, x, {.pos_weights = {1, -1, 0}}); }),
              HasSubstr("a class weight must be a finite number"));
  EXPECT_THAT(refusal([&] { binary_cross_entropy_with_logits(one, one, {.pos_weights = {1}}); }),
              HasSubstr("there are 1 class weights for no classes"));
  EXPECT_THAT(refusal([&] { multi_label_margin(x, t); }), HasSubstr("differ"));
  EXPECT_THAT(refusal([&] { multi_label_margin(one, one); }), HasSubstr("the value is a scalar"));
  EXPECT_THAT(refusal([&] { multi_label_soft_margin(x, x, {.class_weights = {1}}); }),
              HasSubstr("there are 1 class weights for 3 classes"));
  EXPECT_THAT(refusal([&] { gaussian_nll(x, x, t); }), HasSubstr("gaussian_nll: prediction and"));
  EXPECT_THAT(refusal([&] { gaussian_nll(x, x, x, {.epsilon = 0}); }),
              HasSubstr("epsilon must be above 0"));
}

TEST(ManyClasses, InferenceUsesAllClasses) {
  Program program;
  const Value hidden = program.input("hidden", f64, {batch, 2});
  const Value label = program.input("label", i64, {batch});
  const Value weight = program.parameter("weight", f64, {5, 2});
  const Value bias = program.parameter("bias", f64, {5});
  RefTensors parameters{{"weight", noise({5, 2}, 3)}, {"bias", noise({5}, 4)}};
  const RefTensors inputs{{"hidden", noise({3, 2})}, {"label", tensor({3}, {4, 0, 2})}};
  const Value exact = cross_entropy(matmul(hidden, weight, {.transpose_b = true}) + bias, label);
  const std::vector<double> expected = run(program, exact, inputs, parameters).data;
  for (const Value& loss : {sampled_softmax(hidden, label, weight, bias, {.samples = 2}),
                            nce(hidden, label, weight, bias, {.samples = 2})}) {
    EXPECT_EQ(run(program, loss, inputs, parameters).data, expected);
    EXPECT_NE(run(program, loss, inputs, parameters, true).data, expected);
  }
}

TEST(ManyClasses, AreSampledWithTheReportedProbability) {
  constexpr std::int64_t kSamples = 200000, kClasses = 11;
  for (const Sampler sampler : {Sampler::log_uniform, Sampler::uniform}) {
    Program program;
    const Value x = program.input("x", f32, {batch});
    Layer layer(x, "draw", "", SourceLocation::current());
    const Value drawn = draw_classes(layer, sampler, kSamples, kClasses);
    const Value all = program.input("all", i64, {kClasses});
    const Value logs = log_probability(all, sampler, kClasses);
    RefTensors none;
    std::vector<double> ids(kClasses), counts(kClasses);
    std::iota(ids.begin(), ids.end(), 0);
    const RefTensors inputs{{"x", tensor({1}, {0})}, {"all", tensor({kClasses}, ids)}};
    for (const double id : run(program, drawn, inputs, none, true).data) {
      ASSERT_TRUE(id >= 0 && id < kClasses) << id;
      ++counts[static_cast<std::size_t>(id)];
    }
    double total = 0;
    const std::vector<double> log_probabilities = run(program, logs, inputs, none).data;
    for (std::size_t k = 0; k < kClasses; ++k) {
      const double p = std::exp(log_probabilities[k]), mean = p * kSamples;
      total += p;
      EXPECT_NEAR(counts[k], mean, 5 * std::sqrt(mean * (1 - p))) << k;
    }
    EXPECT_NEAR(total, 1, 1e-12);
  }
}

TEST(Huffman, PathsAreOptimalAndDistinct) {
  // The frequencies in Huffman's paper, whose code needs 3.42 digits on average.
  const std::vector<double> frequencies{0.20, 0.18, 0.10, 0.10, 0.10, 0.06, 0.06,
                                        0.04, 0.04, 0.04, 0.04, 0.03, 0.01};
  const ClassTree tree = huffman_tree(frequencies);
  EXPECT_EQ(tree.nodes, 12);
  const auto depth = static_cast<std::size_t>(tree.path.dim(1));
  double average = 0, kraft = 0;
  std::map<std::vector<std::int64_t>, int> class_paths;
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    std::vector<std::int64_t> class_path;
    for (std::size_t j = 0; j < depth; ++j) {
      const std::int64_t node = tree.path.data<std::int64_t>()[i * depth + j];
      if (node < 0) break;
      EXPECT_LT(node, tree.nodes);
      if (j == 0) {
        EXPECT_EQ(node, tree.nodes - 1) << "the root";
      }
      class_path.push_back(2 * node + tree.code.data<std::int64_t>()[i * depth + j]);
    }
    average += frequencies[i] * static_cast<double>(class_path.size());
    kraft += std::pow(0.5, class_path.size());
    ++class_paths[class_path];
  }
  EXPECT_NEAR(average, 3.42, 1e-9);
  EXPECT_NEAR(kraft, 1, 1e-12);
  EXPECT_EQ(class_paths.size(), frequencies.size());
  EXPECT_EQ(huffman_tree({1, 1}).path.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 0}));
}

}  // namespace
}  // namespace trireme::nn
