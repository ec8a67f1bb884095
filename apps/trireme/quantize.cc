// trireme quantize: makes bytes of the weights of a saved model, and of the inputs of its products.

#include "trireme/quantize.h"

#include <algorithm>
#include <chrono>
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
#include "trireme/ragged.h"
#include "written.h"

namespace commands {
namespace {

namespace tr = trireme;

// Of a model that writes texts: batches of source texts.
std::vector<tr::Feeds> texts_for(const QuantizeArguments& arguments, const tr::Model& model) {
  const std::vector<std::string> texts = open_pairs(arguments.calibrate).source;
  const std::string& input = model.inputs().at(0).name;
  const tr::text::Encoder& encoder = model.text().at(input);
  const auto size = static_cast<std::int64_t>(texts.size());
  const std::int64_t wanted = std::min(arguments.examples, size);
  std::vector<tr::Feeds> batches;
  for (std::int64_t i = 0; i < wanted; ++i) {
    const auto row = static_cast<std::size_t>(i * size / wanted);
    const std::vector<std::vector<std::int64_t>> ids{encoder.encode(texts[row])};
    tr::RaggedTensor::from(ids).add_to(batches.emplace_back(), input);
  }
  return batches;
}

std::vector<tr::Feeds> calibration_of(const QuantizeArguments& arguments, const tr::Model& model) {
  if (arguments.calibrate.empty()) return {};
  if (tr::writes_texts(model)) return texts_for(arguments, model);
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
    if (tr::writes_texts(model)) pairs_ = open_pairs(arguments.data, arguments.limit);
    else dataset_ = tr::open_data(arguments.data, model);
    if (dataset_ && arguments.limit > 0) {
      dataset_ = dataset_->take(std::min(arguments.limit, dataset_->size()));
    }
  }
  bool exists() const { return dataset_ || pairs_; }
  const std::string& metric() const { return metric_; }
  bool is_error() const {
    return metric_ == "loss" || metric_ == "mse" || metric_ == "mae" || metric_ == "rmse";
  }

  double operator()(tr::Model& model) {
    if (pairs_) {
      metric_ = "bleu";
      return bleu_of(model, *pairs_, batch_);
    }
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
  std::optional<TextPairs> pairs_;
};

struct Milliseconds {
  double before = 0, after = 0;
};

// Median times of predicting one example, in turn, for at most about a second.
Milliseconds time_of(tr::Model& model, tr::Model& quantized, const tr::Feeds& feeds) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> before, after;
  const auto run = [&](tr::Model& one, std::vector<double>& times) {
    const Clock::time_point start = Clock::now();
    one.predict(feeds);
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  };
  const auto median = [](std::vector<double>& times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  };
  model.predict(feeds);
  quantized.predict(feeds);
  const Clock::time_point start = Clock::now();
  while (before.empty() ||
         (before.size() < 200 && Clock::now() - start < std::chrono::seconds(1))) {
    run(model, before);
    run(quantized, after);
  }
  return {median(before), median(after)};
}

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
  std::printf("%s\n",
              table({"layer", "op", "weights", "SNR dB", "input max", "now"}, rows).c_str());
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
    // Points: hundredths of the metric, or of BLEU, which goes to 100, units. Of an error, percent.
    const double unit = score.is_error()           ? std::fabs(before) / 100
                        : score.metric() == "bleu" ? 1
                                                   : 0.01;
    const double drop = arguments.max_drop * unit;
    return tr::quantize_within(
        model, calibration, drop, [&](tr::Model& other) { return score(other); },
        arguments.options);
  }();
  const std::string output = arguments.output.empty() ? arguments.model + "-i8" : arguments.output;
  tr::save_model(result.model, output);
  const double after = score.exists() ? score(result.model) : 0;
  const double ratio = static_cast<double>(result.parameter_bytes_before) /
                       static_cast<double>(std::max<std::int64_t>(1, result.parameter_bytes));
  const Milliseconds time =
      calibration.empty() ? Milliseconds{} : time_of(model, result.model, calibration[0]);
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
    if (!calibration.empty()) {
      json["milliseconds_before"] = time.before;
      json["milliseconds"] = time.after;
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
  if (!calibration.empty()) {
    std::printf("one example: %.3f ms before, %.3f ms after\n", time.before, time.after);
  }
}

}  // namespace commands
