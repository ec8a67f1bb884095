#pragma once

// The distribution of the magnitudes of an input, in one pass without a known largest value.

#include <cstdint>
#include <span>
#include <vector>

#include "trireme/quantize.h"

namespace trireme {

class MagnitudeHistogram {
 public:
  // Adds finite values.
  void add(std::span<const float> values);

  std::int64_t count() const { return count_; }
  bool has_negative() const { return has_negative_; }
  double largest() const { return largest_; }  // magnitude

  // Returns the magnitude that the largest byte stands for, if bytes have `levels` levels above 0.
  // 0 if all values are 0. At most largest().
  double limit(const QuantizeOptions& options, int levels) const;

 private:
  double width() const { return range_ / static_cast<double>(bins_.size()); }
  double percentile(double percent) const;
  double least_squares(int levels) const;
  double least_divergence(int levels) const;

  std::vector<double> bins_;  // equal parts of [0, range_]
  double range_ = 0;          // a power of two, or 0
  double largest_ = 0;
  std::int64_t count_ = 0;
  bool has_negative_ = false;
};

}  // namespace trireme
