#include "session/metric_sum.h"

#include <fmt/format.h>

#include <limits>
#include <ostream>

#include "base/error.h"

namespace trireme {
namespace {

double number_of(const Metric& metric, const Tensor& value) {
  if (value.elements() != 1) {
    fail_usage("metric \"" + metric.name + "\" is " + value.type_str() + ", not one number");
  }
  return value.cast(f64).data<double>()[0];
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

void MetricSum::add(const std::vector<Tensor>& values, std::int64_t examples) {
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    if (metrics_[i].combine == Metric::Combine::mean) {
      numbers_[i] += number_of(metrics_[i], values[i]) * static_cast<double>(examples);
      continue;
    }
    const Tensor wide = values[i].cast(f64);
    if (tensors_[i].elements() == 0) {
      tensors_[i] = wide;
      continue;
    }
    if (tensors_[i].shape() != wide.shape()) {
      fail_usage("metric \"" + metrics_[i].name + "\" changes its shape from batch to batch");
    }
    for (std::int64_t j = 0; j < wide.elements(); ++j) {
      tensors_[i].data<double>()[j] += wide.data<double>()[j];
    }
  }
  examples_ += examples;
}

double MetricSum::mean(std::size_t metric) const {
  if (examples_ == 0) return std::numeric_limits<double>::quiet_NaN();
  return numbers_[metric] / static_cast<double>(examples_);
}

std::vector<std::pair<std::string, double>> MetricSum::sums() const {
  std::vector<std::pair<std::string, double>> sums;
  for (std::size_t i = 0; i < metrics_.size(); ++i)
    sums.emplace_back(metrics_[i].name, numbers_[i]);
  return sums;
}

void MetricSum::restore(const std::vector<std::pair<std::string, double>>& sums,
                        std::int64_t examples) {
  clear();
  bool same = sums.size() == metrics_.size();
  for (std::size_t i = 0; same && i < sums.size(); ++i) {
    same = sums[i].first == metrics_[i].name;
    numbers_[i] = sums[i].second;
  }
  if (!same) fail_data("the checkpoint was made with other metrics");
  examples_ = examples;
}

void MetricSum::clear() { *this = MetricSum(std::vector<Metric>(metrics_)); }

Metrics MetricSum::result() const {
  Metrics result;
  result.examples_ = examples_;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    if (metrics_[i].combine == Metric::Combine::mean) {
      result.numbers_.emplace_back(metrics_[i].name, mean(i));
    } else {
      result.tensors_.emplace_back(metrics_[i].name, tensors_[i].clone());
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
