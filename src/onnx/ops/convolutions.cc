// Convolutions, also transposed ones.

#include <algorithm>

#include "onnx/ops/convolutions.h"
#include "onnx/ops/operators.h"
#include "onnx/ops/windows.h"
#include "trireme/functions.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

Integers kernel_of(const NodeContext& n, const Value& weight) {
  Integers kernel;
  for (int axis = 2; axis < weight.rank(); ++axis) {
    n.require(weight.dim(axis).is_constant(),
              "its weight " + weight.str() + " has no constant shape");
    kernel.push_back(weight.dim(axis).constant());
  }
  return kernel;
}

// Padding as the ops have it: before and after of each axis in turn.
Integers interleaved(const Windows& w) {
  Integers padding;
  for (std::size_t i = 0; i < w.axes(); ++i) {
    padding.push_back(w.before[i]);
    padding.push_back(w.after[i]);
  }
  return padding;
}

// Lines are images of height 1.
void add_axis(Windows& w) {
  for (Integers* list : {&w.kernel, &w.stride, &w.dilation, &w.count})
    list->insert(list->begin(), 1);
  for (Integers* list : {&w.before, &w.after}) list->insert(list->begin(), 0);
}

Value with_bias(NodeContext& n, const Value& y, std::size_t input) {
  if (!n.has(input)) return y;
  Shape shape(static_cast<std::size_t>(y.rank()), Dim(1));
  const Value bias = n.value(input);
  shape[1] = bias.dim(0);
  return y + reshape(bias, {.shape = shape});
}

void import_conv(NodeContext& n) {
  const Value x = n.value(0), weight = n.value(1);
  const Windows w = windows_of(n, spatial_sizes(n, x), kernel_of(n, weight));
  n.set(0, with_bias(n, convolution(n, x, weight, w, n.integer("group", 1)), 2));
}

// --- Transposed --------------------------------------------------------------------------------

struct Transposed {
  Windows windows;  // of the convolution whose gradient it is
  Integers sizes;   // of the result
};

Transposed transposed_of(const NodeContext& n, const Integers& sizes, Integers kernel) {
  const std::size_t axes = sizes.size();
  const auto list = [&](const char* name, std::int64_t value) {
    Integers numbers = n.integers(name);
    if (numbers.empty()) numbers.assign(axes, value);
    n.require(numbers.size() >= axes, "its attribute " + std::string(name) + " is too short");
    return numbers;
  };
  Transposed t{{std::move(kernel), list("strides", 1), list("dilations", 1), {}, {}, sizes}, {}};
  Integers pads = n.integers("pads");
  if (pads.empty()) pads.assign(2 * axes, 0);
  n.require(pads.size() == 2 * axes && t.windows.axes() == axes,
            "its pads or kernel do not fit its input");
  const Integers extra = list("output_padding", 0);
  const Integers wanted = n.integers("output_shape");
  const std::string automatic = n.text("auto_pad", "NOTSET");
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t full = (sizes[i] - 1) * t.windows.stride[i] + t.windows.extent(i) + extra[i];
    std::int64_t before = pads[i], after = pads[i + axes];
    const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
    if (!wanted.empty() || same) {
      const std::int64_t size =
          wanted.empty() ? sizes[i] * t.windows.stride[i] : wanted[wanted.size() - axes + i];
      const std::int64_t both = full - size;
      const std::int64_t half = both >> 1;  // rounded down
      before = automatic == "SAME_UPPER" ? half : both - half;
      after = both - before;
    }
    t.windows.before.push_back(before);
    t.windows.after.push_back(after);
    t.sizes.push_back(full - before - after);
    n.require(t.sizes.back() > 0, "its result has no elements");
  }
  return t;
}

// The gradient of a convolution with its own weight. It needs padding that is not negative, so all
// is computed and then cut or filled.
void import_conv_transpose(NodeContext& n) {
  Value x = n.value(0), weight = n.value(1);
  Transposed t = transposed_of(n, spatial_sizes(n, x), kernel_of(n, weight));
  Windows& w = t.windows;
  const bool line = w.axes() == 1;
  if (line) {
    add_axis(w);
    t.sizes.insert(t.sizes.begin(), 1);
    x = unsqueeze(x, 2);
    weight = unsqueeze(weight, 2);
  }
  Shape low(2, Dim(0)), high = low, starts = low, limits;
  Integers size;
  bool fits = true;
  for (std::size_t i = 0; i < w.axes(); ++i) {
    size.push_back((w.count[i] - 1) * w.stride[i] + w.extent(i));
    const std::int64_t cut = std::max<std::int64_t>(w.before[i], 0);
    starts.push_back(cut);
    low.push_back(std::max<std::int64_t>(-w.before[i], 0));
    const std::int64_t left = t.sizes[i] - low.back().constant();
    high.push_back(std::max<std::int64_t>(left - (size[i] - cut), 0));
    limits.push_back(std::min(size[i], cut + left));
    fits = fits && cut == 0 && low.back() == Dim(0) && high.back() == Dim(0) &&
           limits.back() == Dim(size[i]);
  }
  const Integers none(2 * w.axes(), 0);
  const std::int64_t groups = n.integer("group", 1);
  Value y = w.axes() == 2 ? conv2d_input_gradient(x, weight,
                                                  {.size = size,
                                                   .stride = w.stride,
                                                   .padding = none,
                                                   .dilation = w.dilation,
                                                   .groups = groups})
                          : conv3d_input_gradient(x, weight,
                                                  {.size = size,
                                                   .stride = w.stride,
                                                   .padding = none,
                                                   .dilation = w.dilation,
                                                   .groups = groups});
  if (!fits) {
    limits.insert(limits.begin(), {y.dim(0), y.dim(1)});
    y = pad(slice(y, {.starts = starts, .limits = limits}), {.low = low, .high = high});
  }
  if (line) y = squeeze(y, {2});
  n.set(0, with_bias(n, y, 2));
}

// --- With a state ------------------------------------------------------------------------------

constexpr Operator kConvolutionsOperators[] = {
    {"", "Conv", import_conv},
    {"", "ConvTranspose", import_conv_transpose},
};

}  // namespace

Value convolution(const NodeContext& n, Value x, Value weight, Windows w, std::int64_t groups) {
  n.require(w.axes() <= 3, "it slides over " + std::to_string(w.axes()) + " axes");
  const bool line = w.axes() == 1;
  if (line) {
    add_axis(w);
    x = unsqueeze(x, 2);
    weight = unsqueeze(weight, 2);
  }
  const Integers padding = interleaved(w);
  const Value y =
      w.axes() == 2
          ? conv2d(
                x, weight,
                {.stride = w.stride, .padding = padding, .dilation = w.dilation, .groups = groups})
          : conv3d(
                x, weight,
                {.stride = w.stride, .padding = padding, .dilation = w.dilation, .groups = groups});
  return line ? squeeze(y, {2}) : y;
}

Operators convolution_operators() { return kConvolutionsOperators; }

}  // namespace trireme::onnx
