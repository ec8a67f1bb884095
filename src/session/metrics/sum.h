#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trireme/metrics.h"

namespace trireme {

// Returns the metric of all batches, or of one batch, as one number. NaN without elements.
double finished(const Metric& metric, const Tensor& all);

// The same for a metric that is a tensor.
Tensor finished_tensor(const Metric& metric, const Tensor& all);

// Combines the metrics of batches. A mean weights every batch by its examples, so that a smaller
// last batch has less weight; a ratio brings its own weights.
class MetricSum {
 public:
  explicit MetricSum(const std::vector<Metric>& metrics) : metrics_(metrics) {
    numbers_.resize(metrics.size());
    weights_.resize(metrics.size());
    tensors_.resize(metrics.size());
  }

  // values: one per metric, in order. A batch without examples changes nothing.
  void add(const std::vector<Tensor>& values, std::int64_t examples);
  Metrics result() const;
  std::int64_t examples() const { return examples_; }

  // Writes and reads the state of a checkpoint: the sum of each metric and, as "NAME.weight", that
  // of the weights of a ratio. All metrics must be means or ratios. Errors: data for other metrics.
  std::vector<std::pair<std::string, double>> sums() const;
  void restore(const std::vector<std::pair<std::string, double>>& sums, std::int64_t examples);
  void clear();

 private:
  Tensor all_of(std::size_t metric) const;

  std::vector<Metric> metrics_;
  std::vector<double> numbers_, weights_;     // sums of value times weight, and of weights
  std::vector<std::vector<Tensor>> tensors_;  // a single f64 sum, or the parts of a join
  std::int64_t examples_ = 0;
};

}  // namespace trireme
