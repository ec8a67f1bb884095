// trireme quantize: makes bytes of the weights of a saved model, and of the inputs of its products.

#include "trireme/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "commands.h"
#include "support.h"
#include "trireme/error.h"
#include "trireme/job.h"
#include "trireme/metrics.h"

namespace commands {
namespace {

namespace tr = trireme;

std::vector<tr::Feeds> calibration_of(const QuantizeArguments& arguments, const tr::Model& model) {
  if (arguments.calibrate.empty()) return {};
  const tr::data::Dataset dataset = tr::open_inputs(arguments.calibrate, model);
  std::vector<tr::Feeds> batches;
  // Examples of all parts of the data: files are often sorted by class.
  const std::int64_t size = dataset.size(), wanted = std::min(arguments.examples, size);
  for (std::int64_t i = 0; i < wanted; ++i) {
    const std::int64_t row = i * size / wanted;
    batches.push_back(inputs_of(model, dataset.rows(row, row + 1)));
  }
  return batches;
}

// The number that must not drop: a metric, larger if better.
class Score {
 public:
  Score(const QuantizeArguments& arguments, const tr::Model& model)
      : metric_(arguments.metric), batch_(arguments.batch) {
    if (arguments.data.empty()) return;
    dataset_ = tr::open_data(arguments.data, model);
  }
  bool exists() const { return dataset_.has_value(); }
  const std::string& metric() const { return metric_; }
  bool is_error() const {
    return metric_ == "loss" || metric_ == "mse" || metric_ == "mae" || metric_ == "rmse";
  }

  double operator()(tr::Model& model) {
    const tr::Metrics metrics = tr::evaluate(model, dataset_->batch(batch_));
    if (metric_.empty()) {
      metric_ = metrics.has("auc") ? "auc" : metrics.has("accuracy") ? "accuracy" : "mse";
      if (metric_ == "mse" && !metrics.has("mse")) metric_ = "loss";
    }
    if (!metrics.has(metric_)) {
      throw tr::Error(tr::ErrorKind::usage, "--metric: nothing measures \"" + metric_ + "\"");
    }
    return is_error() ? -metrics[metric_] : metrics[metric_];
  }

 private:
  std::string metric_;
  std::int64_t batch_;
  std::optional<tr::data::Dataset> dataset_;
};

void print_layers(const std::vector<tr::QuantizedLayer>& layers) {
  std::vector<std::vector<std::string>> rows;
  char text[32];
  for (const tr::QuantizedLayer& layer : layers) {
    std::snprintf(text, sizeof text, "%.1f", layer.weight_signal_to_noise);
    const std::string noise = layer.quantized ? text : "";
    std::snprintf(text, sizeof text, "%.4g", layer.input_maximum);
    rows.push_back({layer.layer, layer.op, std::to_string(layer.weight_elements), noise,
                    layer.input_maximum > 0 && layer.quantized ? text : "",
                    layer.quantized ? "i8" : "f32, " + layer.reason});
  }
  std::printf("%s\n", table({"layer", "op", "weights", "SNR dB", "input max", "now"}, rows).c_str());
}

nlohmann::ordered_json layers_json(const std::vector<tr::QuantizedLayer>& layers) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const tr::QuantizedLayer& layer : layers) {
    nlohmann::ordered_json json{{"layer", layer.layer},
                                {"op", layer.op},
                                {"weights", layer.weight_elements},
                                {"quantized", layer.quantized}};
    if (!layer.reason.empty()) json["reason"] = layer.reason;
    if (std::isfinite(layer.weight_signal_to_noise)) {
      json["weight_signal_to_noise"] = layer.weight_signal_to_noise;
    }
    json["input_maximum"] = layer.input_maximum;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

void quantize(QuantizeArguments arguments) {
  arguments.options.range = tr::parse_range(arguments.range);
  if (arguments.calibrate.empty() && !arguments.options.weights_only) {
    throw tr::Error(tr::ErrorKind::usage,
                    "quantize: --calibrate DATA is missing; --weights-only needs none");
  }
  if (arguments.max_drop >= 0 && arguments.data.empty()) {
    throw tr::Error(tr::ErrorKind::usage, "quantize: --max-drop needs --data DATA to measure with");
  }
  tr::Model model = tr::load_model(arguments.model, arguments.session);
  Score score(arguments, model);
  const std::vector<tr::Feeds> calibration = calibration_of(arguments, model);
  const double before = score.exists() ? score(model) : 0;
  tr::QuantizedModel result = [&] {
    if (arguments.max_drop < 0) return tr::quantize(model, calibration, arguments.options);
    // Points, hundredths of the metric; of an error, percent of it.
    const double drop = arguments.max_drop / 100 * (score.is_error() ? std::fabs(before) : 1);
    return tr::quantize_within(
        model, calibration, drop, [&](tr::Model& other) { return score(other); },
        arguments.options);
  }();
  const std::string output =
      arguments.output.empty() ? arguments.model + "-i8" : arguments.output;
  tr::save_model(result.model, output);
  const double after = score.exists() ? score(result.model) : 0;
  const double ratio = static_cast<double>(result.parameter_bytes_before) /
                       static_cast<double>(std::max<std::int64_t>(1, result.parameter_bytes));
  if (arguments.json) {
    nlohmann::ordered_json json = {{"folder", output},
                                   {"parameter_bytes_before", result.parameter_bytes_before},
                                   {"parameter_bytes", result.parameter_bytes},
                                   {"layers", layers_json(result.layers)}};
    if (score.exists()) {
      json["metric"] = score.metric();
      json["before"] = std::fabs(before);
      json["after"] = std::fabs(after);
    }
    std::printf("%s\n", json_text(json, 2).c_str());
    return;
  }
  print_layers(result.layers);
  std::printf("%s: parameters have %lld bytes, %.2f times fewer than %lld\n", output.c_str(),
              static_cast<long long>(result.parameter_bytes), ratio,
              static_cast<long long>(result.parameter_bytes_before));
  if (score.exists()) {
    std::printf("%s: %.6g before, %.6g after\n", score.metric().c_str(), std::fabs(before),
                std::fabs(after));
  }
}

}  // namespace commands
