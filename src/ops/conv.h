#pragma once

// Common code of conv2d, conv3d and their gradients. The convolution and its two gradients are sums
// over the same products
//   y[n, k, p, q] += x[n, g*C/G + c, h, w] * weight[k, c, r, s],   k in group g,
//   h = p * stride + r * dilation - padding, and w alike,
// with a different one of x, weight and y as the result. A volume has one more axis.

#include <functional>

#include "ops/window.h"

namespace trireme::ops {

// A convolution of `x` with `weight` [K, C/groups, R, S] to `y`, all f32 or f64; or of images u8 or
// i8 with a weight i8 to i32. The window has two axes for images, or three for volumes.
struct Convolution {
  Window window;
  std::int64_t groups = 1;
};
Convolution convolution_of(const Attributes& attributes, const Shape& weight, std::size_t axes);

// The type rules and reference loops of the convolution, of its gradient with respect to x
// (attribute `size`), and of its gradient with respect to the weight (attribute `kernel`).
TypeRule convolution_type(std::size_t axes);
TypeRule input_gradient_type(std::size_t axes);
TypeRule weight_gradient_type(std::size_t axes);
ReferenceRule convolution_reference(std::size_t axes);
ReferenceRule input_gradient_reference(std::size_t axes);
ReferenceRule weight_gradient_reference(std::size_t axes);

// The rules for Op::flops.
Dim convolution_flops(const ir::Op& op);
Dim input_gradient_flops(const ir::Op& op);
Dim weight_gradient_flops(const ir::Op& op);

// The gradient rules. Each of the three ops is linear in both operands, so its adjoints are the
// other two.
using GradientRule = std::function<void(GradientContext&)>;
GradientRule convolution_gradient(std::size_t axes);
GradientRule input_gradient_gradient(std::size_t axes);
GradientRule weight_gradient_gradient(std::size_t axes);

// Builds the three ops with the stride, padding, dilation and groups of an op's attributes.
class ConvolutionFamily {
 public:
  ConvolutionFamily(const Attributes& attributes, std::size_t axes);

  Value y(const Value& x, const Value& weight) const;
  Value dx(const Value& dy, const Value& weight, std::vector<std::int64_t> size) const;
  Value dweight(const Value& x, const Value& dy, std::vector<std::int64_t> kernel) const;

 private:
  Value make(const char* suffix, const Value& a, const Value& b, Attributes attributes) const;

  std::string name_;
  Attributes attributes_;
};

// Calls f(index in x, index in weight, index in y) for every product of the sum above.
void for_each_product(const Convolution& convolution, const Index& x, const Index& weight,
                      const Index& y,
                      const std::function<void(const Index&, const Index&, const Index&)>& f);

// A test case: shapes of x [N, C, H, W] and of the weight, and attributes.
struct ConvolutionCase {
  std::vector<std::int64_t> x, weight;
  std::vector<std::int64_t> stride{1, 1}, padding{0, 0, 0, 0}, dilation{1, 1};
  std::int64_t groups = 1;
  std::vector<std::int64_t> y() const;
  Attributes attributes() const;
};
std::vector<ConvolutionCase> convolution_cases(std::size_t axes);
// The samples of the convolution and of its two gradients.
std::vector<Sample> convolution_samples(std::size_t axes);
std::vector<Sample> input_gradient_samples(std::size_t axes);
std::vector<Sample> weight_gradient_samples(std::size_t axes);

}  // namespace trireme::ops
