#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trireme/metrics.h"

namespace trireme {

// The one number of what all batches gave, or of one batch. NaN without elements.
double finished(const Metric& metric, const Tensor& all);

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

  // For a checkpoint, and back, where all metrics are means. Errors: data, for other metrics.
  std::vector<std::pair<std::string, double>> sums() const;
  void restore(const std::vector<std::pair<std::string, double>>& sums, std::int64_t examples);
  void clear();

 private:
  Tensor all_of(std::size_t metric) const;

  std::vector<Metric> metrics_;
  std::vector<double> numbers_;               // sums of value times examples
  std::vector<std::vector<Tensor>> tensors_;  // a single f64 sum, or the parts of a join
  std::int64_t examples_ = 0;
};

}  // namespace trireme
