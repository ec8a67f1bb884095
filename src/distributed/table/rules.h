#pragma once

// The arithmetic on rows: optimizers, additions and conversions of stored weights. The compiler
// vectorizes the loops, in a version for AVX2 and one for every processor. Both compute equal bits.

#include <cstddef>
#include <cstdint>

#include "distributed/table/options.h"

namespace trireme::distributed {

// The values that differ between updates: the learning rate, and the number of the step, from 1,
// which only adam uses.
struct UpdateStep {
  double rate = 1e-2;
  std::int64_t step = 1;
};

// A rule with the values of one step, rounded to f32.
struct RuleNumbers {
  float rate, epsilon, keep1, add1, keep2, add2, root, beta, l1, l2;
  RuleNumbers(const RowRule& rule, const UpdateStep& step);
};

// The layout of a row in memory.
class RowLayout {
 public:
  // vectors: whether to use the version for AVX2, if the processor has it.
  RowLayout(int width, const RowRule& rule, bool float16, bool vectors = true);

  std::size_t width() const { return width_; }
  std::size_t bytes() const { return weight_bytes_ + state_width_ * sizeof(float); }

  // Convert the weights to floats, and back.
  void read(const std::byte* row, float* weights) const { functions_.read(row, weights, width_); }
  void write(const float* weights, std::byte* row) const { functions_.write(weights, row, width_); }
  // Sets the state of a row without updates.
  void reset_state(std::byte* row) const;
  void apply(const RuleNumbers& numbers, std::byte* row, const float* gradient) const {
    functions_.apply(numbers, row, reinterpret_cast<float*>(row + weight_bytes_), gradient, width_);
  }
  void add(const float* delta, std::byte* row) const { functions_.add(delta, row, width_); }

 private:
  struct Functions {
    void (*read)(const std::byte* row, float* weights, std::size_t width);
    void (*write)(const float* weights, std::byte* row, std::size_t width);
    void (*add)(const float* delta, std::byte* row, std::size_t width);
    void (*apply)(const RuleNumbers& numbers, std::byte* row, float* state, const float* gradient,
                  std::size_t width);
  };
  template <class Target>
  static Functions functions_for(RowRule::Kind kind, bool float16);

  std::size_t width_, weight_bytes_, state_width_;
  RowRule rule_;
  Functions functions_;
};

// sum[i] += x[i], at any addresses that do not overlap.
void add_to(const float* x, float* sum, std::size_t n);

}  // namespace trireme::distributed
