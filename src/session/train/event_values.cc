#include "session/train/event_values.h"

#include <fmt/core.h>
#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "base/error.h"
#include "trireme/image.h"

namespace trireme {
namespace {

static_assert(std::endian::native == std::endian::little);  // of tensor_content

// Field numbers of tensorboard's summary.proto, tensor.proto and of the plugin of curves.
namespace summary_field {
constexpr int kTag = 1, kSimple = 2, kImage = 4, kHistogram = 5, kTensor = 8, kMetadata = 9;
constexpr int kMinimum = 1, kMaximum = 2, kCount = 3, kSum = 4, kSumSquares = 5, kLimits = 6,
              kCounts = 7;
constexpr int kHeight = 1, kWidth = 2, kChannels = 3, kEncoded = 4;
constexpr int kPlugin = 1, kPluginName = 1, kPluginContent = 2, kDataClass = 4, kTensorClass = 2;
constexpr int kCurveThresholds = 2;
constexpr int kDtype = 1, kShape = 2, kContent = 4, kDim = 2, kDimSize = 1, kFloat = 1;
}  // namespace summary_field

using protozero::pbf_writer;

std::string tagged(std::string_view tag) {
  std::string value;
  pbf_writer(value).add_string(summary_field::kTag, tag.data(), tag.size());
  return value;
}

// A float tensor [rows, columns].
std::string tensor_proto(const std::vector<const std::vector<float>*>& rows) {
  std::string shape, content, tensor;
  for (const std::size_t size : {rows.size(), rows.front()->size()}) {
    std::string dim;
    pbf_writer(dim).add_int64(summary_field::kDimSize, static_cast<std::int64_t>(size));
    pbf_writer(shape).add_message(summary_field::kDim, dim);
  }
  for (const std::vector<float>* row : rows) {
    content.append(reinterpret_cast<const char*>(row->data()), row->size() * sizeof(float));
  }
  pbf_writer writer(tensor);
  writer.add_enum(summary_field::kDtype, summary_field::kFloat);
  writer.add_message(summary_field::kShape, shape);
  writer.add_bytes(summary_field::kContent, content);
  return tensor;
}

// Their intervals share ends, so that the ends of one are compared and not computed twice.
std::size_t bin_of(double value, double minimum, const std::vector<double>& limits, double width) {
  const auto last = static_cast<double>(limits.size() - 1);
  auto bin = static_cast<std::size_t>(
      width > 0 ? std::clamp((value / width) - (minimum / width), 0.0, last) : 0.0);
  while (bin > 0 && value < limits[bin - 1]) --bin;
  while (bin + 1 < limits.size() && value >= limits[bin]) ++bin;
  return bin;
}

}  // namespace

Histogram histogram_of(const Tensor& values, int bins) {
  if (bins < 1) fail_usage(fmt::format("a histogram has 1 bin or more, not {}", bins));
  const Tensor wide = values.cast(f64);
  Histogram made;
  std::vector<double> finite;
  for (std::int64_t i = 0; i < wide.elements(); ++i) {
    if (std::isfinite(wide.data<double>()[i])) finite.push_back(wide.data<double>()[i]);
  }
  made.count = static_cast<std::int64_t>(finite.size());
  if (!finite.empty()) {
    const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
    made.minimum = *low;
    made.maximum = *high;
  }
  // Readers expect an interval, also of equal values or none.
  const std::size_t number =
      made.minimum < made.maximum ? static_cast<std::size_t>(bins) : std::size_t{1};
  made.counts.resize(number);
  const double width = made.maximum / static_cast<double>(number) -
                       made.minimum / static_cast<double>(number);  // no overflow
  for (std::size_t i = 1; i < number; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(number);
    const double limit = made.minimum + static_cast<double>(i) * width;
    made.limits.push_back(std::isfinite(limit) ? limit
                                               : made.minimum * (1 - share) + made.maximum * share);
  }
  made.limits.push_back(made.maximum);
  for (const double value : finite) {
    made.counts[bin_of(value, made.minimum, made.limits, width)] += 1;
    made.sum += value;
    made.sum_squares += value * value;
  }
  return made;
}

PrCurve pr_curve_of(const Tensor& scores, const Tensor& labels, int thresholds) {
  if (scores.shape() != labels.shape()) {
    fail_usage(fmt::format("pr_curve: scores are {} and labels {}: the shapes must be equal",
                           scores.type_str(), labels.type_str()));
  }
  if (thresholds < 2) fail_usage(fmt::format("pr_curve: 2 thresholds or more, not {}", thresholds));
  const Tensor score = scores.cast(f64), label = labels.cast(f64);
  std::vector<double> steps, positives, negatives;
  for (int i = 0; i < thresholds; ++i) steps.push_back(static_cast<double>(i) / (thresholds - 1));
  // Elements by the number of thresholds that they reach.
  const auto number = static_cast<std::size_t>(thresholds);
  positives.resize(number + 1);
  negatives.resize(number + 1);
  for (std::int64_t i = 0; i < score.elements(); ++i) {
    const double value = score.data<double>()[i], right = label.data<double>()[i];
    if (std::isnan(value)) fail_data(fmt::format("pr_curve: score {} is NaN", i));
    if (right != 0 && right != 1) {
      fail_data(fmt::format("pr_curve: label {} is {}, which is neither 0 nor 1", i, right));
    }
    const auto reached = static_cast<std::size_t>(
        std::upper_bound(steps.begin(), steps.end(), value) - steps.begin());
    (right == 1 ? positives : negatives)[reached] += 1;
  }
  PrCurve curve;
  double all_positives = 0, all_negatives = 0;
  for (std::size_t i = 0; i <= number; ++i) {
    all_positives += positives[i];
    all_negatives += negatives[i];
  }
  double right = all_positives, wrong = all_negatives;
  for (std::size_t i = 0; i < number; ++i) {
    right -= positives[i];  // those that reach i thresholds are below the one at place i
    wrong -= negatives[i];
    const auto part = [](double a, double b) { return static_cast<float>(b > 0 ? a / b : 0); };
    curve.true_positives.push_back(static_cast<float>(right));
    curve.false_positives.push_back(static_cast<float>(wrong));
    curve.true_negatives.push_back(static_cast<float>(all_negatives - wrong));
    curve.false_negatives.push_back(static_cast<float>(all_positives - right));
    curve.precision.push_back(part(right, right + wrong));
    curve.recall.push_back(part(right, all_positives));
  }
  return curve;
}

std::string scalar_value(std::string_view tag, double value) {
  std::string made = tagged(tag);
  pbf_writer(made).add_float(summary_field::kSimple, static_cast<float>(value));
  return made;
}

std::string histogram_value(std::string_view tag, const Histogram& histogram) {
  std::string made = tagged(tag), message;
  pbf_writer writer(message);
  writer.add_double(summary_field::kMinimum, histogram.minimum);
  writer.add_double(summary_field::kMaximum, histogram.maximum);
  writer.add_double(summary_field::kCount, static_cast<double>(histogram.count));
  writer.add_double(summary_field::kSum, histogram.sum);
  writer.add_double(summary_field::kSumSquares, histogram.sum_squares);
  writer.add_packed_double(summary_field::kLimits, histogram.limits.begin(),
                           histogram.limits.end());
  writer.add_packed_double(summary_field::kCounts, histogram.counts.begin(),
                           histogram.counts.end());
  pbf_writer(made).add_message(summary_field::kHistogram, message);
  return made;
}

std::string image_value(std::string_view tag, const Tensor& image) {
  const std::string png = image::encode_png(image);
  std::string made = tagged(tag), message;
  pbf_writer writer(message);
  writer.add_int32(summary_field::kHeight, static_cast<std::int32_t>(image.dim(0)));
  writer.add_int32(summary_field::kWidth, static_cast<std::int32_t>(image.dim(1)));
  writer.add_int32(summary_field::kChannels, static_cast<std::int32_t>(image.dim(2)));
  writer.add_bytes(summary_field::kEncoded, png);
  pbf_writer(made).add_message(summary_field::kImage, message);
  return made;
}

std::string pr_curve_value(std::string_view tag, const PrCurve& curve) {
  std::string content, plugin, metadata, made = tagged(tag);
  pbf_writer(content).add_uint32(summary_field::kCurveThresholds,
                                 static_cast<std::uint32_t>(curve.precision.size()));
  pbf_writer plugin_writer(plugin);
  plugin_writer.add_string(summary_field::kPluginName, "pr_curves");
  plugin_writer.add_bytes(summary_field::kPluginContent, content);
  pbf_writer metadata_writer(metadata);
  metadata_writer.add_message(summary_field::kPlugin, plugin);
  metadata_writer.add_enum(summary_field::kDataClass, summary_field::kTensorClass);
  pbf_writer writer(made);
  writer.add_message(summary_field::kMetadata, metadata);
  writer.add_message(
      summary_field::kTensor,
      tensor_proto({&curve.true_positives, &curve.false_positives, &curve.true_negatives,
                    &curve.false_negatives, &curve.precision, &curve.recall}));
  return made;
}

}  // namespace trireme
