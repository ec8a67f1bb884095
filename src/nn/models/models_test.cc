// Shapes, names and known parameter counts, and the models' formulas in separate loops.
// tests/models compares whole networks with PyTorch.

#include "trireme/models.h"
#include "ir/builder.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "nn/testing/running.h"

namespace trireme::models {
namespace {

using nn::first_values;
using nn::noise;
using nn::run;
using nn::tensor;
using ops::RefTensor;
using ops::RefTensors;
using ::testing::HasSubstr;

std::int64_t trainable(const Program& program) {
  std::int64_t total = 0;
  for (const auto& parameter : program.ir().parameters()) {
    if (!parameter->trainable) continue;
    std::int64_t count = 1;
    for (const Dim& dim : parameter->value->type.shape) count *= dim.constant();
    total += count;
  }
  return total;
}

using Build = std::function<Value(const Value&)>;

std::int64_t count(const Shape& shape, const Build& build, std::int64_t classes) {
  Program program;
  const Value logits = build(program.input("x", f32, shape));
  EXPECT_EQ(logits.shape(), (Shape{batch, classes}));
  return trainable(program);
}

Build of_resnet(ResnetOptions options) {
  return [=](const Value& x) { return resnet(x, options); };
}
Build of_vgg(VggOptions options) {
  return [=](const Value& x) { return vgg(x, options); };
}

const Shape kSmall{batch, 3, 32, 32}, kLarge{batch, 3, 224, 224};

// Table 6 of the paper gives 0.27, 0.46, 0.66, 0.85 and 1.7 million. These numbers follow from its
// layers: a stage of n blocks of width w has 2 n w^2 9 weights, minus half of the first
// convolution's.
TEST(Resnet, SmallNetworksHaveTheParametersOfThePaper) {
  const std::pair<int, std::int64_t> known[] = {
      {20, 269722}, {32, 464154}, {44, 658586}, {56, 853018}, {110, 1727962}};
  for (const auto& [depth, parameters] : known) {
    EXPECT_EQ(count(kSmall, of_resnet({.depth = depth}), 10), parameters) << depth;
  }
  // Option B adds 16 * 32 + 32 * 64 weights and two batch norms.
  EXPECT_EQ(count(kSmall, of_resnet({.depth = 20, .shortcut = Shortcut::project}), 10),
            269722 + 512 + 64 + 2048 + 128);
}

// The numbers are from torchvision's documentation.
TEST(Resnet, LargeNetworksHaveTheKnownParameters) {
  const std::pair<int, std::int64_t> known[] = {
      {18, 11689512}, {34, 21797672}, {50, 25557032}, {101, 44549160}, {152, 60192808}};
  for (const auto& [depth, parameters] : known) {
    EXPECT_EQ(count(kLarge, of_resnet({.depth = depth, .classes = 1000}), 1000), parameters);
  }
}

TEST(Vgg, HasTheKnownParameters) {
  const std::pair<int, std::int64_t> known[] = {
      {11, 132863336}, {13, 133047848}, {16, 138357544}, {19, 143667240}};
  for (const auto& [depth, parameters] : known) {
    EXPECT_EQ(count(kLarge, of_vgg({.depth = depth}), 1000), parameters) << depth;
  }
  EXPECT_EQ(count(kLarge, of_vgg({.depth = 11, .batch_norm = true}), 1000), 132868840);
  EXPECT_EQ(count(kLarge, of_vgg({.depth = 16, .batch_norm = true}), 1000), 138365992);
}

TEST(MobilenetV2, HasTheKnownParameters) {
  const auto of_width = [](double width) {
    return [=](const Value& x) { return mobilenet_v2(x, {.width = width}); };
  };
  EXPECT_EQ(count(kLarge, of_width(1), 1000), 3504872);
  EXPECT_EQ(count(kLarge, of_width(0.5), 1000), 1968680);
  EXPECT_EQ(count(kLarge, of_width(1.4), 1000), 6108776);
}

TEST(Lenet, HasTheParametersOfThePaper) {
  const Build build = [](const Value& x) { return lenet(x, {}); };
  EXPECT_EQ(count({batch, 1, 28, 28}, build, 10), 156 + 2416 + 48120 + 10164 + 850);
  const Build wide = [](const Value& x) { return lenet(x, {.padding = 0}); };
  EXPECT_EQ(count({batch, 1, 32, 32}, wide, 10), 61706);
}

TEST(Rows, HaveTheParametersOfTheirLayers) {
  const Build plain = [](const Value& x) { return softmax_regression(x, {.classes = 3}); };
  EXPECT_EQ(count({batch, 1, 4, 5}, plain, 3), 20 * 3 + 3);
  const Build deep = [](const Value& x) { return mlp(x, {.classes = 3, .hidden = {7, 5}}); };
  EXPECT_EQ(count({batch, 20}, deep, 3), 20 * 7 + 7 + 7 * 5 + 5 + 5 * 3 + 3);
}

// A block of width w and inner width f has weights 4 w^2 + 2 w f, biases 3 w (none for keys) + f +
// w, and two norms of 2 w.
TEST(TransformerEncoder, HasTheParametersOfItsLayers) {
  const auto block = [](std::int64_t w, std::int64_t f) {
    return 4 * w * w + 2 * w * f + 3 * w + f + w + 4 * w;
  };
  const Build of_numbers = [](const Value& x) {
    return transformer_encoder(x, {.classes = 3, .width = 8, .layers = 3, .heads = 2});
  };
  EXPECT_EQ(count({batch, 7, 6}, of_numbers, 3), 6 * 8 + 8 + 3 * block(8, 32) + 16 + 8 * 3 + 3);
  const Build of_pictures = [](const Value& x) {
    return transformer_encoder(x, {.width = 16,
                                   .patch = 4,
                                   .positions = Positions::learned,
                                   .feed_forward = 20,
                                   .pre_norm = false});
  };
  EXPECT_EQ(count(kSmall, of_pictures, 10),
            48 * 16 + 16 + 64 * 16 + 2 * block(16, 20) + 16 * 10 + 10);
  const Build plain = [](const Value& x) {
    return transformer_encoder(x, {.width = 0, .heads = 3, .pooling = Pooling::first});
  };
  EXPECT_EQ(count({batch, Dim("steps"), 6}, plain, 10), 2 * block(6, 24) + 12 + 6 * 10 + 10);
  Program program;
  const Value ids = program.input("ids", i64, {batch, Dim("steps")});
  const Value y = transformer_encoder(ids, {.width = 8, .rows = 11, .heads = 2});
  EXPECT_EQ(y.shape(), (Shape{batch, 10}));
  EXPECT_EQ(trainable(program), 11 * 8 + 2 * block(8, 32) + 16 + 8 * 10 + 10);
}

// Rotated keys have a bias, all heads share one head of keys and values, and relative positions
// have 32 buckets for each head.
TEST(TransformerEncoder, HasTheParametersOfItsPositions) {
  const auto with = [](Positions positions, std::int64_t key_heads) {
    const Build build = [=](const Value& x) {
      return transformer_encoder(
          x,
          {.width = 8, .positions = positions, .key_heads = key_heads, .blockwise = key_heads > 0});
    };
    return count({batch, 7, 6}, build, 10);
  };
  const std::int64_t plain = with(Positions::sinusoidal, 0);
  EXPECT_EQ(with(Positions::rotary, 1) - plain, 2 * (2 * (8 * 2 + 2) - 2 * 8 * 8 - 8));
  EXPECT_EQ(with(Positions::relative, 0) - plain, 2 * 32 * 4);
}

// The amount and content of padding after the end of a sequence make no difference.
TEST(TransformerEncoder, IgnoresPadding) {
  Program program;
  const Value ids = program.input("ids", i64, {batch, Dim("steps")});
  const Value y = transformer_encoder(
      ids, {.classes = 3, .width = 8, .rows = 9, .padding_id = 4, .heads = 2, .dropout = 0});
  RefTensors values = first_values(program);
  const RefTensors alone{{"ids", tensor({1, 3}, {1, 8, 0})}};
  const RefTensors padded{{"ids", tensor({2, 5}, {1, 8, 0, 4, 4, 4, 4, 4, 4, 4})}};
  const RefTensor expected = run(program, y, alone, values);
  const RefTensor got = run(program, y, padded, values);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(got.data[i], expected.data[i], 1e-6);
  // With padding only, the result is the bias of the last layer, which is zero at first.
  for (std::size_t i = 3; i < 6; ++i) EXPECT_NEAR(got.data[i], 0, 1e-6);
}

TEST(Models, NameParametersByScope) {
  Program program;
  const Value x = program.input("x", f32, kSmall);
  resnet(x, {});
  resnet(x, {.name = "second"});
  EXPECT_TRUE(program.find("resnet_0/conv2d_0.weight"));
  EXPECT_TRUE(program.find("resnet_0/block_8/conv2d_1.weight"));
  EXPECT_TRUE(program.find("second/block_3/batch_norm_0.running_var"));
  EXPECT_EQ(program.ir().builder().layer(), "");
}

TEST(Models, DisableWeightDecayForVectorsOnly) {
  Program program;
  const Value x = program.input("x", f32, kSmall);
  nn::linear(nn::flatten(x), {.units = 2});
  resnet(x, {.decay_biases = false});
  for (const auto& parameter : program.ir().parameters()) {
    const bool vector = parameter->value->type.rank() < 2;
    const bool outside = parameter->name().starts_with("linear_0");
    EXPECT_EQ(parameter->settings.weight_decay, vector && !outside ? 0 : 1) << parameter->name();
  }
}

TEST(Models, UseTheGivenInitializer) {
  Program program;
  resnet(program.input("x", f32, kSmall), {.weight_init = nn::normal(0, 0.5)});
  const ir::Parameter* weight = program.ir().find_parameter("resnet_0/block_0/conv2d_0.weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->initializer.name, "normal");
}

TEST(Models, ErrorsNameTheModelAndTheLine) {
  Program program;
  const Value x = program.input("x", f32, kSmall);
  const Value row = program.input("row", f32, {batch, 5});
  const Value ids = program.input("ids", i64, {batch});
  const auto expect_error = [](const std::function<void()>& act, const std::string& message) {
    EXPECT_THAT(nn::refusal_here(act), HasSubstr(message));
  };
  expect_error([&] { resnet(x, {.depth = 21}); }, "there is no ResNet of depth 21");
  expect_error([&] { vgg(x, {.depth = 12}); }, "there is no VGG of depth 12");
  expect_error([&] { vgg(x, {.width = 0}); }, "width must be above 0");
  expect_error([&] { resnet(row, {}); }, "not a batch of images");
  expect_error([&] { mlp(x, {.classes = 0}); }, "units must be at least 1");
  EXPECT_THAT(nn::refusal([] { wide_and_deep({}, {}, {}); }), HasSubstr("there are no fields"));
  expect_error([&] { deepfm({{row, 5}}, {}, {}); }, "field 0 is not ids");
  expect_error([&] { deepfm({{ids, 0}}, {}, {}); }, "field 0 has no rows");
  expect_error([&] { wide_and_deep({{ids, 5}}, {}, {.crosses = {{0, 1}}}); }, "names field 1 of 1");
  expect_error([&] { two_tower({ids, 5}, {ids, 5}, {.width = 0}); }, "width must be at least 1");
  expect_error([&] { transformer_encoder(row, {}); }, "the input is not a sequence");
  expect_error([&] { transformer_encoder(x, {.patch = 5}); },
               "cannot be divided into patches of 5 x 5");
  expect_error([&] { transformer_encoder(x, {.heads = 5}); }, "cannot be divided into 5 heads");
  expect_error([&] { transformer_encoder(x, {.padding_id = 0}); }, "padding_id is only for ids");
  const Value words = program.input("words", i64, {batch, Dim("steps")});
  expect_error([&] { transformer_encoder(words, {}); }, "ids need a width and rows");
  expect_error([&] { transformer_encoder(words, {.rows = 5, .positions = Positions::learned}); },
               "need max_steps");
  expect_error([&] { normalize(x, {1, 2}, {1}); }, "mean has 2 numbers for 3 channels");
  expect_error([&] { normalize(x, {1}, {0}); }, "a deviation must be above 0");
  EXPECT_FALSE(program.ir().builder().has_location());
  EXPECT_EQ(program.ir().builder().layer(), "");
}

TEST(Normalize, UsesTheNumbersOfEachChannel) {
  Program program;
  const Value x = program.input("x", f64, {batch, 2, 1, 2});
  const Value y = normalize(x, {1, 10}, {2, 5});
  RefTensors none;
  const RefTensors inputs{{"x", tensor({1, 2, 1, 2}, {1, 5, 0, 20})}};
  EXPECT_EQ(run(program, y, inputs, none).data, (std::vector<double>{0, 2, -2, 2}));
  const Value z = normalize(x, {1}, {4});
  EXPECT_EQ(run(program, z, inputs, none).data, (std::vector<double>{0, 1, -0.25, 4.75}));
}

// --- Models of ids
// --------------------------------------------------------------------------------

// Returns parameters with numbers in [-2, 2] instead of their first values.
RefTensors noisy(const Program& program) {
  RefTensors values = first_values(program);
  unsigned seed = 3;
  for (auto& [name, value] : values) value = noise(value.shape, ++seed);
  return values;
}

double relu(double x) { return std::max(x, 0.0); }

// Returns row times weight [n, m], plus bias.
std::vector<double> linear(const std::vector<double>& row, const RefTensor& weight,
                           const RefTensor* bias) {
  const auto units = static_cast<std::size_t>(weight.shape[1]);
  std::vector<double> y(units, 0);
  for (std::size_t j = 0; j < units; ++j) {
    if (bias != nullptr) y[j] = bias->data[j];
    for (std::size_t i = 0; i < row.size(); ++i) y[j] += row[i] * weight.data[i * units + j];
  }
  return y;
}

struct Table {
  Program program;
  Value a = program.input("a", i64, {batch}), b = program.input("b", i64, {batch});
  Value numbers = program.input("numbers", f32, {batch, 2});
  RefTensors inputs{{"a", tensor({3}, {0, 2, 1})},
                    {"b", tensor({3}, {3, 0, 2})},
                    {"numbers", tensor({3, 2}, {0.5, -1, 2, 0.25, -0.75, 1})}};
  std::size_t id(const char* field, std::size_t row) const {
    return static_cast<std::size_t>(inputs.at(field).data[row]);
  }
  double number(std::size_t row, std::size_t i) const {
    return inputs.at("numbers").data[row * 2 + i];
  }
};

std::vector<double> row_of(const RefTensor& table, std::size_t row) {
  const auto width = static_cast<std::ptrdiff_t>(table.shape[1]);
  const auto begin = table.data.begin() + static_cast<std::ptrdiff_t>(row) * width;
  return {begin, begin + width};
}

TEST(WideAndDeep, AgreesWithItsFormula) {
  Table t;
  const Value y = wide_and_deep({{t.a, 3}, {t.b, 4}}, t.numbers,
                                {.width = 2, .hidden = {3}, .crosses = {{0, 1}}});
  EXPECT_EQ(y.shape(), (Shape{batch, 1}));
  RefTensors p = noisy(t.program);
  const RefTensor values = run(t.program, y, t.inputs, p);
  const auto parameter = [&](const std::string& name) -> const RefTensor& {
    return p.at("wide_and_deep_0/" + name);
  };
  EXPECT_EQ(parameter("embedding_0.weight").shape, (std::vector<std::int64_t>{3 + 4 + 12, 1}));
  for (std::size_t row = 0; row < 3; ++row) {
    const std::size_t a = t.id("a", row), b = t.id("b", row);
    const std::vector<double>& weights = parameter("embedding_0.weight").data;
    double expected = weights[a] + weights[3 + b] + weights[7 + 4 * a + b];
    const std::vector<double> numbers{t.number(row, 0), t.number(row, 1)};
    expected += linear(numbers, parameter("linear_0.weight"), nullptr)[0];
    std::vector<double> x = row_of(parameter("embedding_1.weight"), a);
    const std::vector<double> second = row_of(parameter("embedding_1.weight"), 3 + b);
    x.insert(x.end(), second.begin(), second.end());
    x.insert(x.end(), numbers.begin(), numbers.end());
    x = linear(x, parameter("linear_1.weight"), &parameter("linear_1.bias"));
    for (double& unit : x) unit = relu(unit);
    expected += linear(x, parameter("linear_2.weight"), &parameter("linear_2.bias"))[0];
    EXPECT_NEAR(values.data[row], expected, 1e-6);
  }
}

TEST(Deepfm, AgreesWithItsFormula) {
  Table t;
  const Value y = deepfm({{t.a, 3}, {t.b, 4}}, t.numbers, {.width = 2, .hidden = {3}});
  RefTensors p = noisy(t.program);
  const RefTensor values = run(t.program, y, t.inputs, p);
  const auto parameter = [&](const std::string& name) -> const RefTensor& {
    return p.at("deepfm_0" + name);
  };
  for (std::size_t row = 0; row < 3; ++row) {
    const std::size_t a = t.id("a", row), b = t.id("b", row);
    std::vector<std::vector<double>> vectors = {row_of(parameter("/embedding_0.weight"), a),
                                                row_of(parameter("/embedding_0.weight"), 3 + b)};
    const std::vector<double>& weights = parameter("/embedding_1.weight").data;
    double expected = weights[a] + weights[3 + b];
    for (std::size_t i = 0; i < 2; ++i) {
      std::vector<double> vector = row_of(parameter(".numbers"), i);
      for (double& v : vector) v *= t.number(row, i);
      vectors.push_back(vector);
      expected += parameter("/linear_0.weight").data[i] * t.number(row, i);
    }
    std::vector<double> x;
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      for (std::size_t j = i + 1; j < vectors.size(); ++j) {
        for (std::size_t k = 0; k < 2; ++k) expected += vectors[i][k] * vectors[j][k];
      }
      x.insert(x.end(), vectors[i].begin(), vectors[i].end());
    }
    x = linear(x, parameter("/linear_1.weight"), &parameter("/linear_1.bias"));
    for (double& unit : x) unit = relu(unit);
    expected += linear(x, parameter("/linear_2.weight"), &parameter("/linear_2.bias"))[0];
    EXPECT_NEAR(values.data[row], expected, 1e-5);
  }
}

TEST(Deepfm, AcceptsManyIdsOfOneTable) {
  Program program;
  const Value ids = program.input("ids", i64, {batch, 10});
  const Value y = deepfm({{ids, 5382}}, {}, {.width = 4, .hidden = {}});
  EXPECT_EQ(y.shape(), (Shape{batch, 1}));
  EXPECT_EQ(trainable(program), 5382 * 5 + 40 + 1);
}

TEST(Fields, AreCheckedOnceForAllLookups) {
  const auto checks = [](const Program& program) {
    const std::string text = program.str(), op = "check_indices(";
    int count = 0;
    for (std::size_t at = 0; (at = text.find(op, at)) != std::string::npos; ++at) ++count;
    return count;
  };
  Table wide, fm, towers;
  wide_and_deep({{wide.a, 3}, {wide.b, 4}}, wide.numbers, {.crosses = {{0, 1}}});
  EXPECT_EQ(checks(wide.program), 2);
  deepfm({{fm.a, 3}, {fm.b, 4}}, fm.numbers, {});
  EXPECT_EQ(checks(fm.program), 2);
  two_tower({towers.a, 3}, {towers.b, 4}, {});
  EXPECT_EQ(checks(towers.program), 2);
}

TEST(TwoTower, AgreesWithItsFormula) {
  for (const bool towers : {false, true}) {
    Table t;
    TwoTowerOptions options{.width = 2, .mean = 3.5};
    if (towers) options.hidden = {3};
    const Value y = two_tower({t.a, 3}, {t.b, 4}, options);
    EXPECT_EQ(first_values(t.program).at("two_tower_0.bias").data, std::vector<double>{3.5});
    RefTensors p = noisy(t.program);
    const RefTensor values = run(t.program, y, t.inputs, p);
    const auto vector = [&](const std::string& name, std::size_t id) {
      const std::string scope = "two_tower_0/" + name + "/";
      std::vector<double> x = row_of(p.at(scope + "embedding_0.weight"), id);
      if (!towers) return x;
      x = linear(x, p.at(scope + "linear_0.weight"), &p.at(scope + "linear_0.bias"));
      for (double& unit : x) unit = relu(unit);
      return linear(x, p.at(scope + "linear_1.weight"), &p.at(scope + "linear_1.bias"));
    };
    for (std::size_t row = 0; row < 3; ++row) {
      const std::size_t a = t.id("a", row), b = t.id("b", row);
      const std::vector<double> u = vector("user", a), v = vector("item", b);
      const double expected = u[0] * v[0] + u[1] * v[1] + p.at("two_tower_0.bias").data[0] +
                              p.at("two_tower_0/user/embedding_1.weight").data[a] +
                              p.at("two_tower_0/item/embedding_1.weight").data[b];
      EXPECT_NEAR(values.data[row], expected, 1e-6) << towers;
    }
  }
}

}  // namespace
}  // namespace trireme::models
