#include "ops/pool.h"

#include "ops/layout.h"

#include <algorithm>

namespace trireme::ops {
namespace {

Window checked_window(const Attributes& attributes) {
  const Window window = window_of(attributes);
  // A kernel has the code of each place of the window.
  constexpr std::int64_t kMaxPlaces = 1 << 14;
  require(window.kernel[0] <= kMaxPlaces / window.kernel[1],
          "a window of " + std::to_string(window.kernel[0]) + " by " +
              std::to_string(window.kernel[1]) + " has more than " + std::to_string(kMaxPlaces) +
              " places",
          "to pool whole images, use mean() or reduce_max() along their axes");
  for (std::size_t axis = 0; axis < 2; ++axis) {
    require(std::max(window.before(axis), window.after(axis)) < window.kernel[axis],
            "the padding is as large as the kernel, so a window may contain only padding",
            "use a padding below " + std::to_string(window.kernel[axis]));
  }
  return window;
}

ExprId and_exprs(Builder& k, ExprId a, ExprId b) {
  if (a == kernel_ir::kNoExpr) return b;
  return b == kernel_ir::kNoExpr ? a : k.logical_and(a, b);
}

// Whether `place` is in [0, size); kNoExpr if the window never reaches outside.
ExprId inside_axis(Builder& k, const Window& window, std::size_t axis, std::int64_t tap,
                   std::int64_t windows, std::int64_t size, ExprId place) {
  ExprId inside = kernel_ir::kNoExpr;
  const std::int64_t first = tap - window.before(axis);
  const std::int64_t last = (windows - 1) * window.stride[axis] + first;
  if (first < 0) inside = k.le(k.integer(0), place);
  if (last >= size) inside = and_exprs(k, inside, k.lt(place, k.integer(size)));
  return inside;
}

// One axis of a Cover: window number, tap, and whether the window exists.
struct AxisCover {
  ExprId window, tap, covers;
};

// Returns the windows p with p * stride <= place + padding < p * stride + kernel, the last one
// first.
std::vector<AxisCover> axis_covers(Builder& k, const Window& window, std::size_t axis,
                                   std::int64_t windows, std::int64_t size, ExprId place) {
  const std::int64_t stride = window.stride[axis], kernel = window.kernel[axis];
  const ExprId padded = k.add(place, k.integer(window.before(axis)));
  const ExprId last = quotient(k, padded, stride);
  const ExprId rest = remainder(k, padded, stride);
  const std::int64_t highest = (size - 1 + window.before(axis)) / stride;
  std::vector<AxisCover> covers;
  for (std::int64_t back = 0; back * stride < kernel; ++back) {
    AxisCover cover{k.sub(last, k.integer(back)), k.add(rest, k.integer(back * stride)),
                    kernel_ir::kNoExpr};
    if (back > 0) cover.covers = k.le(k.integer(0), cover.window);
    if (highest - back >= windows) {
      cover.covers = and_exprs(k, cover.covers, k.lt(cover.window, k.integer(windows)));
    }
    if (back * stride + stride > kernel) {  // the largest tap reached is back * stride + stride - 1
      cover.covers = and_exprs(k, cover.covers, k.lt(cover.tap, k.integer(kernel)));
    }
    covers.push_back(cover);
  }
  return covers;
}

}  // namespace

Type pooled_type(const TypeContext& c) {
  const Type& x = c.operands[0];
  require_image(x, c.operand_texts[0]);
  const Window window = checked_window(c.attributes);
  return {x.dtype, windows_shape(x.shape, x.shape[1], window, c.operand_texts[0])};
}

Type unpooled_type(const TypeContext& c) {
  const Type& dy = c.operands[0];
  require_image(dy, c.operand_texts[0]);
  const auto& size = get_attribute<std::vector<std::int64_t>>(c.attributes, "size");
  require(size.size() == 2 && size[0] > 0 && size[1] > 0,
          "`size` must be the height and width of the image");
  const Type x{dy.dtype, {dy.shape[0], dy.shape[1], size[0], size[1]}};
  const Window window = checked_window(c.attributes);
  const Shape windows = windows_shape(x.shape, x.shape[1], window, x.str());
  require(windows == dy.shape, c.operand_texts[0] + " is not the result of pooling " + x.str() +
                                   ", which would have the shape " + str(windows));
  return x;
}

std::vector<Tap> taps_of(Lowering& l) {
  Builder& k = l.k();
  const Window window = window_of(l.op().attributes);
  const auto image = image_size(channels_first(l.op(), l.op().operands[0]->type));
  const auto windows = image_size(channels_first(l.op(), l.op().result()->type));
  std::vector<Tap> taps;
  for (std::int64_t r = 0; r < window.kernel[0]; ++r) {
    for (std::int64_t s = 0; s < window.kernel[1]; ++s) {
      Tap tap{r * window.kernel[1] + s, {l.index()[0], l.index()[1]}, kernel_ir::kNoExpr};
      for (std::size_t axis = 0; axis < 2; ++axis) {
        const std::int64_t step = axis == 0 ? r : s;
        const ExprId start = k.mul(l.index()[2 + axis], k.integer(window.stride[axis]));
        const ExprId place = k.add(start, k.integer(step - window.before(axis)));
        tap.index.push_back(place);
        tap.inside = and_exprs(
            k, tap.inside, inside_axis(k, window, axis, step, windows[axis], image[axis], place));
      }
      taps.push_back(tap);
    }
  }
  return taps;
}

std::vector<Cover> covers_of(Lowering& l) {
  Builder& k = l.k();
  const Window window = window_of(l.op().attributes);
  const auto windows = image_size(channels_first(l.op(), l.op().operands[0]->type));
  const auto image = image_size(channels_first(l.op(), l.op().result()->type));
  const auto index = l.index();
  std::vector<Cover> covers;
  for (const AxisCover& row : axis_covers(k, window, 0, windows[0], image[0], index[2])) {
    for (const AxisCover& column : axis_covers(k, window, 1, windows[1], image[1], index[3])) {
      covers.push_back({{index[0], index[1], row.window, column.window},
                        k.add(k.mul(row.tap, k.integer(window.kernel[1])), column.tap),
                        and_exprs(k, row.covers, column.covers)});
    }
  }
  return covers;
}

void for_each_tap(const Window& window, const Index& image, const Index& windows,
                  const std::function<void(const Index&, std::int64_t, const Index&)>& f) {
  for_each_index(windows, [&](const Index& y) {
    for_each_index({window.kernel[0], window.kernel[1]}, [&](const Index& tap) {
      const std::int64_t h = y[2] * window.stride[0] + tap[0] - window.before(0);
      const std::int64_t w = y[3] * window.stride[1] + tap[1] - window.before(1);
      if (h < 0 || h >= image[2] || w < 0 || w >= image[3]) return;
      f(y, tap[0] * window.kernel[1] + tap[1], {y[0], y[1], h, w});
    });
  });
}

std::vector<std::int64_t> PoolCase::y() const {
  const Window window = window_of(attributes());
  return {x[0], x[1], window.count(0, x[2]), window.count(1, x[3])};
}

Attributes PoolCase::attributes() const {
  return {{"kernel", kernel}, {"padding", padding}, {"stride", stride}};
}

Attributes PoolCase::gradient_attributes() const {
  Attributes all = attributes();
  set_attribute(all, "size", std::vector<std::int64_t>{x[2], x[3]});
  return all;
}

std::vector<PoolCase> pool_cases() {
  return {
      {.x = {2, 3, 6, 8}, .kernel = {2, 2}, .stride = {2, 2}},
      {.x = {2, 1, 7, 9}, .kernel = {2, 2}, .stride = {2, 2}},
      {.x = {1, 2, 7, 7}, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1, 1, 1}},
      {.x = {2, 2, 6, 5}, .kernel = {3, 2}, .stride = {1, 1}},
      {.x = {1, 2, 8, 9}, .kernel = {2, 3}, .stride = {3, 4}},
      {.x = {1, 1, 5, 6}, .kernel = {3, 3}, .stride = {1, 3}, .padding = {0, 2, 1, 0}},
      {.x = {1, 1, 1, 1}, .kernel = {1, 1}, .stride = {1, 1}},
      {.x = {0, 2, 4, 4}, .kernel = {2, 2}, .stride = {2, 2}},
  };
}

Dim pooling_flops(const ir::Op& op) {
  std::int64_t taps = 1;
  for (const std::int64_t size :
       get_attribute<std::vector<std::int64_t>>(op.attributes, "kernel")) {
    taps *= size;
  }
  return Dim(taps) * product(op.result()->type.shape);
}

}  // namespace trireme::ops
