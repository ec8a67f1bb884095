#include "onnx/ops/windows.h"

#include <algorithm>

#include "trireme/ops.h"

namespace trireme::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

Integers integers_or(const NodeContext& n, const char* name, std::size_t count,
                     std::int64_t value) {
  Integers numbers = n.integers(name);
  if (n.attribute(name) == nullptr || numbers.empty()) numbers.assign(count, value);
  n.require(numbers.size() == count, "its attribute " + std::string(name) + " has " +
                                         std::to_string(numbers.size()) + " numbers for " +
                                         std::to_string(count) + " axes");
  return numbers;
}

}  // namespace

Integers spatial_sizes(const NodeContext& n, const Value& x) {
  n.require(x.rank() >= 3,
            "it takes a batch, channels and further axes, and " + x.str() + " has none");
  Integers sizes;
  for (int axis = 2; axis < x.rank(); ++axis) {
    n.require(x.dim(axis).is_constant(), "it slides over an axis of the size " + x.dim(axis).str() +
                                             "; give the shape of the input");
    sizes.push_back(x.dim(axis).constant());
  }
  return sizes;
}

Windows windows_of(const NodeContext& n, const Integers& sizes, Integers kernel) {
  const std::size_t axes = sizes.size();
  n.require(kernel.size() == axes, "its kernel has " + std::to_string(kernel.size()) +
                                       " axes, and its input " + std::to_string(axes));
  Windows w{std::move(kernel),
            integers_or(n, "strides", axes, 1),
            integers_or(n, "dilations", axes, 1),
            {},
            {},
            {}};
  const Integers pads = integers_or(n, "pads", 2 * axes, 0);
  const std::string automatic = n.text("auto_pad", "NOTSET");
  const bool ceil = n.integer("ceil_mode", 0) != 0;
  for (std::size_t i = 0; i < axes; ++i) {
    n.require(w.kernel[i] > 0 && w.stride[i] > 0 && w.dilation[i] > 0,
              "its kernel, strides and dilations must be above 0");
    std::int64_t before = pads[i], after = pads[i + axes];
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const std::int64_t count = (sizes[i] + w.stride[i] - 1) / w.stride[i];
      const std::int64_t both =
          std::max<std::int64_t>((count - 1) * w.stride[i] + w.extent(i) - sizes[i], 0);
      before = automatic == "SAME_UPPER" ? both / 2 : both - both / 2;
      after = both - before;
    } else if (automatic == "VALID") {
      before = after = 0;
    }
    const std::int64_t room = sizes[i] + before + after - w.extent(i);
    n.require(room >= 0, "its window is larger than its padded input");
    std::int64_t count = room / w.stride[i] + 1;
    // A further window that begins inside the input or its first padding.
    if (ceil && room % w.stride[i] != 0 && count * w.stride[i] < sizes[i] + before) {
      after += w.stride[i] - room % w.stride[i];
      ++count;
    }
    w.before.push_back(before);
    w.after.push_back(after);
    w.count.push_back(count);
  }
  return w;
}

Value padded(const Value& x, const Windows& w, double value) {
  Shape low(2, Dim(0)), high = low;
  bool any = false;
  for (std::size_t i = 0; i < w.axes(); ++i) {
    low.push_back(w.before[i]);
    high.push_back(w.after[i]);
    any = any || w.before[i] != 0 || w.after[i] != 0;
  }
  return any ? pad(x, {.low = low, .high = high, .value = value}) : x;
}

Value tap_of(const Value& x, const Windows& w, const Integers& tap) {
  Shape starts(2, Dim(0)), limits(x.shape().begin(), x.shape().begin() + 2);
  Integers strides(2, 1);
  for (std::size_t i = 0; i < w.axes(); ++i) {
    const std::int64_t start = tap[i] * w.dilation[i];
    starts.push_back(start);
    limits.push_back(start + (w.count[i] - 1) * w.stride[i] + 1);
    strides.push_back(w.stride[i]);
  }
  return slice(x, {.starts = starts, .limits = limits, .strides = strides});
}

std::vector<Integers> taps_of(const Windows& w) {
  std::vector<Integers> taps = {{}};
  for (const std::int64_t size : w.kernel) {
    std::vector<Integers> longer;
    for (const Integers& tap : taps) {
      for (std::int64_t i = 0; i < size; ++i) {
        longer.push_back(tap);
        longer.back().push_back(i);
      }
    }
    taps = std::move(longer);
  }
  return taps;
}

}  // namespace trireme::onnx
