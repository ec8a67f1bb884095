#pragma once

// The geometry of convolutions and pooling.

#include <cstdint>
#include <vector>

#include "onnx/node.h"
#include "trireme/program.h"

namespace trireme::onnx {

// How a window slides along each spatial axis.
struct Windows {
  std::vector<std::int64_t> kernel, stride, dilation;
  std::vector<std::int64_t> before, after;  // padding
  std::vector<std::int64_t> count;          // windows, that is the sizes of the result

  std::size_t axes() const { return kernel.size(); }
  // Elements from the first to the last of a window.
  std::int64_t extent(std::size_t i) const { return dilation[i] * (kernel[i] - 1) + 1; }
};

// The spatial sizes of [batch, channels, ...], which are constant. Errors: Unsupported.
std::vector<std::int64_t> spatial_sizes(const NodeContext& n, const Value& x);

// That of the attributes strides, dilations, pads, auto_pad and ceil_mode. With ceil_mode, `after`
// grows so that the last window fits.
Windows windows_of(const NodeContext& n, const std::vector<std::int64_t>& sizes,
                   std::vector<std::int64_t> kernel);

// x with `value` around it as the windows need it, and nothing that no window reads.
Value padded(const Value& x, const Windows& windows, double value);

// The elements that have one place in their windows: x must be padded(). `tap` is the place along
// each axis.
Value tap_of(const Value& x, const Windows& windows, const std::vector<std::int64_t>& tap);

// All places in a window, in row-major order.
std::vector<std::vector<std::int64_t>> taps_of(const Windows& windows);

}  // namespace trireme::onnx
