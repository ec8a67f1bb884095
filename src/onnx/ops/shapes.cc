// Operators that rearrange elements: no number changes.

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "onnx/importer.h"
#include "onnx/ops/operators.h"
#include "onnx/ops/sizes.h"
#include "onnx/ops/slices.h"
#include "trireme/functions.h"
#include "trireme/indexing.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

// --- Sizes of inputs ---------------------------------------------------------------------------

void import_shape(NodeContext& n) {
  const Shape shape = n.shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto bound = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = bound(n.integer("start", 0)), end = bound(n.integer("end", rank));
  n.set_sizes(0, start < end ? Shape(shape.begin() + start, shape.begin() + end) : Shape{}, false);
}

void import_size(NodeContext& n) { n.set_sizes(0, {product(n.shape(0))}, true); }

// --- Reshape -----------------------------------------------------------------------------------

// The shape with the size -1 replaced by the one that gives `elements`.
Shape with_rest(const NodeContext& n, Shape shape, const Dim& elements) {
  const Dim unknown(-1);
  const auto rest = std::find(shape.begin(), shape.end(), unknown);
  if (rest == shape.end()) return shape;
  *rest = Dim(1);
  n.require(std::find(shape.begin(), shape.end(), unknown) == shape.end(),
            "two sizes of its shape are -1");
  const Dim others = product(shape);
  n.require(!(others == Dim(0)), "one size of its shape is -1, and another is 0");
  const std::optional<Dim> size = elements.divided_by(others);
  n.require(size.has_value(), "its shape " + str(shape) + " does not divide " + elements.str() +
                                  " elements for every size of the symbols");
  *rest = *size;
  return shape;
}

void import_reshape(NodeContext& n) {
  const Shape from = n.shape(0);
  Shape shape = n.sizes(1, "a shape");
  if (n.integer("allowzero", 0) == 0) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (!(shape[i] == Dim(0))) continue;
      n.require(i < from.size(), "its shape keeps the size of axis " + std::to_string(i) +
                                     ", which its input lacks");
      shape[i] = from[i];
    }
  }
  shape = with_rest(n, std::move(shape), product(from));
  n.set(0, reshape(n.value(0), {.shape = shape}));
}

bool reshape_sizes(NodeContext& n) {
  if (!n.item(1).known || n.item(1).known->elements() > 1) return false;
  n.set_sizes(0, n.sizes(0, ""), n.item(1).known->elements() == 0, n.type(0));
  return true;
}

void import_flatten(NodeContext& n) {
  const Shape from = n.shape(0);
  const int rank = static_cast<int>(from.size());
  const std::int64_t given = n.integer("axis", 1);
  const int axis = given == rank ? rank : n.axis(given, rank);
  const Dim rows = product(Shape(from.begin(), from.begin() + axis));
  const Dim columns = product(Shape(from.begin() + axis, from.end()));
  n.set(0, reshape(n.value(0), {.shape = {rows, columns}}));
}

// Axes are an attribute before version 13, an input since.
std::optional<Integers> axes_of(const NodeContext& n, std::size_t input) {
  if (n.attribute("axes") != nullptr) return n.integers("axes");
  if (!n.has(input)) return std::nullopt;
  return n.known_integers(input, "the axes");
}

void import_squeeze(NodeContext& n) {
  const Shape from = n.shape(0);
  const int rank = static_cast<int>(from.size());
  const auto given = axes_of(n, 1);
  std::vector<bool> gone(from.size());
  if (given) {
    for (const std::int64_t axis : n.axes(*given, rank))
      gone[static_cast<std::size_t>(axis)] = true;
  }
  Shape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool single = from[i] == Dim(1);
    n.require(!gone[i] || single,
              "it removes axis " + std::to_string(i) + ", whose size is " + from[i].str());
    if (given ? !gone[i] : !single) shape.push_back(from[i]);
  }
  n.set(0, reshape(n.value(0), {.shape = shape}));
}

bool squeeze_sizes(NodeContext& n) {
  const Shape dims = n.sizes(0, "");
  if (dims.size() != 1) return false;
  n.set_sizes(0, dims, true, n.type(0));
  return true;
}

void import_unsqueeze(NodeContext& n) {
  const Shape from = n.shape(0);
  const auto given = axes_of(n, 1);
  n.require(given.has_value(), "its axes are missing");
  const int rank = static_cast<int>(from.size() + given->size());
  const Integers axes = n.axes(*given, rank);
  Shape shape;
  auto next = from.begin();
  for (int i = 0; i < rank; ++i) {
    const bool made = std::find(axes.begin(), axes.end(), i) != axes.end();
    n.require(made || next != from.end(), "one of its axes is given twice");
    shape.push_back(made ? Dim(1) : *next++);
  }
  n.set(0, reshape(n.value(0), {.shape = shape}));
}

bool unsqueeze_sizes(NodeContext& n) {
  if (n.rank(0) != 0) return false;
  n.set_sizes(0, n.sizes(0, ""), false, n.type(0));
  return true;
}

// --- Order -------------------------------------------------------------------------------------

void import_transpose(NodeContext& n) {
  const Value x = n.value(0);
  Integers order = n.integers("perm");
  if (n.attribute("perm") == nullptr) {
    order.resize(static_cast<std::size_t>(x.rank()));
    std::iota(order.rbegin(), order.rend(), 0);
  }
  n.set(0, x.rank() < 2 ? x : transpose(x, {.permutation = order}));
}

void import_identity(NodeContext& n) { n.set(0, n.item(0)); }

// Channels to blocks of pixels: of DCR order, the block is the outer part of a channel.
void import_depth_to_space(NodeContext& n) {
  const Value x = n.value(0);
  const std::int64_t block = n.integer("blocksize");
  const bool outer = n.text("mode", "DCR") == "DCR";
  const Shape s = x.shape();
  n.require(s.size() == 4 && block > 0, "it takes a tensor of 4 axes and a blocksize above 0");
  const std::optional<Dim> depth = s[1].divided_by(Dim(block * block));
  n.require(depth.has_value(),
            "blocks of " + std::to_string(block) + " do not divide " + s[1].str() + " channels");
  const Value split = reshape(x, {.shape = outer ? Shape{s[0], block, block, *depth, s[2], s[3]}
                                                 : Shape{s[0], *depth, block, block, s[2], s[3]}});
  const Value moved = transpose(
      split, {.permutation = outer ? Integers{0, 3, 4, 1, 5, 2} : Integers{0, 1, 4, 2, 5, 3}});
  n.set(0, reshape(moved, {.shape = {s[0], *depth, s[2] * block, s[3] * block}}));
}

void import_space_to_depth(NodeContext& n) {
  const Value x = n.value(0);
  const std::int64_t block = n.integer("blocksize");
  const Shape s = x.shape();
  n.require(s.size() == 4 && block > 0, "it takes a tensor of 4 axes and a blocksize above 0");
  const std::optional<Dim> height = s[2].divided_by(Dim(block)),
                           width = s[3].divided_by(Dim(block));
  n.require(height && width, "blocks of " + std::to_string(block) + " do not divide " + str(s));
  const Value split = reshape(x, {.shape = {s[0], s[1], *height, block, *width, block}});
  const bool outer = n.text("mode", "DCR") == "DCR";
  const Value moved = transpose(
      split, {.permutation = outer ? Integers{0, 3, 5, 1, 2, 4} : Integers{0, 1, 3, 5, 2, 4}});
  n.set(0, reshape(moved, {.shape = {s[0], s[1] * block * block, *height, *width}}));
}

// --- Joining and cutting -----------------------------------------------------------------------

void import_concat(NodeContext& n) {
  std::vector<Value> parts;
  for (std::size_t i = 0; i < n.inputs(); ++i) parts.push_back(n.value(i));
  const std::int64_t axis = n.axis(n.integer("axis"), parts.front().rank());
  n.set(0, parts.size() == 1 ? parts[0] : concat(parts, {.axis = axis}));
}

bool concat_sizes(NodeContext& n) {
  Shape dims;
  for (std::size_t i = 0; i < n.inputs(); ++i) {
    if (n.rank(i) != 1) return false;
    for (const Dim& dim : n.sizes(i, "")) dims.push_back(dim);
  }
  n.set_sizes(0, std::move(dims), false, n.type(0));
  return true;
}

// The sizes of the parts: given, or equal but for the last.
Integers parts_of(const NodeContext& n, const Dim& size) {
  if (n.attribute("split") != nullptr) return n.integers("split");
  if (n.has(1)) return n.known_integers(1, "the sizes of the parts");
  const auto count =
      static_cast<std::int64_t>(n.integer("num_outputs", static_cast<std::int64_t>(n.outputs())));
  n.require(size.is_constant() && count > 0,
            "it splits an axis of the size " + size.str() + " into equal parts");
  const std::int64_t part = (size.constant() + count - 1) / count;
  Integers parts(static_cast<std::size_t>(count), part);
  parts.back() = size.constant() - part * (count - 1);
  return parts;
}

void import_split(NodeContext& n) {
  const Value x = n.value(0);
  const int axis = n.axis(n.integer("axis", 0), x.rank());
  const Integers parts = parts_of(n, x.dim(axis));
  std::int64_t at = 0;
  for (std::size_t i = 0; i < parts.size() && i < n.outputs(); ++i) {
    n.set(i, part_of(x, axis, at, at + parts[i]));
    at += parts[i];
  }
}

void import_slice(NodeContext& n) {
  const Value x = n.value(0);
  const bool attributes = n.version() < 10;
  const auto list = [&](const char* name, std::size_t input) {
    if (!attributes) return n.sizes(input, "where a slice begins or ends");
    return NodeContext::limited_dims(n.integers(name));
  };
  const Shape starts = list("starts", 1), ends = list("ends", 2);
  Integers axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (attributes && n.attribute("axes") != nullptr) axes = n.integers("axes");
  if (!attributes && n.has(3)) axes = n.known_integers(3, "the axes");
  if (!attributes && n.has(4)) steps = n.known_integers(4, "the steps");
  n.require(
      ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
      "its starts, ends, axes and steps have different lengths");
  Value result = x;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    result = sliced(n, result, n.axis(axes[i], x.rank()), starts[i], ends[i], steps[i]);
  }
  n.set(0, result);
}

bool slice_sizes(NodeContext& n) {
  if (n.version() < 10 || n.rank(0) != 1 || !n.item(1).known || !n.item(2).known) return false;
  const Shape dims = n.sizes(0, "");
  const auto size = static_cast<std::int64_t>(dims.size());
  const std::int64_t step = n.has(4) ? n.known_integers(4, "").at(0) : 1;
  if (step != 1 || n.item(1).known->elements() != 1) return false;
  const auto bound = [&](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + size : i, 0, size);
  };
  const std::int64_t start = bound(n.known_integers(1, "")[0]),
                     end = bound(n.known_integers(2, "")[0]);
  n.set_sizes(0, start < end ? Shape(dims.begin() + start, dims.begin() + end) : Shape{}, false,
              n.type(0));
  return true;
}

// --- Repeating ---------------------------------------------------------------------------------

void import_expand(NodeContext& n) {
  const Value x = n.value(0);
  Shape target = n.sizes(1, "a shape");
  const Shape from = x.shape();
  if (target.size() < from.size())
    target.insert(target.begin(), from.size() - target.size(), Dim(1));
  for (std::size_t i = 0; i < from.size(); ++i) {
    Dim& size = target[target.size() - from.size() + i];
    if (size == Dim(1)) size = from[i];
  }
  n.set(0, broadcast_to(x, target));
}

void import_tile(NodeContext& n) {
  n.set(0, tile(n.value(0), n.known_integers(1, "how often it repeats")));
}

// --- Padding -----------------------------------------------------------------------------------

struct Padding {
  Integers low, high;
};

Padding padding_of(const NodeContext& n, int rank) {
  const bool attributes = n.version() < 11;
  const Integers given = attributes ? n.integers("pads") : n.known_integers(1, "the padding");
  Integers axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (!attributes && n.has(3)) axes = n.axes(n.known_integers(3, "the axes"), rank);
  n.require(given.size() == 2 * axes.size(), "its padding has " + std::to_string(given.size()) +
                                                 " numbers for " + std::to_string(axes.size()) +
                                                 " axes");
  Padding padding{Integers(static_cast<std::size_t>(rank)),
                  Integers(static_cast<std::size_t>(rank))};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    padding.low[static_cast<std::size_t>(axes[i])] = given[i];
    padding.high[static_cast<std::size_t>(axes[i])] = given[i + axes.size()];
  }
  return padding;
}

void import_pad(NodeContext& n) {
  Value x = n.value(0);
  const std::string mode = n.text("mode", "constant");
  Padding padding = padding_of(n, x.rank());
  for (std::size_t i = 0; i < padding.low.size(); ++i) {  // negative padding cuts
    const auto axis = static_cast<int>(i);
    if (padding.low[i] < 0) x = sliced(n, x, axis, Dim(-std::exchange(padding.low[i], 0)), kEnd, 1);
    if (padding.high[i] < 0) x = sliced(n, x, axis, 0, Dim(std::exchange(padding.high[i], 0)), 1);
  }
  if (mode == "reflect") return n.set(0, pad_reflect(x, padding.low, padding.high));
  if (mode == "edge") return n.set(0, pad_edge(x, padding.low, padding.high));
  if (mode == "wrap") return n.set(0, pad_circular(x, padding.low, padding.high));
  n.require(mode == "constant", "its mode is \"" + mode + "\"");
  const double value = n.version() < 11 ? n.number("value", 0)
                       : n.has(2)       ? n.known_number(2, "the number that is added")
                                        : 0.0;
  n.set(0, pad(x, {.low = Shape(padding.low.begin(), padding.low.end()),
                   .high = Shape(padding.high.begin(), padding.high.end()),
                   .value = value}));
}

// Cuts or adds equally on both sides; the odd element is at the end.
void import_center_crop_pad(NodeContext& n) {
  Value x = n.value(0);
  const Integers sizes = n.known_integers(1, "a shape");
  Integers axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (n.attribute("axes") != nullptr) axes = n.axes(n.integers("axes"), x.rank());
  n.require(sizes.size() == axes.size(), "its shape and axes have different lengths");
  Shape low(static_cast<std::size_t>(x.rank()), Dim(0)), high = low;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim& dim = x.dim(static_cast<int>(axes[i]));
    n.require(dim.is_constant(), "its axis has the size " + dim.str());
    const std::int64_t more = sizes[i] - dim.constant();
    if (more < 0) {
      const std::int64_t start = -more / 2;
      x = part_of(x, static_cast<int>(axes[i]), start, start + sizes[i]);
    } else {
      low[static_cast<std::size_t>(axes[i])] = more / 2;
      high[static_cast<std::size_t>(axes[i])] = more - more / 2;
    }
  }
  n.set(0, pad(x, {.low = low, .high = high}));
}

void import_trilu(NodeContext& n) {
  const std::int64_t k =
      n.has(1) ? static_cast<std::int64_t>(n.known_number(1, "the diagonal")) : 0;
  const Value x = n.value(0);
  n.set(0, n.integer("upper", 1) != 0 ? triu(x, k) : tril(x, k));
}

constexpr Operator kShapesOperators[] = {
    {"", "CenterCropPad", import_center_crop_pad, {.widens = false}},
    {"", "Concat", import_concat, {.widens = false, .on_sizes = concat_sizes}},
    {"", "DepthToSpace", import_depth_to_space, {.widens = false}},
    {"", "Expand", import_expand, {.widens = false}},
    {"", "Flatten", import_flatten, {.widens = false}},
    {"", "Identity", import_identity, {.widens = false, .takes_items = true}},
    {"", "Pad", import_pad, {.widens = false}},
    {"", "Reshape", import_reshape, {.widens = false, .on_sizes = reshape_sizes}},
    {"", "Shape", import_shape, {.widens = false, .takes_items = true}},
    {"", "Size", import_size, {.widens = false, .takes_items = true}},
    {"", "Slice", import_slice, {.widens = false, .on_sizes = slice_sizes}},
    {"", "SpaceToDepth", import_space_to_depth, {.widens = false}},
    {"", "Split", import_split, {.widens = false}},
    {"", "Squeeze", import_squeeze, {.widens = false, .on_sizes = squeeze_sizes}},
    {"", "Tile", import_tile, {.widens = false}},
    {"", "Transpose", import_transpose, {.widens = false}},
    {"", "Trilu", import_trilu, {.widens = false}},
    {"", "Unsqueeze", import_unsqueeze, {.widens = false, .on_sizes = unsqueeze_sizes}},
};

}  // namespace

Operators shape_operators() { return kShapesOperators; }

}  // namespace trireme::onnx
