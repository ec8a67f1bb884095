#include "trireme/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/testing/directory.h"
#include "base/testing/noise.h"
#include "ir/program.h"
#include "trireme/trireme.h"

namespace trireme {
namespace {

// A network with convolutions, products and a lookup; two ops read the activations of the first.
Program network() {
  Program program("small");
  const Value image = program.input("image", f32, {batch, 3, 7, 7});
  const Value word = program.input("word", i64, {batch});
  const Value first =
      nn::relu(nn::batch_norm(nn::conv2d(image, {.channels = 8, .kernel = 3, .padding = 1})));
  const Value second = nn::relu(nn::conv2d(first, {.channels = 8, .kernel = 3, .padding = 1}));
  const Value pooled = mean(first + second, {.axes = {2, 3}});
  const Value joined =
      concat({pooled, nn::embedding(word, {.num_embeddings = 11, .dim = 5})}, {.axis = 1});
  const Value hidden = tanh(nn::linear(joined, {.units = 33}));
  program.set_outputs({nn::linear(hidden, {.units = 4})});
  return program;
}

Feeds batch_of(std::int64_t n, unsigned seed) {
  Tensor words(i64, {n});
  for (std::int64_t i = 0; i < n; ++i) words.data<std::int64_t>()[i] = (i * 7 + seed) % 11;
  return {{"image", noise({n, 3, 7, 7}, seed, -1, 1)}, {"word", words}};
}

Model saved(const Program& program, const std::string& folder) {
  Session session(program, {.seed = 5});
  save_model(program, session, folder, {.outputs = program.outputs(), .target = "label"});
  return load_model(folder);
}

// The largest error in units of the standard deviation of the correct numbers.
double error(const Tensor& actual, const Tensor& expected) {
  double sum = 0, largest = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const auto right = static_cast<double>(expected.data<float>()[i]);
    sum += right * right;
    largest = std::max(largest, std::fabs(static_cast<double>(actual.data<float>()[i]) - right));
  }
  return largest / std::sqrt(sum / static_cast<double>(expected.elements()));
}

class Quantize : public ::testing::Test {
 protected:
  TestDirectory folder_;
  Program program_ = network();
  Model model_ = saved(program_, folder_.path() + "/model");
  const std::vector<Feeds> calibration_{batch_of(40, 1), batch_of(40, 2)};
  const Feeds test_ = batch_of(64, 9);
};

TEST_F(Quantize, IsNearTheModelAndFourTimesSmaller) {
  const Tensor expected = model_.predict(test_)[0];
  QuantizedModel quantized = quantize(model_, calibration_);
  ASSERT_EQ(quantized.layers.size(), 5u);
  for (const QuantizedLayer& layer : quantized.layers) {
    EXPECT_TRUE(layer.quantized) << layer.layer;
    EXPECT_GT(layer.weight_signal_to_noise, 35) << layer.layer;
  }
  EXPECT_LT(error(quantized.model.predict(test_)[0], expected), 0.05);
  int bytes = 0;
  for (const auto& parameter : quantized.model.program().ir().parameters()) {
    bytes += parameter->value->type.dtype == i8 ? 1 : 0;
    if (parameter->value->type.rank() > 1) EXPECT_EQ(parameter->value->type.dtype, i8);
  }
  EXPECT_EQ(bytes, 5);
  EXPECT_LT(quantized.parameter_bytes, quantized.parameter_bytes_before / 2);
}

TEST_F(Quantize, InterpretedAndCompiledModelsGiveEqualBits) {
  QuantizedModel quantized = quantize(model_, calibration_);
  save_model(quantized.model, folder_.path() + "/bytes");
  const Tensor compiled = quantized.model.predict(test_)[0];
  Model loaded = load_model(folder_.path() + "/bytes", {.interpreter = true});
  EXPECT_TRUE(equal(loaded.predict(test_)[0], compiled));
  Model unfused = load_model(folder_.path() + "/bytes", {.threads = 2, .fuse = false});
  EXPECT_TRUE(equal(unfused.predict(test_)[0], compiled));
}

TEST_F(Quantize, WeightsOnlyNeedsNoCalibration) {
  const Tensor expected = model_.predict(test_)[0];
  QuantizedModel quantized = quantize(model_, {}, {.weights_only = true});
  EXPECT_LT(error(quantized.model.predict(test_)[0], expected), 0.03);
}

TEST_F(Quantize, KeepsLayersByName) {
  QuantizedModel quantized = quantize(model_, calibration_, {.keep = {"conv2d_*"}});
  int kept = 0;
  for (const QuantizedLayer& layer : quantized.layers) kept += layer.quantized ? 0 : 1;
  EXPECT_EQ(kept, 2);
}

// The score counts layers of bytes: only the first two may stay.
TEST_F(Quantize, FallsBackUntilTheScoreHolds) {
  const auto score = [](Model& model) {
    double sum = 0;
    for (const auto& parameter : model.program().ir().parameters()) {
      if (parameter->value->type.dtype != i8) continue;
      sum += parameter->name().starts_with("conv2d") ? 0.1 : 1;
    }
    return -sum;
  };
  QuantizedModel quantized = quantize_within(model_, calibration_, 0.25, score);
  for (const QuantizedLayer& layer : quantized.layers) {
    EXPECT_EQ(layer.quantized, layer.layer.starts_with("conv2d")) << layer.layer;
  }
  EXPECT_THROW(quantize_within(model_, calibration_, 0.05, score), Error);
}

TEST_F(Quantize, RefusesBadCalibrations) {
  const auto refused = [&](const std::vector<Feeds>& calibration, const std::string& part,
                           const QuantizeOptions& options = {}) {
    try {
      quantize(model_, calibration, options);
      ADD_FAILURE() << "accepted; expected to hear of: " << part;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  refused({}, "no batches");
  refused({batch_of(0, 1)}, "no examples");
  Feeds damaged = batch_of(4, 1);
  damaged.at("image").data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  refused({damaged}, "NaN as an input of layer \"conv2d_0\"");
  damaged.at("image").data<float>()[5] = std::numeric_limits<float>::infinity();
  refused({damaged}, "infinity as an input of layer \"conv2d_0\"");
  refused({{{"word", Tensor(i64, {4})}}}, "image");
  refused(calibration_, "percentile", {.percentile = 0});
  refused(calibration_, "percentile", {.percentile = std::numeric_limits<double>::quiet_NaN()});
}

TEST_F(Quantize, AModelTakesProgramsWithItsInputsAndOutputsOnly) {
  EXPECT_EQ(model_.with(model_.program().clone()).target(), "label");
  Program other("other");
  other.set_outputs({other.input("image", f32, {batch, 3, 7, 7})});
  EXPECT_THROW((void)model_.with(std::move(other)), Error);
}

// A lookup of columns has its scales along another axis, and stays.
TEST_F(Quantize, TakesLookupsOfRowsOnly) {
  Program program("lookups");
  const Value ids = program.input("ids", i64, {batch});
  const Initializer some = nn::normal(0, 1);
  const Value rows = program.parameter("rows", f32, {6, 5}, {.initializer = some});
  const Value columns = program.parameter("columns", f32, {5, 6}, {.initializer = some});
  program.set_outputs(
      {gather(rows, ids) + transpose(gather(columns, ids, {.axis = 1}), {.permutation = {1, 0}})});
  Model model = saved(program, folder_.path() + "/lookups");
  const Feeds feeds{{"ids", Tensor::from<std::int64_t>({4}, {0, 5, 2, 2})}};
  const Tensor expected = model.predict(feeds)[0];
  QuantizedModel quantized = quantize(model, {}, {.weights_only = true});
  ASSERT_EQ(quantized.layers.size(), 1u);
  EXPECT_EQ(quantized.layers[0].weight_elements, 30);
  EXPECT_LT(error(quantized.model.predict(feeds)[0], expected), 0.03);
}

// A constant input has no range: its bytes are 0 or one level.
TEST_F(Quantize, AcceptsAConstantCalibration) {
  Feeds zeros = batch_of(4, 1);
  zeros["image"] = Tensor(f32, {4, 3, 7, 7});
  QuantizedModel quantized = quantize(model_, {zeros});
  for (const float number : quantized.model.predict(test_)[0].to_vector<float>()) {
    EXPECT_TRUE(std::isfinite(number));
  }
}

}  // namespace
}  // namespace trireme
