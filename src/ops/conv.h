#pragma once

// What conv2d and its two gradients share. All three are one sum over the same products
//   y[n, k, p, q] += x[n, g*C/G + c, h, w] * weight[k, c, r, s],   k in group g,
//   h = p * stride + r * dilation - padding, and w alike,
// read in three directions.

#include <functional>

#include "ops/window.h"

namespace trireme::ops {

// A convolution from `x` with `weight` [K, C/groups, R, S] to `y`, all f32 or f64.
struct Convolution {
  Window window;
  std::int64_t groups = 1;
};
Convolution convolution_of(const Attributes& attributes, const Shape& weight);

// TypeError unless the three could be operands and result of one convolution.
void require_convolution(const Convolution& convolution, const Type& x, const Type& weight,
                         const std::string& x_text, const std::string& weight_text);
// TypeError unless `y` is the type that x and weight give.
void require_result(const Convolution& convolution, const Type& x, const Type& weight,
                    const Type& y, const std::string& y_text);
Type result_type(const Convolution& convolution, const Type& x, const Type& weight,
                 const std::string& x_text);

// Calls f(index in x, index in weight, index in y) for every product of the sum above.
void for_each_product(const Convolution& convolution, const Index& x, const Index& weight,
                      const Index& y,
                      const std::function<void(const Index&, const Index&, const Index&)>& f);

// Cases: shapes of x [N, C, H, W] and of the weight, with their attributes.
struct ConvolutionCase {
  std::vector<std::int64_t> x, weight;
  std::vector<std::int64_t> stride{1, 1}, padding{0, 0, 0, 0}, dilation{1, 1};
  std::int64_t groups = 1;
  std::vector<std::int64_t> y() const;
  Attributes attributes() const;
};
std::vector<ConvolutionCase> convolution_cases();

}  // namespace trireme::ops
