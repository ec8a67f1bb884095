// quantize(): calibrates a model, makes bytes of its weights, and rewrites its Program.

#include "trireme/quantize.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"
#include "ir/program.h"
#include "session/compress/magnitude_histogram.h"
#include "transforms/prune.h"
#include "transforms/quantize.h"

namespace trireme {
namespace {

using transforms::QuantizableOp;
using transforms::QuantizedOperands;
using Kind = QuantizableOp::Kind;

constexpr int kUnsignedLevels = 255, kSignedLevels = 127;

// What the calibration finds out about one value.
struct Observed {
  MagnitudeHistogram histogram;
  std::vector<double> channel_sums;  // along the axis of input channels
  std::int64_t per_channel = 0;      // values that were added to each sum
};

// A weight as bytes, with a factor for each index of `axis`, or one factor if axis is -1.
struct Bytes {
  Tensor values;
  std::vector<float> scales;
};

// The weight is outer x channels x inner around its axis.
struct Layout {
  std::int64_t outer = 1, channels = 1, inner = 1;
  Layout(const Tensor& weight, int axis) {
    for (int i = 0; i < weight.rank(); ++i) {
      const std::int64_t size = weight.shape()[static_cast<std::size_t>(i)];
      (i < axis ? outer : i == axis ? channels : inner) *= size;
    }
  }
  std::int64_t channel_of(std::int64_t element) const { return element / inner % channels; }
};

Bytes to_bytes(const Tensor& weight, int axis, bool by_channel) {
  const Layout layout(weight, axis);
  const float* w = weight.data<float>();
  std::vector<float> largest(static_cast<std::size_t>(layout.channels), 0.0f);
  for (std::int64_t i = 0; i < weight.elements(); ++i) {
    float& of_channel = largest[static_cast<std::size_t>(layout.channel_of(i))];
    of_channel = std::max(of_channel, std::fabs(w[i]));
  }
  if (!by_channel && !largest.empty()) {
    std::fill(largest.begin(), largest.end(), *std::max_element(largest.begin(), largest.end()));
  }
  Bytes bytes{Tensor(DType::i8, weight.shape()), {}};
  for (const float value : largest) {
    // A channel of zeros, or of numbers that are too small to divide by, has no bytes but 0.
    const float scale = value / static_cast<float>(kSignedLevels);
    bytes.scales.push_back(scale >= std::numeric_limits<float>::min() ? scale : 0.0f);
  }
  auto* q = bytes.values.data<std::int8_t>();
  for (std::int64_t i = 0; i < weight.elements(); ++i) {
    const float scale = bytes.scales[static_cast<std::size_t>(layout.channel_of(i))];
    const float level = scale == 0 ? 0.0f : std::nearbyint(w[i] / scale);
    q[i] = static_cast<std::int8_t>(std::clamp(level, -127.0f, 127.0f));
  }
  return bytes;
}

double signal_to_noise(const Tensor& weight, const Bytes& bytes, int axis) {
  const Layout layout(weight, axis);
  const float* w = weight.data<float>();
  const auto* q = bytes.values.data<std::int8_t>();
  double signal = 0, noise = 0;
  for (std::int64_t i = 0; i < weight.elements(); ++i) {
    const double scale = bytes.scales[static_cast<std::size_t>(layout.channel_of(i))];
    const double error = static_cast<double>(w[i]) - scale * q[i];
    signal += static_cast<double>(w[i]) * static_cast<double>(w[i]);
    noise += error * error;
  }
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

Tensor vector_of(const std::vector<float>& numbers) {
  Tensor tensor(f32, {static_cast<std::int64_t>(numbers.size())});
  std::copy(numbers.begin(), numbers.end(), tensor.data<float>());
  return tensor;
}

class Quantizer {
 public:
  // Calibrates the model.
  Quantizer(Model& model, const std::vector<Feeds>& calibration, const QuantizeOptions& options)
      : model_(model),
        options_(options),
        found_(transforms::find_quantizable(model.program().ir())) {
    if (!(options.percentile > 0 && options.percentile <= 100)) {
      fail_usage("quantize: .percentile must be above 0 and at most 100");
    }
    if (found_.empty()) {
      fail_usage("quantize: the model \"" + model.name() +
                 "\" has no products, convolutions, lookups or loops with weights");
    }
    choose();
    calibrate(calibration);
    fetch_weights();
  }

  std::size_t count() const { return layers_.size(); }
  bool is_chosen(std::size_t i) const { return layers_[i].quantized; }

  // The model with all chosen layers but those for which `keep` returns true.
  QuantizedModel build(const std::function<bool(std::size_t)>& keep) const {
    Rewriting to{.program = model_.program().clone(), .layers = layers_};
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (!to.layers[i].quantized || !keep(i)) continue;
      to.layers[i].quantized = false;
      to.layers[i].reason = "to keep the score";
    }
    std::vector<std::pair<QuantizableOp, QuantizedOperands>> ops;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (to.layers[i].quantized) ops.emplace_back(found_[i], operands(i, to));
    }
    transforms::quantize_ops(to.program.ir(), ops);
    transforms::prune(to.program.ir(), {.keep_side_effects = false, .drop_parameters = true});
    return finish(std::move(to));
  }

 private:
  // A Program that is being made: a clone, whose ops have the positions of the model's.
  struct Rewriting {
    Program program;
    std::vector<QuantizedLayer> layers;
    std::map<const ir::Value*, std::string> names = {};  // of the bytes of weights
    std::map<std::string, Tensor> values = {};           // of new parameters
  };

  const ir::Op& op(std::size_t i) const {
    return *model_.program().ir().main().ops[found_[i].position];
  }
  const ir::Value* input(std::size_t i) const {
    return op(i).operands[static_cast<std::size_t>(found_[i].input)];
  }
  const ir::Value* weight(std::size_t i) const {
    return op(i).operands[static_cast<std::size_t>(found_[i].weight)];
  }
  const ir::Parameter& parameter_of(const ir::Value* value) const {
    return model_.program().ir().parameter_of(value);
  }
  bool needs_input(std::size_t i) const {
    const bool product = found_[i].kind == Kind::product || found_[i].kind == Kind::convolution;
    return product && !options_.weights_only;
  }

  void choose() {
    for (std::size_t i = 0; i < found_.size(); ++i) {
      // The layer of a loop's operand is that of the parameter.
      const ir::Location& location =
          found_[i].kind == Kind::loop ? parameter_of(weight(i)).location : op(i).location;
      QuantizedLayer layer{.layer = location.layer, .op = op(i).name()};
      layer.weight_elements = product(weight(i)->type.shape).constant();
      const bool kept = std::any_of(options_.keep.begin(), options_.keep.end(),
                                    [&](const auto& p) { return ir::matches(p, layer.layer); });
      if (kept) layer.reason = "kept by request";
      else if (layer.weight_elements == 0) layer.reason = "its weight is empty";
      layer.quantized = layer.reason.empty();
      layers_.push_back(std::move(layer));
    }
  }

  // Runs the model and observes the inputs of all products and convolutions.
  void calibrate(const std::vector<Feeds>& batches) {
    std::vector<Value> fetches;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (!layers_[i].quantized || !needs_input(i)) continue;
      if (observed_.try_emplace(input(i)).second) {
        fetches.emplace_back(const_cast<ir::Value*>(input(i)));
      }
    }
    if (fetches.empty()) return;
    if (batches.empty()) fail_usage("quantize: the calibration has no batches");
    for (const Feeds& batch : batches) {
      Feeds feeds = batch;
      std::erase_if(feeds, [&](const auto& feed) {
        return std::none_of(model_.inputs().begin(), model_.inputs().end(),
                            [&](const Model::Port& port) { return port.name == feed.first; });
      });
      const std::vector<Tensor> values = model_.session().run(feeds, fetches);
      for (std::size_t k = 0; k < values.size(); ++k) observe(fetches[k].get(), values[k]);
    }
    for (const auto& [value, observed] : observed_) {
      if (observed.histogram.count() == 0) {
        fail_usage("quantize: the calibration has no examples for an input of " +
                   layer_reading(value));
      }
    }
  }

  void observe(const ir::Value* value, const Tensor& tensor) {
    const std::span<const float> numbers(tensor.data<float>(),
                                         static_cast<std::size_t>(tensor.elements()));
    const auto bad =
        std::find_if(numbers.begin(), numbers.end(), [](float x) { return !std::isfinite(x); });
    if (bad != numbers.end()) {
      fail_data(fmt::format("quantize: the calibration gives {} as an input of {}",
                            std::isnan(*bad) ? "NaN" : "infinity", layer_reading(value)));
    }
    Observed& observed = observed_[value];
    observed.histogram.add(numbers);
    const Layout layout(tensor, channel_axis(value));
    observed.channel_sums.resize(static_cast<std::size_t>(layout.channels));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::int64_t channel = layout.channel_of(static_cast<std::int64_t>(i));
      observed.channel_sums[static_cast<std::size_t>(channel)] += static_cast<double>(numbers[i]);
    }
    observed.per_channel += layout.outer * layout.inner;
  }

  std::size_t reader_of(const ir::Value* value) const {
    std::size_t i = 0;
    while (!needs_input(i) || input(i) != value) ++i;
    return i;
  }
  std::string layer_reading(const ir::Value* value) const {
    const QuantizedLayer& layer = layers_[reader_of(value)];
    return layer.layer.empty() ? "an op " + layer.op : "layer \"" + layer.layer + "\"";
  }
  int channel_axis(const ir::Value* value) const { return found_[reader_of(value)].result_axis; }

  void fetch_weights() {
    std::vector<Value> fetches;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      fetches.emplace_back(const_cast<ir::Value*>(weight(i)));
    }
    weights_ = model_.session().run({}, fetches);
  }

  // A weight that several ops read is stored once. If they need scales along different axes, it has
  // one scale.
  bool by_channel(std::size_t i, const Rewriting& to) const {
    for (std::size_t k = 0; k < found_.size(); ++k) {
      const bool other = to.layers[k].quantized && weight(k) == weight(i);
      if (other && found_[k].weight_axis != found_[i].weight_axis) return false;
    }
    return true;
  }

  QuantizedOperands operands(std::size_t i, Rewriting& to) const {
    const Bytes bytes = to_bytes(weights_[i], found_[i].weight_axis, by_channel(i, to));
    QuantizedLayer& layer = to.layers[i];
    QuantizedOperands how;
    if (needs_input(i)) choose_input(observed_.at(input(i)).histogram, how, layer);
    layer.weight_signal_to_noise = signal_to_noise(weights_[i], bytes, found_[i].weight_axis);
    std::string& name = to.names[weight(i)];
    if (name.empty()) {
      const bool is_parameter = weight(i)->kind == ir::ValueKind::parameter;
      const std::string owner = layer.layer.empty() ? layer.op : layer.layer;
      name = add_parameter(to, (is_parameter ? weight(i)->name : owner + ".weight") + ".i8",
                           bytes.values);
    }
    how.weight = name;
    std::vector<float> factors = bytes.scales;
    if (how.input_scale > 0) {
      for (float& factor : factors) factor *= how.input_scale;
    }
    const std::string stem = name.substr(0, name.rfind(".i8"));
    how.scale = add_parameter(to, stem + ".scale", vector_of(factors));
    // The means of an input are those along one axis, that of its first reader.
    const bool known_means = needs_input(i) && channel_axis(input(i)) == found_[i].result_axis;
    if (options_.bias_correction && known_means) {
      how.bias = add_parameter(to, stem + ".correction", vector_of(correction(i, bytes)));
    }
    return how;
  }

  void choose_input(const MagnitudeHistogram& histogram, QuantizedOperands& how,
                    QuantizedLayer& layer) const {
    how.is_unsigned = !histogram.has_negative();
    const int levels = how.is_unsigned ? kUnsignedLevels : kSignedLevels;
    layer.input_maximum = histogram.limit(options_, levels);
    how.input_scale = static_cast<float>(layer.input_maximum / levels);
    // Of an input that is always 0, every byte is 0.
    if (!(how.input_scale >= std::numeric_limits<float>::min())) how.input_scale = 1;
  }

  // Returns, for each output channel, the result of the mean input with the error of the weight,
  // negated.
  std::vector<float> correction(std::size_t i, const Bytes& bytes) const {
    const int axis = found_[i].weight_axis;
    const Layout outputs(weights_[i], axis), inputs(weights_[i], 1 - axis);
    const Observed& observed = observed_.at(input(i));
    std::vector<double> errors(static_cast<std::size_t>(outputs.channels), 0.0);
    const float* w = weights_[i].data<float>();
    const auto* q = bytes.values.data<std::int8_t>();
    for (std::int64_t k = 0; k < weights_[i].elements(); ++k) {
      const auto out = static_cast<std::size_t>(outputs.channel_of(k));
      const auto in = static_cast<std::size_t>(inputs.channel_of(k));
      const double mean = observed.channel_sums[in] / static_cast<double>(observed.per_channel);
      const double rounded = static_cast<double>(bytes.scales[out]) * q[k];
      errors[out] += mean * (static_cast<double>(w[k]) - rounded);
    }
    return {errors.begin(), errors.end()};
  }

  static std::string add_parameter(Rewriting& to, const std::string& stem, Tensor value) {
    std::string name = stem;
    for (int i = 1; to.program.ir().find_parameter(name) != nullptr; ++i) {
      name = stem + "_" + std::to_string(i);
    }
    const Shape shape(value.shape().begin(), value.shape().end());
    to.program.ir().add_parameter(name, {value.dtype(), shape, ""}, Initializer{}, false, {});
    to.values.emplace(name, std::move(value));
    return name;
  }

  QuantizedModel finish(Rewriting to) const {
    QuantizedModel result{.model = model_.with(std::move(to.program)),
                          .layers = std::move(to.layers)};
    for (const auto& parameter : model_.program().ir().parameters()) {
      result.parameter_bytes_before += bytes_of(parameter->value->type);
    }
    Session& session = result.model.session();
    for (const auto& parameter : result.model.program().ir().parameters()) {
      const std::string& name = parameter->name();
      const auto found = to.values.find(name);
      session.set_parameter(
          name, found != to.values.end() ? found->second : model_.session().parameter(name));
      result.parameter_bytes += bytes_of(parameter->value->type);
    }
    return result;
  }

  static std::int64_t bytes_of(const ir::Type& type) {
    return product(type.shape).constant() * static_cast<std::int64_t>(size_of(type.dtype));
  }

  Model& model_;
  const QuantizeOptions& options_;
  const std::vector<QuantizableOp> found_;
  std::vector<QuantizedLayer> layers_;
  std::map<const ir::Value*, Observed> observed_;
  std::vector<Tensor> weights_;
};

}  // namespace

QuantizedModel quantize(Model& model, const std::vector<Feeds>& calibration,
                        const QuantizeOptions& options) {
  return Quantizer(model, calibration, options).build([](std::size_t) { return false; });
}

QuantizedModel quantize_within(Model& model, const std::vector<Feeds>& calibration, double max_drop,
                               const std::function<double(Model&)>& score,
                               const QuantizeOptions& options) {
  if (!(max_drop >= 0)) fail_usage("quantize: the largest drop must not be negative");
  const Quantizer quantizer(model, calibration, options);
  const double before = score(model);
  const auto drop = [&](QuantizedModel& quantized) { return before - score(quantized.model); };
  QuantizedModel best = quantizer.build([](std::size_t) { return false; });
  if (drop(best) <= max_drop) return best;

  std::vector<std::pair<double, std::size_t>> costs;  // of quantizing one layer alone
  for (std::size_t i = 0; i < quantizer.count(); ++i) {
    if (!quantizer.is_chosen(i)) continue;
    QuantizedModel alone = quantizer.build([&](std::size_t k) { return k != i; });
    costs.emplace_back(drop(alone), i);
  }
  std::sort(costs.begin(), costs.end(), std::greater<>());
  std::set<std::size_t> kept;
  for (const auto& [cost, layer] : costs) {
    kept.insert(layer);
    if (kept.size() == costs.size()) break;
    best = quantizer.build([&](std::size_t k) { return kept.contains(k); });
    if (drop(best) <= max_drop) return best;
  }
  fail_usage(
      fmt::format("quantize: no layer can become bytes with a drop of at most {}", max_drop));
}

QuantizeOptions::Range parse_range(const std::string& name) {
  using Range = QuantizeOptions::Range;
  static const std::map<std::string, Range> ranges{{"min_max", Range::min_max},
                                                   {"percentile", Range::percentile},
                                                   {"entropy", Range::entropy},
                                                   {"mse", Range::mse}};
  const auto found = ranges.find(name);
  if (found != ranges.end()) return found->second;
  fail_usage("there is no range \"" + name + "\"\n  ranges  min_max, percentile, entropy, mse");
}

}  // namespace trireme
