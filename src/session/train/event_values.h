#pragma once

// Summaries of TensorBoard in the wire format of Protocol Buffers: what EventFile::add_value takes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/tensor.h"

namespace trireme {

// The finite values in intervals of equal width, as numpy.histogram counts them.
struct Histogram {
  double minimum = 0, maximum = 0, sum = 0, sum_squares = 0;
  std::int64_t count = 0;      // of finite values
  std::vector<double> limits;  // right ends
  std::vector<double> counts;
};
Histogram histogram_of(const Tensor& values, int bins);

// Counts at a threshold, from 0 to 1. Errors: as EventWriter::pr_curve.
struct PrCurve {
  std::vector<float> true_positives, false_positives, true_negatives, false_negatives, precision,
      recall;
};
PrCurve pr_curve_of(const Tensor& scores, const Tensor& labels, int thresholds);

std::string scalar_value(std::string_view tag, double value);
std::string histogram_value(std::string_view tag, const Histogram& histogram);
std::string image_value(std::string_view tag, const Tensor& image);
std::string pr_curve_value(std::string_view tag, const PrCurve& curve);

}  // namespace trireme
