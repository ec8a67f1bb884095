#include "compiler/tiles.h"

#include <algorithm>

namespace trireme::compiler {

using kernel_ir::LoopKind;
using kernel_ir::ReduceOp;
using kernel_ir::Stmt;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t largest_divisor(std::int64_t n, std::int64_t limit) {
  std::int64_t d = std::max<std::int64_t>(std::min(n, limit), 1);
  while (n % d != 0) --d;
  return d;
}

std::int64_t piece(std::int64_t n, std::int64_t limit) {
  const std::int64_t equal = largest_divisor(n, limit);
  return 2 * equal < std::min(n, limit) ? std::min(n, limit) : equal;
}

TileLowering::TileLowering(const Group& group, const std::vector<Output>& outputs,
                           const Storages& storages, const codegen::Target& target)
    : KernelLowering(group, outputs, storages, target),
      op_(*group.domain.contraction),
      how_(ops::Catalog::of(op_).contraction(op_)),
      x_(op_.operands[0]),
      weight_(op_.operands[1]),
      y_(op_.result()),
      type_(y_->type.dtype),
      vector_lanes_(target.lanes(type_)),
      accumulators_(target.vector_registers() >= 32 ? 24 : 12) {}

// --- Sizes of tiles -----------------------------------------------------------------------------

int TileLowering::single_lanes_for(const Dim& columns) const {
  int lanes = vector_lanes_;
  if (!columns.is_constant()) return lanes;
  while (lanes > 1 && columns.constant() <= lanes / 2) lanes /= 2;
  return lanes;
}

int TileLowering::lanes_for(const Dim& columns) const {
  const int lanes = single_lanes_for(columns);
  if (2 * lanes > 64) return lanes;
  if (!columns.is_constant()) return 2 * lanes;
  const std::int64_t n = columns.constant();
  return n % (2 * lanes) == 0 || n > 8 * lanes ? 2 * lanes : lanes;
}

int TileLowering::wide_lanes_for(const Dim& columns) const {
  const std::int64_t n = columns.is_constant() ? columns.constant() : 4 * vector_lanes_;
  int lanes = single_lanes_for(n);
  while (2 * lanes <= std::min<std::int64_t>(n, 16 * vector_lanes_)) lanes *= 2;
  return lanes;
}

int TileLowering::rows_for(int lanes) const {
  return std::max(1, accumulators_ / std::max(1, lanes / vector_lanes_));
}

Dim TileLowering::work() const {
  constexpr std::int64_t kCheap = 8;
  const Dim& inner = x_->type.shape.back();
  const std::int64_t depth =
      inner.is_constant() ? inner.constant() / how_.groups * how_.kernel[0] * how_.kernel[1] : 64;
  return product(y_->type.shape) * Dim(std::max<std::int64_t>(1, depth / kCheap));
}

// --- One tile -----------------------------------------------------------------------------------

void TileLowering::sums(Body& body, std::size_t count, std::vector<Stmt> loops,
                        const std::function<ExprId(std::size_t)>& factor,
                        const std::function<ExprId()>& second,
                        const std::function<void(std::size_t, ExprId)>& done) {
  Body inside;
  const int first = kernel_->accumulators;
  kernel_->accumulators += static_cast<int>(count);
  for (std::size_t i = 0; i < count; ++i) {
    const int accumulator = first + static_cast<int>(i);
    body.push_back(kernel_ir::make_declare(accumulator, ReduceOp::sum, type_));
    inside.push_back(kernel_ir::make_accumulate(accumulator, ReduceOp::sum, type_,
                                                summand(factor(i), second())));
  }
  while (!loops.empty()) {
    Stmt outer = std::move(loops.back());
    loops.pop_back();
    outer.body = std::move(inside);
    inside.clear();
    inside.push_back(std::move(outer));
  }
  for (Stmt& stmt : inside) body.push_back(std::move(stmt));
  for (std::size_t i = 0; i < count; ++i) {
    done(i, k_.accumulator(first + static_cast<int>(i), type_));
  }
}

ExprId TileLowering::summand(ExprId factor, ExprId second) {
  if (how_.words == 4) return k_.dot4(factor, second);
  if (how_.words == 2) return k_.dot2(factor, second);
  return k_.mul(k_.cast(factor, type_), k_.cast(second, type_));
}

void TileLowering::store_result(Body& body, const Index& index, ExprId total) {
  evaluator_.set_known(y_, index, evaluator_.as_stored(y_, total));
  for (const Output& output : outputs_) store_output(body, output, index);
}

ExprId TileLowering::digit(ExprId* rest, std::int64_t n) {
  const ExprId result = k_.rem(*rest, k_.integer(n));
  *rest = k_.div(*rest, k_.integer(n));
  return result;
}

// --- Images -------------------------------------------------------------------------------------

std::int64_t TileLowering::source_rows(std::int64_t rows) const {
  return (rows - 1) * how_.stride[0] + (how_.kernel[0] - 1) * how_.dilation[0] + 1;
}

bool TileLowering::copies_x() const {
  const bool narrow =
      !evaluator_.computes(x_) && storages_.type(storages_.of(x_)) != x_->type.dtype;
  return how_.is_padded() || narrow || reads_after_row();
}

bool TileLowering::reads_after_row() const {
  return how_.words > 0 && how_.windows && how_.kernel[1] * size(x_, 3) % how_.words != 0;
}

std::int64_t TileLowering::padded_width() const {
  return size(x_, 2) + how_.padding[2] + how_.padding[3];
}

void TileLowering::fill(Body& body) {
  if (!copies_x()) return;
  if (how_.words > 0) return fill_integers(body);
  const std::int64_t channels = size(x_, 3), row = padded_width() * channels;
  scratch_ = scratch_buffer(x_->type.dtype, Dim(source_rows(rows_) * row));
  Stmt line = loop(LoopKind::serial, k_.integer(source_rows(rows_)));
  const ExprId h = k_.add(times(first_row_, how_.stride[0]), plus(var(line), -how_.padding[0]));
  const int lanes = lanes_;
  lanes_ = vector_lanes_;
  Stmt vector = loop(LoopKind::vector, k_.integer(row));
  lanes_ = lanes;
  const ExprId j = var(vector);
  const auto inside = [&](ExprId v, std::int64_t low, std::int64_t high) {
    return k_.logical_and(k_.le(k_.integer(low), v), k_.lt(v, k_.integer(high)));
  };
  const std::int64_t left = how_.padding[2] * channels;
  const ExprId guard =
      k_.logical_and(inside(h, 0, size(x_, 1)), inside(j, left, left + size(x_, 2) * channels));
  const ExprId source = evaluator_.value_at(x_, x_index(h, k_.integer(0), plus(j, -left)), guard);
  vector.body.push_back(kernel_ir::make_store(scratch_, k_.add(times(var(line), row), j), source));
  line.body.push_back(std::move(vector));
  body.push_back(std::move(line));
}

// Integers are copied without masks: the border, and rows outside of x, have loops of their own.
void TileLowering::fill_integers(Body& body) {
  const DType type = x_->type.dtype;
  const std::int64_t channels = size(x_, 3), row = padded_width() * channels;
  scratch_ = scratch_buffer(type, Dim(source_rows(rows_) * row + how_.words - 1));
  Stmt line = loop(LoopKind::serial, k_.integer(source_rows(rows_)));
  const ExprId h = k_.add(times(first_row_, how_.stride[0]), plus(var(line), -how_.padding[0]));
  const ExprId inside = k_.logical_and(k_.le(k_.integer(0), h), k_.lt(h, k_.integer(size(x_, 1))));
  const std::int64_t left = how_.padding[2] * channels, middle = size(x_, 2) * channels;
  const ExprId start = times(var(line), row);
  // Stores x, or the padding, to `extent` elements from `first` on.
  const auto add = [&](std::int64_t first, ExprId extent, bool copy) {
    const int lanes = lanes_;
    lanes_ = std::min(64, vector_lanes_ * static_cast<int>(how_.words));
    Stmt vector = loop(LoopKind::vector, extent);
    lanes_ = lanes;
    const ExprId j = var(vector);
    const ExprId value = copy ? evaluator_.value_at(x_, x_index(h, k_.integer(0), j))
                              : k_.integer(how_.pad_value, type);
    const ExprId place = k_.add(start, plus(j, first));
    vector.body.push_back(kernel_ir::make_store(scratch_, place, value));
    line.body.push_back(std::move(vector));
  };
  const ExprId none = k_.integer(0);
  if (left > 0) add(0, k_.integer(left), false);
  add(left, k_.select(inside, k_.integer(middle), none), true);
  if (how_.padding[0] + how_.padding[1] > 0) {
    add(left, k_.select(inside, none, k_.integer(middle)), false);
  }
  const std::int64_t right = row - left - middle;
  if (right > 0) add(left + middle, k_.integer(right), false);
  body.push_back(std::move(line));
}

// With one channel, `c` may run over the pixels after w.
Index TileLowering::x_index(ExprId h, ExprId w, ExprId c) {
  if (size(x_, 3) == 1) return {image_, h, k_.add(w, c), k_.integer(0)};
  return {image_, h, w, c};
}

ExprId TileLowering::x_at(ExprId h, ExprId w, ExprId c) {
  if (!copies_x()) {
    const Index index = x_index(k_.add(times(first_row_, how_.stride[0]), h), w, c);
    return how_.words > 0 ? evaluator_.word_at(x_, index) : evaluator_.value_at(x_, index);
  }
  const ExprId pixel = k_.add(times(h, padded_width()), w);
  const ExprId position = k_.add(times(pixel, size(x_, 3)), c);
  return how_.words > 0 ? k_.load_word(scratch_, position) : k_.load(scratch_, position);
}

}  // namespace trireme::compiler
