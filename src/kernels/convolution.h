#pragma once

// The geometry of a call, which the implementations of convolution share.

#include <array>
#include <cstdint>
#include <memory>

#include "kernels/call.h"
#include "kernels/library.h"

namespace trireme::kernels {

enum class ConvolutionKind : std::uint8_t { forward, input_gradient, weight_gradient };

// One axis of the images: y[o] depends on x[o * stride - before + t * dilation] for 0 <= t <
// window, where this index is inside of x.
struct Axis {
  std::int64_t x = 1, window = 1, y = 1;
  std::int64_t stride = 1, dilation = 1, before = 0, after = 0;
};

// y[n, k, o...] = bias[k] + sum over c and t... of x[n, c, ...] * weight[k, c, t...] with k and c
// within one group. The channels of activations come before or after the axes; weights are as
// written.
struct Convolution {
  ConvolutionKind kind = ConvolutionKind::forward;
  bool channels_last = false, bias = false, relu = false;
  bool volume = false;               // three axes; images have a depth of 1
  std::int64_t n = 0, c = 0, k = 0;  // images; channels of x and of y, of all groups
  std::int64_t groups = 1;
  std::array<Axis, 3> axes;  // depth, height, width

  std::size_t first_axis() const { return volume ? 0 : 1; }
  std::int64_t group_c() const { return c / groups; }
  std::int64_t group_k() const { return k / groups; }
  std::int64_t x_image() const { return c * axes[0].x * axes[1].x * axes[2].x; }  // elements
  std::int64_t y_image() const { return k * axes[0].y * axes[1].y * axes[2].y; }
  std::int64_t window() const { return axes[0].window * axes[1].window * axes[2].window; }
  std::int64_t weights() const { return k * group_c() * window(); }
  std::int64_t operations() const { return 2 * y_image() * group_c() * window(); }  // of one image
  bool empty() const { return n * x_image() * y_image() * weights() == 0; }
};

// Checks that shapes and attributes match: Error(internal) if not.
Convolution read_convolution(ConvolutionKind kind, const Call& call);

// For f32 without empty tensors.
std::unique_ptr<KernelInstance> prepare_convolution_onednn(const Convolution& conv);
// Plain loops on one thread: f64 for checks, and every case with an empty tensor.
std::unique_ptr<KernelInstance> prepare_convolution_loops(const Convolution& conv, DType dtype);

}  // namespace trireme::kernels
