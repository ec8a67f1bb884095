// Pooling.

#include <cmath>
#include <limits>
#include <numeric>

#include "onnx/ops/operators.h"
#include "onnx/ops/windows.h"
#include "trireme/functions.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

bool is_plain(const Windows& w) { return w.axes() == 2 && w.dilation == Integers(w.axes(), 1); }

// Padding as the ops have it: top, bottom, left, right.
Integers padding_of(const Windows& w) { return {w.before[0], w.after[0], w.before[1], w.after[1]}; }

Integers spatial_axes(const Value& x) {
  Integers axes(static_cast<std::size_t>(x.rank() - 2));
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

Value sum_of_windows(const Value& x, const Windows& w) {
  const Value around = padded(x, w, 0);
  Value total;
  for (const Integers& tap : taps_of(w)) {
    const Value part = tap_of(around, w, tap);
    total = total ? total + part : part;
  }
  return total;
}

// How many elements of each window are inside an image of this shape.
Value inside_counts(const NodeContext& n, DType dtype, Shape shape, const Windows& w) {
  shape[0] = shape[1] = Dim(1);
  return sum_of_windows(constant(n.program(), {.value = 1, .dtype = dtype, .shape = shape}), w);
}

// With count_include_pad, the padding of the attribute counts, and the padding of ceil_mode does
// not.
void import_average_pool(NodeContext& n) {
  const Value x = n.value(0);
  Windows w = windows_of(n, spatial_sizes(n, x), n.integers("kernel_shape"));
  const bool count_all = n.integer("count_include_pad", 0) != 0;
  const bool ceil = n.integer("ceil_mode", 0) != 0;
  if (is_plain(w) && !(ceil && count_all)) {
    return n.set(0, avg_pool(x, {.kernel = w.kernel,
                                 .stride = w.stride,
                                 .padding = padding_of(w),
                                 .count_include_pad = count_all}));
  }
  if (!count_all) return n.set(0, sum_of_windows(x, w) / inside_counts(n, x.dtype(), x.shape(), w));
  // The given padding counts as a part of the image.
  Windows given = w;
  const Integers pads = n.integers("pads");
  Shape shape = x.shape();
  for (std::size_t i = 0; i < w.axes(); ++i) {
    const std::int64_t after =
        std::min(w.after[i], pads.empty() ? (ceil ? 0 : w.after[i]) : pads[i + w.axes()]);
    shape[i + 2] = shape[i + 2] + w.before[i] + after;
    given.before[i] = 0;
    given.after[i] = w.after[i] - after;
  }
  n.set(0, sum_of_windows(x, w) / inside_counts(n, x.dtype(), shape, given));
}

// The place of each element in its batch and channel; with storage_order 1, columns first.
Value places_of(const NodeContext& n, const Value& x, const Integers& sizes, bool columns_first) {
  const std::size_t axes = sizes.size();
  Integers factor(axes, 1);
  if (columns_first) {
    for (std::size_t i = 1; i < axes; ++i) factor[i] = factor[i - 1] * sizes[i - 1];
  } else {
    for (std::size_t i = axes - 1; i-- > 0;) factor[i] = factor[i + 1] * sizes[i + 1];
  }
  const auto at = [&](int axis) { return iota(n.program(), {.shape = x.shape(), .axis = axis}); };
  const auto size = static_cast<double>(
      std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()));
  Value place = (at(0) * dim_size(x, {.axes = {1}, .dtype = i64}) + at(1)) * size;
  for (std::size_t i = 0; i < axes; ++i)
    place = place + at(static_cast<int>(i) + 2) * static_cast<double>(factor[i]);
  return place;
}

double lowest_of(DType dtype) {
  return is_float(dtype) ? -kInfinity : info_of(dtype).lowest_integer;
}

void import_max_pool(NodeContext& n) {
  const Value x = n.value(0);
  const Integers sizes = spatial_sizes(n, x);
  const Windows w = windows_of(n, sizes, n.integers("kernel_shape"));
  if (is_plain(w) && !n.wants(1) && is_arithmetic_float(x.dtype())) {
    return n.set(
        0, max_pool(x, {.kernel = w.kernel, .stride = w.stride, .padding = padding_of(w)})[0]);
  }
  const Value around = padded(x, w, lowest_of(x.dtype()));
  Value places;
  if (n.wants(1))
    places = padded(places_of(n, x, sizes, n.integer("storage_order", 0) != 0), w, -1);
  Value largest, place;
  for (const Integers& tap : taps_of(w)) {
    const Value part = tap_of(around, w, tap);
    if (n.wants(1)) {
      const Value there = tap_of(places, w, tap);
      const Value wins =
          place ? logical_or(less(place, 0.0), logical_and(less(largest, part), there >= 0.0))
                : Value();
      place = place ? where(wins, there, place) : there;
      largest = largest ? where(wins, part, largest) : part;
    } else {
      largest = largest ? maximum(largest, part) : part;
    }
  }
  n.set(0, largest);
  if (n.wants(1)) n.set(1, place);
}

void import_lp_pool(NodeContext& n) {
  const Value x = n.value(0);
  const Windows w = windows_of(n, spatial_sizes(n, x), n.integers("kernel_shape"));
  const double p = n.attribute("p") != nullptr && n.attribute("p")->kind == AttributeProto::float_
                       ? n.number("p", 2)
                       : static_cast<double>(n.integer("p", 2));
  const Value size = abs(x);
  const Value total = sum_of_windows(p == 1 ? size : p == 2 ? x * x : pow(size, p), w);
  n.set(0, p == 1 ? total : p == 2 ? sqrt(total) : pow(total, 1 / p));
}

template <bool average>
void import_global(NodeContext& n) {
  const Value x = n.value(0);
  const Integers axes = spatial_axes(x);
  n.set(0, average ? mean(x, {.axes = axes, .keep = true})
                   : reduce_max(x, {.axes = axes, .keep = true}));
}

void import_global_lp(NodeContext& n) {
  const Value x = n.value(0);
  const auto p = static_cast<double>(n.integer("p", 2));
  n.set(0, pow(sum(pow(abs(x), p), {.axes = spatial_axes(x), .keep = true}), 1 / p));
}

// Elements go to their places in zeros of the size before pooling.
void import_max_unpool(NodeContext& n) {
  const Value x = n.value(0), places = n.value(1);
  const Integers sizes = spatial_sizes(n, x);
  const Integers kernel = n.integers("kernel_shape");
  Integers stride = n.integers("strides"), pads = n.integers("pads");
  if (stride.empty()) stride.assign(kernel.size(), 1);
  if (pads.empty()) pads.assign(2 * kernel.size(), 0);
  n.require(kernel.size() == sizes.size() && stride.size() == sizes.size() &&
                pads.size() == 2 * sizes.size(),
            "its attributes do not fit its input");
  Shape natural = {x.dim(0), x.dim(1)};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    natural.push_back((sizes[i] - 1) * stride[i] + kernel[i] - pads[i] - pads[i + sizes.size()]);
  }
  // Places count in the natural shape; a larger one is filled at its ends.
  const Dim count = product(x.shape());
  const Value filled =
      scatter_add_along_axis(reshape(places, {.shape = {count}}), reshape(x, {.shape = {count}}),
                             {.size = {product(natural)}, .axis = 0});
  const Value y = reshape(filled, {.shape = natural});
  if (!n.has(2)) return n.set(0, y);
  const Shape shape = n.sizes(2, "a shape");
  n.require(shape.size() == natural.size(),
            "its output_shape has " + std::to_string(shape.size()) + " axes");
  Shape high;
  for (std::size_t i = 0; i < shape.size(); ++i) high.push_back(shape[i] - natural[i]);
  n.set(0, pad(y, {.low = Shape(shape.size(), Dim(0)), .high = high}));
}

constexpr Operator kPoolingOperators[] = {
    {"", "AveragePool", import_average_pool}, {"", "GlobalAveragePool", import_global<true>},
    {"", "GlobalLpPool", import_global_lp},   {"", "GlobalMaxPool", import_global<false>},
    {"", "LpPool", import_lp_pool},           {"", "MaxPool", import_max_pool},
    {"", "MaxUnpool", import_max_unpool},
};

}  // namespace

Operators pooling_operators() { return kPoolingOperators; }

}  // namespace trireme::onnx
