// Operators that read images at places between their elements, and columns of windows.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "onnx/importer.h"
#include "onnx/ops/operators.h"
#include "onnx/ops/sampling.h"
#include "onnx/ops/slices.h"
#include "onnx/ops/windows.h"
#include "trireme/functions.h"
#include "trireme/indexing.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

// Coordinates from -1 to 1 as elements of an axis.
Value unnormalized(const Value& x, std::int64_t size, bool align_corners) {
  const auto length = static_cast<double>(size);
  return align_corners ? (x + 1.0) * ((length - 1) / 2) : ((x + 1.0) * length - 1.0) * 0.5;
}

// The grid [batch, sizes..., axes] has the last axis of x first.
void import_grid_sample(NodeContext& n) {
  const Value x = n.value(0), grid = n.value(1);
  const Integers sizes = spatial_sizes(n, x);
  Sampling sampling{.mode = n.text("mode", "linear"),
                    .padding = n.text("padding_mode", "zeros"),
                    .align_corners = n.integer("align_corners", 0) != 0};
  if (sampling.mode == "bilinear") sampling.mode = "linear";
  if (sampling.mode == "bicubic") sampling.mode = "cubic";
  const auto axes = static_cast<std::int64_t>(sizes.size());
  n.require(grid.rank() == x.rank() && grid.dim(-1) == Dim(axes), "its grid is " + grid.str());
  const Shape points(grid.shape().begin() + 1, grid.shape().end() - 1);
  std::vector<Value> coordinates;
  for (std::int64_t i = 0; i < axes; ++i) {
    const Value part = reshape(part_of(grid, grid.rank() - 1, axes - 1 - i, axes - i),
                               {.shape = {grid.dim(0), product(points)}});
    coordinates.push_back(
        unnormalized(part, sizes[static_cast<std::size_t>(i)], sampling.align_corners));
  }
  Shape shape = {x.dim(0), x.dim(1)};
  shape.insert(shape.end(), points.begin(), points.end());
  n.set(0, reshape(sample(n, x, coordinates, sampling), {.shape = shape}));
}

// The points of an image from -1 to 1, and 1, times matrices [batch, axes, axes + 1].
void import_affine_grid(NodeContext& n) {
  const Value theta = n.value(0);
  const Integers size = n.known_integers(1, "a shape");
  const bool align = n.integer("align_corners", 0) != 0;
  n.require(size.size() == 4 || size.size() == 5,
            "its size has " + std::to_string(size.size()) + " numbers");
  const Shape spatial(size.begin() + 2, size.end());
  const int axes = static_cast<int>(spatial.size());
  std::vector<Value> parts;  // the last axis first
  for (int i = axes - 1; i >= 0; --i) {
    const auto length = static_cast<double>(spatial[static_cast<std::size_t>(i)].constant());
    const Value at =
        cast(iota(n.program(), {.shape = spatial, .axis = i}), {.dtype = theta.dtype()});
    if (align) parts.push_back(length > 1 ? at * (2 / (length - 1)) - 1.0 : at - 1.0);
    else parts.push_back((at * 2.0 + 1.0) / length - 1.0);
  }
  parts.push_back(ones_like(parts[0]));
  const Dim count = product(spatial);
  const Value points = reshape(stack(parts, axes), {.shape = {count, axes + 1}});
  const Value wide = broadcast(points, {.shape = {theta.dim(0), count, axes + 1}, .axes = {1, 2}});
  Shape shape = spatial;
  shape.insert(shape.begin(), theta.dim(0));
  shape.push_back(axes);
  n.set(0, reshape(matmul(wide, theta, {.transpose_b = true}), {.shape = shape}));
}

// --- Regions -----------------------------------------------------------------------------------

// Points of a grid of bins in each region, and the mean or the largest of each bin.
void import_roi_align(NodeContext& n) {
  const Value x = n.value(0), regions = n.value(1);
  const Value image = gather(x, cast(n.value(2), {.dtype = i64}));
  const std::int64_t height = n.integer("output_height", 1), width = n.integer("output_width", 1);
  const std::int64_t samples = n.integer("sampling_ratio", 0);
  n.require(samples > 0,
            "its sampling_ratio is 0, so the number of samples depends on the regions");
  const bool half =
      n.version() >= 16 && n.text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const double scale = n.number("spatial_scale", 1), offset = half ? 0.5 : 0.0;
  const Integers sizes = spatial_sizes(n, x);
  const Shape grid = {height, width, samples, samples};
  const auto edge = [&](std::int64_t i) {
    return part_of(regions, 1, i, i + 1) * scale - offset;
  };  // [regions, 1]
  std::vector<Value> coordinates;
  Value inside;
  for (const int axis : {0, 1}) {
    const Value low = edge(axis == 0 ? 1 : 0);
    Value length = edge(axis == 0 ? 3 : 2) - low;
    if (!half) length = maximum(length, 1.0);
    const auto at = [&](int i) {
      return reshape(cast(iota(n.program(), {.shape = grid, .axis = i}), {.dtype = x.dtype()}),
                     {.shape = {1, product(grid)}});
    };
    const Value place = at(axis) + (at(axis + 2) + 0.5) / static_cast<double>(samples);
    const Value c = low + place * (length / static_cast<double>(axis == 0 ? height : width));
    const Value in =
        logical_and(c >= -1.0, c <= static_cast<double>(sizes[static_cast<std::size_t>(axis)]));
    inside = inside ? logical_and(inside, in) : in;
    coordinates.push_back(c);
  }
  const Value read = sample(
      n, image, coordinates,
      {.padding = "border", .largest = n.text("mode", "avg") != "avg", .align_corners = true});
  const Value values = where(broadcast(inside, {.shape = read.shape(), .axes = {0, 2}}), read, 0.0);
  const Value bins =
      reshape(values, {.shape = {regions.dim(0), x.dim(1), height, width, samples * samples}});
  n.set(0, n.text("mode", "avg") == "avg" ? mean(bins, {.axes = {4}})
                                          : reduce_max(bins, {.axes = {4}}));
}

// --- Resize ------------------------------------------------------------------------------------

struct Axis {
  std::int64_t from, to;
  double scale;
  double roi_start = 0, roi_end = 1;
};

struct ResizeMode {
  std::string mode, coordinates, nearest;
  double cubic_a;
  bool exclude_outside, antialias;
};

double source_of(const NodeContext& n, const ResizeMode& mode, const Axis& axis, std::int64_t i) {
  const auto x = static_cast<double>(i), from = static_cast<double>(axis.from);
  const double length = axis.scale * from;
  if (mode.coordinates == "align_corners") return length == 1 ? 0 : x * (from - 1) / (length - 1);
  if (mode.coordinates == "asymmetric") return x / axis.scale;
  if (mode.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (mode.coordinates == "pytorch_half_pixel" && length == 1) return -0.5;
  if (mode.coordinates == "half_pixel_symmetric") {
    return from / 2 * (1 - static_cast<double>(axis.to) / length) + (x + 0.5) / axis.scale - 0.5;
  }
  if (mode.coordinates == "tf_crop_and_resize") {
    const double part = axis.roi_end - axis.roi_start;
    if (length == 1) return part * (from - 1) / 2 + axis.roi_start * (from - 1);
    return x * part * (from - 1) / (length - 1) + axis.roi_start * (from - 1);
  }
  n.require(mode.coordinates == "half_pixel" || mode.coordinates == "pytorch_half_pixel",
            "its coordinate_transformation_mode is \"" + mode.coordinates + "\"");
  return (x + 0.5) / axis.scale - 0.5;
}

double kernel(const ResizeMode& mode, double x) {
  x = std::abs(x);
  if (mode.mode == "linear") return std::max(1 - x, 0.0);
  const double a = mode.cubic_a;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// The elements that each result along an axis reads, and their weights.
struct Taps {
  std::vector<Integers> places;  // [tap][result]
  std::vector<std::vector<float>> weights;
};

std::int64_t nearest_of(const NodeContext& n, const std::string& mode, double x) {
  const double below = std::floor(x), rest = x - below;
  if (mode == "floor") return static_cast<std::int64_t>(below);
  if (mode == "ceil") return static_cast<std::int64_t>(std::ceil(x));
  n.require(mode == "round_prefer_floor" || mode == "round_prefer_ceil",
            "its nearest_mode is \"" + mode + "\"");
  const bool up = mode == "round_prefer_floor" ? rest > 0.5 : rest >= 0.5;
  return static_cast<std::int64_t>(below) + (up ? 1 : 0);
}

Taps resize_taps(const NodeContext& n, const ResizeMode& mode, const Axis& axis) {
  const double stretch = mode.antialias ? std::max(1 / axis.scale, 1.0) : 1.0;
  const double radius = (mode.mode == "cubic" ? 2 : 1) * stretch;
  const auto count = mode.mode == "nearest" ? 1
                                            : static_cast<std::int64_t>(std::ceil(2 * radius)) +
                                                  (mode.antialias ? 1 : 0);
  Taps taps;
  taps.places.assign(static_cast<std::size_t>(count), Integers(static_cast<std::size_t>(axis.to)));
  taps.weights.assign(static_cast<std::size_t>(count),
                      std::vector<float>(static_cast<std::size_t>(axis.to)));
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const double x = source_of(n, mode, axis, i);
    const auto at = static_cast<std::size_t>(i);
    const auto bounded = [&](std::int64_t place) {
      return std::clamp<std::int64_t>(place, 0, axis.from - 1);
    };
    if (mode.mode == "nearest") {
      taps.places[0][at] = bounded(nearest_of(n, mode.nearest, x));
      taps.weights[0][at] = 1;
      continue;
    }
    const auto first = static_cast<std::int64_t>(std::floor(x - radius)) + 1;
    std::vector<double> weights;
    double total = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t place = first + k;
      const bool outside = place < 0 || place >= axis.from;
      weights.push_back(outside && mode.exclude_outside
                            ? 0
                            : kernel(mode, (static_cast<double>(place) - x) / stretch));
      total += weights.back();
    }
    const bool rescale = mode.antialias || mode.exclude_outside;
    for (std::int64_t k = 0; k < count; ++k) {
      const auto tap = static_cast<std::size_t>(k);
      taps.places[tap][at] = bounded(first + k);
      taps.weights[tap][at] = static_cast<float>(rescale ? weights[tap] / total : weights[tap]);
    }
  }
  return taps;
}

template <class T>
Value known_value(NodeContext& n, std::vector<std::int64_t> shape, const std::vector<T>& numbers) {
  Item item;
  item.known = Tensor::from(std::move(shape), numbers);
  return n.importer().value_of(item);
}

// Interpolation of several axes is that of each axis in turn.
Value resized(NodeContext& n, const Value& x, int axis, const ResizeMode& mode, const Axis& sizes) {
  const Taps taps = resize_taps(n, mode, sizes);
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.rank()), 1);
  shape[static_cast<std::size_t>(axis)] = sizes.to;
  Value total;
  for (std::size_t k = 0; k < taps.places.size(); ++k) {
    const Value read = gather(x, known_value(n, {sizes.to}, taps.places[k]), {.axis = axis});
    if (mode.mode == "nearest") return read;
    const Value weight = known_value(n, shape, taps.weights[k]);
    const Value part =
        read * (weight.dtype() == x.dtype() ? weight : cast(weight, {.dtype = x.dtype()}));
    total = total ? total + part : part;
  }
  return total;
}

// The sizes of the result, by scales or by sizes; a policy keeps the aspect ratio.
std::vector<Axis> sizes_of(const NodeContext& n, const Value& x, const Integers& axes) {
  const bool old = n.version() < 11;  // inputs: X, scales
  const std::size_t scales_at = old ? 1 : 2;
  const bool by_scale =
      n.has(scales_at) && n.item(scales_at).known && n.item(scales_at).known->elements() > 0;
  std::vector<double> scales;
  Integers sizes;
  if (n.attribute("scales") != nullptr) scales = n.numbers("scales");
  else if (by_scale || !n.has(3))
    scales = n.known(scales_at, "how much it scales").cast(f64).to_vector<double>();
  else sizes = n.known_integers(3, "a shape");
  n.require((scales.empty() ? sizes.size() : scales.size()) == axes.size(),
            "its scales or sizes do not fit its axes");
  const std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  std::vector<double> roi;
  if (n.text("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
    roi = n.known(1, "the region that is cropped").cast(f64).to_vector<double>();
  }
  std::vector<Axis> result;
  double common = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim& dim = x.dim(static_cast<int>(axes[i]));
    const bool same = scales.empty() ? false : scales[i] == 1;
    n.require(dim.is_constant() || same, "it scales an axis of the size " + dim.str());
    Axis axis{dim.is_constant() ? dim.constant() : 1, 1, 1};
    if (!scales.empty()) {
      axis.scale = scales[i];
      axis.to = static_cast<std::int64_t>(std::floor(static_cast<double>(axis.from) * axis.scale));
    } else {
      axis.to = sizes[i];
      axis.scale = static_cast<double>(axis.to) / static_cast<double>(axis.from);
    }
    n.require(axis.scale > 0 && axis.to >= 0 && axis.to < (std::int64_t{1} << 31),
              "its scale or size is out of range");
    if (roi.size() == 2 * axes.size()) axis.roi_start = roi[i], axis.roi_end = roi[i + axes.size()];
    common = i == 0                   ? axis.scale
             : policy == "not_larger" ? std::min(common, axis.scale)
                                      : std::max(common, axis.scale);
    result.push_back(axis);
  }
  if (scales.empty() && policy != "stretch") {
    for (Axis& axis : result) {
      axis.scale = common;
      axis.to =
          static_cast<std::int64_t>(std::floor(common * static_cast<double>(axis.from) + 0.5));
    }
  }
  return result;
}

void import_resize(NodeContext& n) {
  Value x = n.value(0);
  Integers axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (n.attribute("axes") != nullptr) axes = n.axes(n.integers("axes"), x.rank());
  const bool upsample = n.version() < 11;
  const ResizeMode mode{
      n.text("mode", "nearest") == "bilinear" ? "linear" : n.text("mode", "nearest"),
      n.text("coordinate_transformation_mode", upsample ? "asymmetric" : "half_pixel"),
      n.text("nearest_mode", upsample ? "floor" : "round_prefer_floor"),
      n.number("cubic_coeff_a", -0.75),
      n.integer("exclude_outside", 0) != 0,
      n.integer("antialias", 0) != 0};
  n.require(mode.mode == "nearest" || mode.mode == "linear" || mode.mode == "cubic",
            "its mode is \"" + mode.mode + "\"");
  const std::vector<Axis> sizes = sizes_of(n, x, axes);
  Value outside;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool crops = mode.coordinates == "tf_crop_and_resize";
    if (sizes[i].from == sizes[i].to && sizes[i].scale == 1 && !crops) continue;
    x = resized(n, x, static_cast<int>(axes[i]), mode, sizes[i]);
    if (!crops) continue;
    std::vector<std::uint8_t> beyond;
    for (std::int64_t k = 0; k < sizes[i].to; ++k) {
      const double at = source_of(n, mode, sizes[i], k);
      beyond.push_back(at < 0 || at > static_cast<double>(sizes[i].from - 1));
    }
    std::vector<std::int64_t> shape(static_cast<std::size_t>(x.rank()), 1);
    shape[static_cast<std::size_t>(axes[i])] = sizes[i].to;
    const Value here = cast(known_value(n, shape, beyond), {.dtype = boolean});
    outside = outside ? logical_or(outside, here) : here;
  }
  if (outside) x = where(outside, n.number("extrapolation_value", 0), x);
  n.set(0, x);
}

// --- Columns -----------------------------------------------------------------------------------

// The sum of the columns of windows [batch, channels * places, windows] at their places.
void import_col2im(NodeContext& n) {
  const Value x = n.value(0);
  const Integers image = n.known_integers(1, "a shape");
  const Windows w = windows_of(n, image, n.known_integers(2, "a shape"));
  const std::vector<Integers> taps = taps_of(w);
  const auto places = static_cast<std::int64_t>(taps.size());
  const std::optional<Dim> channels = x.dim(1).divided_by(Dim(places));
  n.require(channels.has_value(),
            "its input " + x.str() + " does not fit " + std::to_string(places) + " places");
  Shape split = {x.dim(0), *channels, places};
  split.insert(split.end(), w.count.begin(), w.count.end());
  const Value columns = reshape(x, {.shape = split});
  Value total;
  for (std::int64_t k = 0; k < places; ++k) {
    const Value part = squeeze(part_of(columns, 2, k, k + 1), {2});
    Shape low(2, Dim(0)), high = low;
    Integers interior(2, 0);
    for (std::size_t i = 0; i < w.axes(); ++i) {
      const std::int64_t start = taps[static_cast<std::size_t>(k)][i] * w.dilation[i];
      const std::int64_t used = (w.count[i] - 1) * w.stride[i] + 1;
      low.push_back(start);
      high.push_back(image[i] + w.before[i] + w.after[i] - start - used);
      interior.push_back(w.stride[i] - 1);
    }
    const Value spread = pad(part, {.low = low, .high = high, .interior = interior});
    total = total ? total + spread : spread;
  }
  for (std::size_t i = 0; i < w.axes(); ++i) {
    total = part_of(total, static_cast<int>(i) + 2, w.before[i], w.before[i] + image[i]);
  }
  n.set(0, total);
}

// A convolution whose windows read x at places that `offset` moves, times `mask`: Dai et al. 2017.
void import_deform_conv(NodeContext& n) {
  const Value x = n.value(0), weight = n.value(1), offset = n.value(2);
  const std::int64_t groups = n.integer("group", 1), offset_groups = n.integer("offset_group", 1);
  const Integers sizes = spatial_sizes(n, x);
  n.require(sizes.size() == 2 && is_constant(weight.shape()) && x.dim(1).is_constant(),
            "it takes images and a weight of constant shape");
  const Windows w = windows_of(n, sizes, {weight.dim(2).constant(), weight.dim(3).constant()});
  const std::int64_t channels = x.dim(1).constant(), taps = w.kernel[0] * w.kernel[1];
  const Shape grid = {taps, w.count[0], w.count[1]};
  const Dim points = product(grid), batch = x.dim(0);
  // [batch, offset groups, taps, 2, height, width]
  const Value moves =
      reshape(offset, {.shape = {batch, offset_groups, taps, 2, w.count[0], w.count[1]}});
  std::vector<Value> columns;
  for (std::int64_t g = 0; g < offset_groups; ++g) {
    std::vector<Value> coordinates;
    for (const int axis : {0, 1}) {
      const auto a = static_cast<std::size_t>(axis);
      const Value tap = iota(n.program(), {.shape = grid, .axis = 0});
      const Value along = axis == 0 ? tap / static_cast<double>(w.kernel[1])
                                    : floor_mod(tap, static_cast<double>(w.kernel[1]));
      const Value start =
          iota(n.program(), {.shape = grid, .axis = axis + 1}) * static_cast<double>(w.stride[a]) -
          static_cast<double>(w.before[a]);
      const Value whole =
          cast(start + along * static_cast<double>(w.dilation[a]), {.dtype = x.dtype()});
      const Value move = reshape(part_of(part_of(moves, 1, g, g + 1), 3, axis, axis + 1),
                                 {.shape = {batch, points}});
      coordinates.push_back(move + reshape(whole, {.shape = {1, points}}));
    }
    const std::int64_t share = channels / offset_groups;
    Value read = sample(n, part_of(x, 1, g * share, (g + 1) * share), coordinates, {});
    if (n.has(4)) {
      const Value mask = reshape(
          part_of(reshape(n.value(4), {.shape = {batch, offset_groups, points}}), 1, g, g + 1),
          {.shape = {batch, 1, points}});
      read = read * mask;
    }
    columns.push_back(read);
  }
  const Value all =
      columns.size() == 1 ? columns[0] : concat(columns, {.axis = 1});  // [batch, channels, points]
  const Dim places = Dim(w.count[0] * w.count[1]);
  const std::int64_t out = weight.dim(0).constant();
  const Value inputs = reshape(all, {.shape = {batch, groups, channels / groups * taps, places}});
  const Value filters =
      reshape(weight, {.shape = {groups, out / groups, channels / groups * taps}});
  const Value wide = broadcast(
      filters,
      {.shape = {batch, groups, out / groups, channels / groups * taps}, .axes = {1, 2, 3}});
  Value y = reshape(matmul(wide, inputs), {.shape = {batch, out, w.count[0], w.count[1]}});
  if (n.has(3)) y = y + reshape(n.value(3), {.shape = {1, out, 1, 1}});
  n.set(0, y);
}

constexpr Operator kImagesOperators[] = {
    {"", "AffineGrid", import_affine_grid}, {"", "Col2Im", import_col2im},
    {"", "DeformConv", import_deform_conv}, {"", "GridSample", import_grid_sample},
    {"", "Resize", import_resize},          {"", "RoiAlign", import_roi_align},
    {"", "Upsample", import_resize},
};

}  // namespace

Operators image_operators() { return kImagesOperators; }

}  // namespace trireme::onnx
