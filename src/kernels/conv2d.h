#pragma once

// What the implementations of 2-D convolution share: the geometry of a call.

#include <cstdint>
#include <memory>

#include "kernels/call.h"
#include "kernels/library.h"

namespace trireme::kernels {

enum class ConvKind : std::uint8_t { forward, input_gradient, weight_gradient };

// y[n, k, i, j] = bias[k] + sum over c, r, s of
//   x[n, c, i * stride_h - top + r * dilation_h, j * stride_w - left + s * dilation_w]
//   * weight[k, c, r, s]
// with k and c within one group. Activations are stored as nchw or nhwc, weights as k, c, r, s.
struct Conv2d {
  ConvKind kind = ConvKind::forward;
  bool nhwc = false, bias = false, relu = false;
  std::int64_t n = 0, c = 0, h = 0, w = 0;       // x; c of all groups
  std::int64_t k = 0, r = 0, s = 0, groups = 1;  // weight; k of all groups
  std::int64_t out_h = 0, out_w = 0;             // y
  std::int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;

  std::int64_t group_c() const { return c / groups; }
  std::int64_t group_k() const { return k / groups; }
  std::int64_t x_image() const { return c * h * w; }  // elements
  std::int64_t y_image() const { return k * out_h * out_w; }
  std::int64_t weights() const { return k * group_c() * r * s; }
  std::int64_t operations() const { return 2 * y_image() * group_c() * r * s; }  // of one image
  bool empty() const { return n * x_image() * y_image() * weights() == 0; }
};

// Checks that shapes and numbers fit together: Error(internal) if not.
Conv2d read_conv2d(ConvKind kind, const Call& call);

// f32 without empty tensors.
std::unique_ptr<Prepared> prepare_conv2d_onednn(const Conv2d& conv);
// Plain loops on one thread: f64 for checks, and every case with an empty tensor.
std::unique_ptr<Prepared> prepare_conv2d_loops(const Conv2d& conv, DType dtype);

}  // namespace trireme::kernels
