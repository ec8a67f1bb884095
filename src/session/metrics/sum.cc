#include "session/metrics/sum.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <ostream>

#include "base/error.h"

namespace trireme {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double number_of(const Metric& metric, const Tensor& value) {
  if (value.elements() != 1) {
    fail_usage("metric \"" + metric.name + "\" is " + value.type_str() + ", not one number");
  }
  return value.cast(f64).data<double>()[0];
}

// The two parts of a ratio.
std::pair<double, double> ratio_of(const Metric& metric, const Tensor& value) {
  if (value.shape() != std::vector<std::int64_t>{2}) {
    fail_usage("metric \"" + metric.name + "\" is " + value.type_str() + ", not a ratio [2]");
  }
  const Tensor parts = value.cast(f64);
  return {parts.data<double>()[0], parts.data<double>()[1]};
}

void check_part(const Metric& metric, const std::vector<Tensor>& parts, const Tensor& part) {
  if (part.rank() == 0) {
    fail_usage("metric \"" + metric.name + "\" is a scalar, which has no axis to be joined along");
  }
  if (parts.empty()) return;
  const Tensor& first = parts[0];
  if (part.dtype() == first.dtype() && part.rank() == first.rank() &&
      std::equal(part.shape().begin() + 1, part.shape().end(), first.shape().begin() + 1)) {
    return;
  }
  fail_usage("metric \"" + metric.name + "\" changes its shape from batch to batch");
}

void add_to(const Metric& metric, std::vector<Tensor>& sum, const Tensor& value) {
  if (sum.empty()) {
    sum.push_back(value);
    return;
  }
  if (sum[0].shape() != value.shape()) {
    fail_usage("metric \"" + metric.name + "\" changes its shape from batch to batch");
  }
  for (std::int64_t j = 0; j < value.elements(); ++j) {
    sum[0].data<double>()[j] += value.data<double>()[j];
  }
}

Tensor joined(const std::vector<Tensor>& parts) {
  if (parts.empty()) return {};
  std::vector<std::int64_t> shape = parts[0].shape();
  shape[0] = 0;
  for (const Tensor& part : parts) shape[0] += part.dim(0);
  Tensor all = Tensor::uninitialized(parts[0].dtype(), shape);
  std::byte* to = all.bytes();
  for (const Tensor& part : parts) {
    if (part.size_bytes() > 0) std::memcpy(to, part.bytes(), part.size_bytes());
    to += part.size_bytes();
  }
  return all;
}

template <class Pairs>
const auto& named(const Pairs& pairs, std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [key, value] : pairs) {
    if (key == name) return value;
    names.push_back(key);
  }
  const std::string near = nearest(std::string(name), names);
  fail(ErrorKind::not_found, fmt::format("nothing called \"{}\" was measured{}", name,
                                         near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}

}  // namespace

double finished(const Metric& metric, const Tensor& all) {
  if (all.elements() == 0) return kNan;
  if (metric.combine != Metric::Combine::ratio) {
    return metric.finish ? metric.finish(all) : number_of(metric, all);
  }
  const auto [sum, weight] = ratio_of(metric, all);
  if (weight == 0) return kNan;
  return metric.finish ? metric.finish(Tensor::scalar(sum / weight)) : sum / weight;
}

Tensor finished_tensor(const Metric& metric, const Tensor& all) {
  return metric.finish_tensor && all.elements() > 0 ? metric.finish_tensor(all) : all;
}

void MetricSum::add(const std::vector<Tensor>& values, std::int64_t examples) {
  if (examples == 0) return;  // a mean of nothing is NaN
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    switch (metrics_[i].combine) {
      case Metric::Combine::mean:
        numbers_[i] += number_of(metrics_[i], values[i]) * static_cast<double>(examples);
        break;
      case Metric::Combine::ratio: {
        const auto [sum, weight] = ratio_of(metrics_[i], values[i]);
        numbers_[i] += sum;
        weights_[i] += weight;
        break;
      }
      case Metric::Combine::sum: add_to(metrics_[i], tensors_[i], values[i].cast(f64)); break;
      case Metric::Combine::join:
        check_part(metrics_[i], tensors_[i], values[i]);
        tensors_[i].push_back(values[i]);
        break;
    }
  }
  examples_ += examples;
}

// What all batches gave. Without elements if there was none.
Tensor MetricSum::all_of(std::size_t metric) const {
  switch (metrics_[metric].combine) {
    case Metric::Combine::mean:
      if (examples_ == 0) return Tensor(f64, {0});
      return Tensor::scalar(numbers_[metric] / static_cast<double>(examples_));
    case Metric::Combine::ratio:
      return Tensor::from<double>({2}, {numbers_[metric], weights_[metric]});
    case Metric::Combine::sum:
      return tensors_[metric].empty() ? Tensor(f64, {0}) : tensors_[metric][0].clone();
    case Metric::Combine::join: return joined(tensors_[metric]);
  }
  return {};
}

std::vector<std::pair<std::string, double>> MetricSum::sums() const {
  std::vector<std::pair<std::string, double>> sums;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    sums.emplace_back(metrics_[i].name, numbers_[i]);
    if (metrics_[i].combine != Metric::Combine::ratio) continue;
    sums.emplace_back(metrics_[i].name + ".weight", weights_[i]);
  }
  return sums;
}

void MetricSum::restore(const std::vector<std::pair<std::string, double>>& sums,
                        std::int64_t examples) {
  clear();
  const std::vector<std::pair<std::string, double>> wanted = this->sums();
  const bool same = std::equal(wanted.begin(), wanted.end(), sums.begin(), sums.end(),
                               [](const auto& a, const auto& b) { return a.first == b.first; });
  if (!same) fail_data("the checkpoint was made with other metrics");
  auto next = sums.begin();
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    numbers_[i] = (next++)->second;
    if (metrics_[i].combine == Metric::Combine::ratio) weights_[i] = (next++)->second;
  }
  examples_ = examples;
}

void MetricSum::clear() { *this = MetricSum(std::vector<Metric>(metrics_)); }

Metrics MetricSum::result() const {
  Metrics result;
  result.examples_ = examples_;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    const Metric& metric = metrics_[i];
    if (metric.is_number()) {
      result.numbers_.emplace_back(metric.name, finished(metric, all_of(i)));
    } else {
      result.tensors_.emplace_back(metric.name, finished_tensor(metric, all_of(i)));
    }
  }
  return result;
}

double Metrics::operator[](std::string_view name) const { return named(numbers_, name); }
const Tensor& Metrics::tensor(std::string_view name) const { return named(tensors_, name); }

bool Metrics::has(std::string_view name) const {
  for (const auto& [key, value] : numbers_) {
    if (key == name) return true;
  }
  return false;
}

std::string Metrics::str() const {
  std::string text;
  for (const auto& [name, value] : numbers_) {
    text += fmt::format("{}{} {:.4g}", text.empty() ? "" : "  ", name, value);
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const Metrics& metrics) { return out << metrics.str(); }

}  // namespace trireme
