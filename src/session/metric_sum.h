#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trireme/metrics.h"

namespace trireme {

// Joins what was measured batch by batch. A mean counts every batch by its examples, so that a
// smaller last batch does not weigh too much.
class MetricSum {
 public:
  explicit MetricSum(const std::vector<Metric>& metrics) : metrics_(metrics) {
    numbers_.resize(metrics.size());
    tensors_.resize(metrics.size());
  }

  // values: one per metric, in order.
  void add(const std::vector<Tensor>& values, std::int64_t examples);
  Metrics result() const;
  std::int64_t examples() const { return examples_; }
  double mean(std::size_t metric) const;  // so far

  // The sums of the means, for a checkpoint, and back. Errors: data, for other metrics.
  std::vector<std::pair<std::string, double>> sums() const;
  void restore(const std::vector<std::pair<std::string, double>>& sums, std::int64_t examples);
  void clear();

 private:
  std::vector<Metric> metrics_;
  std::vector<double> numbers_;  // sums of value times examples
  std::vector<Tensor> tensors_;  // f64
  std::int64_t examples_ = 0;
};

}  // namespace trireme
