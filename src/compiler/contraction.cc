#include "compiler/contraction.h"

#include <algorithm>

#include "compiler/lowering.h"
#include "ops/op.h"

namespace trireme::compiler {
namespace {

using kernel_ir::LoopKind;
using kernel_ir::ReduceOp;
using kernel_ir::Stmt;
using Body = std::vector<Stmt>;

constexpr std::int64_t kColumnBlock = 256;  // of a parallel iteration
constexpr std::int64_t kRowChunks = 16;     // parts that rows are cut into for the threads
constexpr std::int64_t kMostScratchBytes = 96 << 10;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t largest_divisor(std::int64_t n, std::int64_t most) {
  std::int64_t d = std::max<std::int64_t>(std::min(n, most), 1);
  while (n % d != 0) --d;
  return d;
}

class ContractionLowering : public KernelLowering {
 public:
  ContractionLowering(const Group& group, const std::vector<Output>& outputs,
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

  LoweredGroup run() {
    if (how_.is_product()) {
      lower_product();
    } else {
      lower_windows();
    }
    return finish(work());
  }

 private:
  // --- Sizes of tiles

  // Lanes of the loop over `columns`: two vectors where there are enough of them, and no more than
  // needed.
  int lanes_for(const Dim& columns) const {
    int lanes = vector_lanes_;
    if (!columns.is_constant()) return 2 * lanes <= 64 ? 2 * lanes : lanes;
    const std::int64_t n = columns.constant();
    while (lanes > 1 && n <= lanes / 2) lanes /= 2;
    const bool two = n % (2 * lanes) == 0 || n > 8 * lanes;
    return two && 2 * lanes <= 64 ? 2 * lanes : lanes;
  }

  int wide_lanes_for(const Dim& columns) const {
    int lanes = vector_lanes_;
    const std::int64_t n = columns.is_constant() ? columns.constant() : 4 * vector_lanes_;
    while (lanes > 1 && n <= lanes / 2) lanes /= 2;
    while (2 * lanes <= std::min<std::int64_t>(n, 16 * vector_lanes_)) lanes *= 2;
    return lanes;
  }

  int rows_for(int lanes) const {
    return std::max(1, accumulators_ / std::max(1, lanes / vector_lanes_));
  }

  // Additions of products that weigh as much as an element of other kernels, roughly.
  Dim work() const {
    constexpr std::int64_t kCheap = 16;
    const Dim& inner = x_->type.shape.back();
    const std::int64_t depth =
        inner.is_constant() ? inner.constant() / how_.groups * how_.kernel[0] * how_.kernel[1] : 64;
    return product(y_->type.shape) * Dim(std::max<std::int64_t>(1, depth / kCheap));
  }

  // --- One tile

  // Sums factor(i) * second() over `loops` for element i, each in an accumulator, and stores what the
  // group makes of the elements.
  template <class Factor, class Second>
  void tile(Body& body, const std::vector<Index>& elements, std::vector<Stmt> loops,
            const Factor& factor, const Second& second) {
    Body inside;
    const int first = kernel_->accumulators;
    kernel_->accumulators += static_cast<int>(elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const int accumulator = first + static_cast<int>(i);
      body.push_back(kernel_ir::make_declare(accumulator, ReduceOp::sum, type_));
      inside.push_back(kernel_ir::make_accumulate(accumulator, ReduceOp::sum, type_,
                                                  k_.mul(factor(i), second())));
    }
    while (!loops.empty()) {
      Stmt outer = std::move(loops.back());
      loops.pop_back();
      outer.body = std::move(inside);
      inside.clear();
      inside.push_back(std::move(outer));
    }
    for (Stmt& stmt : inside) body.push_back(std::move(stmt));
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const ExprId sum = k_.accumulator(first + static_cast<int>(i), type_);
      evaluator_.set_known(y_, elements[i], evaluator_.as_stored(y_, sum));
      for (const Output& output : outputs_) store_output(body, output, elements[i]);
    }
  }

  ExprId var(const Stmt& loop) { return k_.loop_var(loop.loop_var); }
  ExprId plus(ExprId a, std::int64_t b) { return k_.add(a, k_.integer(b)); }
  ExprId times(ExprId a, std::int64_t b) { return k_.mul(a, k_.integer(b)); }

  // --- Products: rows by columns

  void lower_product() {
    const Shape& shape = y_->type.shape;
    const bool shared = how_.windows || weight_->type.shape.size() == 2;
    const std::size_t kept = shared ? 0 : shape.size() - 2;  // dimensions of separate products
    const Shape leading(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(kept));
    const Shape rows(shape.begin() + static_cast<std::ptrdiff_t>(kept), shape.end() - 1);
    const Dim columns = shape.back();
    const std::int64_t blocks =
        columns.is_constant()
            ? std::max<std::int64_t>(1, ceil_div(columns.constant(), kColumnBlock))
            : 1;
    const std::int64_t chunks = shared ? kRowChunks : 1;
    set_trip(product(leading) * Dim(blocks * chunks));

    ExprId rest = root_var();
    const ExprId block = k_.rem(rest, k_.integer(blocks));
    rest = k_.div(rest, k_.integer(blocks));
    const ExprId chunk = k_.rem(rest, k_.integer(chunks));
    const Index batch = evaluator_.delinear(k_.div(rest, k_.integer(chunks)), leading);

    const ExprId start = times(block, kColumnBlock);
    const ExprId left = k_.sub(evaluator_.dim(columns), start);
    const ExprId extent =
        blocks == 1 ? evaluator_.dim(columns) : k_.min(k_.integer(kColumnBlock), left);

    // The rows of one chunk: whole tiles, then smaller ones, then the rest one by one, which reads
    // the second operand as it lies, in long runs.
    const int narrow = lanes_for(columns);
    const int tile_rows = rows_for(narrow);
    const ExprId all = evaluator_.dim(product(rows));
    const ExprId unit = k_.integer(chunks * tile_rows);
    const ExprId each = times(k_.div(plus(all, chunks * tile_rows - 1), unit), tile_rows);
    ExprId first = k_.mul(chunk, each);
    ExprId count = k_.min(each, k_.sub(all, first));
    for (const int tile : {tile_rows, tile_rows / 3, 1}) {
      lanes_ = tile == 1 ? wide_lanes_for(columns) : narrow;
      const ExprId tiles = k_.div(count, k_.integer(tile));
      Stmt vector =
          loop(LoopKind::vector, k_.select(k_.lt(k_.integer(0), tiles), extent, k_.integer(0)));
      Stmt down = loop(LoopKind::serial, tiles);
      const ExprId row = k_.add(first, times(var(down), tile));
      add_tile(down.body, batch, rows, row, tile, k_.add(start, var(vector)));
      vector.body.push_back(std::move(down));
      kernel_->root.body.push_back(std::move(vector));
      first = k_.add(first, times(tiles, tile));
      count = k_.sub(count, times(tiles, tile));
    }
  }

  void add_tile(Body& body, const Index& batch, const Shape& rows, ExprId first, int count,
                ExprId column) {
    std::vector<Index> elements, sources;
    Stmt depth = loop(LoopKind::serial, evaluator_.dim(x_->type.shape.back()));
    for (int i = 0; i < count; ++i) {
      Index index = batch;
      const Index row = evaluator_.delinear(plus(first, i), rows);
      index.insert(index.end(), row.begin(), row.end());
      index.push_back(column);
      elements.push_back(index);
      index.back() = var(depth);
      sources.push_back(index);
    }
    Index second = weight_->type.shape.size() == y_->type.shape.size() && !how_.windows
                       ? batch
                       : Index(weight_->type.shape.size() - 2, k_.integer(0));
    second.push_back(var(depth));
    second.push_back(column);
    tile(
        body, elements, {depth}, [&](std::size_t i) { return evaluator_.value_at(x_, sources[i]); },
        [&] { return evaluator_.value_at(weight_, second); });
  }

  // --- Windows: pixels by channels

  std::int64_t size(const ir::Value* value, std::size_t axis) const {
    return value->type.shape[axis].constant();
  }

  void lower_windows() {
    const std::int64_t out_h = size(y_, 1), channels = size(y_, 3);
    depthwise_ = how_.groups > 1 && how_.groups == channels && size(weight_, 2) == 1;
    const std::int64_t groups = depthwise_ ? 1 : how_.groups;
    const std::int64_t columns = channels / groups;  // of one group
    lanes_ = lanes_for(columns);
    const std::int64_t blocks = std::max<std::int64_t>(1, ceil_div(columns, kColumnBlock));
    choose_rows(out_h);
    const std::int64_t row_blocks = rows_ == 0 ? 0 : out_h / rows_;
    set_trip(y_->type.shape[0] * Dim(row_blocks * groups * blocks));
    if (row_blocks == 0 || channels == 0) return;

    ExprId rest = root_var();
    const auto take = [&](std::int64_t n) {
      const ExprId part = k_.rem(rest, k_.integer(n));
      rest = k_.div(rest, k_.integer(n));
      return part;
    };
    const ExprId block = take(blocks);
    group_number_ = take(groups);
    first_row_ = times(take(row_blocks), rows_);
    image_ = rest;
    if (padded_) fill(kernel_->root.body);

    const ExprId start = times(block, kColumnBlock);
    const ExprId extent =
        columns % kColumnBlock == 0 || blocks == 1
            ? k_.integer(std::min(columns, kColumnBlock))
            : k_.min(k_.integer(kColumnBlock), k_.sub(k_.integer(columns), start));
    const int lanes = lanes_;
    Stmt vector = loop(LoopKind::vector, extent);
    vector.lanes = lanes;
    const ExprId channel = k_.add(times(group_number_, columns), k_.add(start, var(vector)));
    add_pixels(vector.body, channel);
    kernel_->root.body.push_back(std::move(vector));
  }

  // Stored in 16 bits: it is widened once, on the way to memory of the thread's own, instead of every
  // time that one of its elements is needed.
  bool is_narrow(const ir::Value* value) const {
    return !evaluator_.computes(value) && storages_.type(storages_.of(value)) != value->type.dtype;
  }

  // How many rows of the result one parallel iteration makes: a divisor of all, such that the rows
  // of x that are read fit beside each other in a near cache.
  void choose_rows(std::int64_t out_h) {
    padded_ = how_.is_padded() || is_narrow(x_);
    width_ = size(x_, 2) + how_.padding[2] + how_.padding[3];
    const std::int64_t row_bytes = width_ * size(x_, 3) * static_cast<std::int64_t>(size_of(type_));
    rows_ = 0;
    for (std::int64_t rows = 1; rows <= std::max<std::int64_t>(4, out_h / 4); ++rows) {
      if (out_h % rows != 0) continue;
      if (rows > 1 && source_rows(rows) * row_bytes > kMostScratchBytes) break;
      rows_ = rows;
    }
    if (out_h == 0) rows_ = 0;
  }

  std::int64_t source_rows(std::int64_t rows) const {
    return (rows - 1) * how_.stride[0] + (how_.kernel[0] - 1) * how_.dilation[0] + 1;
  }

  // Copies the rows of x that are needed, with zeros around, to memory of the thread's own.
  void fill(Body& body) {
    const std::int64_t channels = size(x_, 3), row = width_ * channels;
    scratch_ = scratch_buffer(type_, Dim(source_rows(rows_) * row));
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
    vector.body.push_back(
        kernel_ir::make_store(scratch_, k_.add(times(var(line), row), j), source));
    line.body.push_back(std::move(vector));
    body.push_back(std::move(line));
  }

  // Where `c` may run over the channels of neighbouring pixels.
  Index x_index(ExprId h, ExprId w, ExprId c) {
    if (size(x_, 3) == 1) return {image_, h, k_.add(w, c), k_.integer(0)};
    return {image_, h, w, c};
  }

  void add_pixels(Body& body, ExprId channel) {
    const std::int64_t out_w = size(y_, 2);
    const std::int64_t most = rows_for(lanes_);
    std::int64_t columns = largest_divisor(out_w, most);
    if (2 * columns < std::min(out_w, most)) columns = std::min(out_w, most);
    const std::int64_t rows = columns == out_w ? largest_divisor(rows_, most / columns) : 1;
    Stmt down = loop(LoopKind::serial, k_.integer(rows_ / rows));
    const ExprId p = times(var(down), rows);
    if (out_w / columns > 0) {
      Stmt across = loop(LoopKind::serial, k_.integer(out_w / columns));
      add_window_tile(across.body, p, times(var(across), columns), rows, columns, channel);
      down.body.push_back(std::move(across));
    }
    if (out_w % columns > 0) {
      const ExprId q = k_.integer(out_w / columns * columns);
      add_window_tile(down.body, p, q, rows, out_w % columns, channel);
    }
    body.push_back(std::move(down));
  }

  // Sums over the window's rows, columns and channels. Columns and channels are one loop where they
  // lie side by side in both operands.
  void add_window_tile(Body& body, ExprId p, ExprId q, std::int64_t rows, std::int64_t columns,
                       ExprId channel) {
    const std::int64_t inner = size(weight_, 2);
    const bool joined = !depthwise_ && how_.groups == 1 && how_.dilation[1] == 1;
    Stmt r = loop(LoopKind::serial, k_.integer(how_.kernel[0]));
    Stmt s = loop(LoopKind::serial, k_.integer(how_.kernel[1] * (joined ? inner : 1)));
    std::vector<Stmt> loops = {r, s};
    ExprId c = k_.integer(0);  // of the weight
    if (!joined && inner > 1) {
      loops.push_back(loop(LoopKind::serial, k_.integer(inner)));
      c = var(loops.back());
    }
    ExprId x_channel = depthwise_ ? channel : k_.add(times(group_number_, inner), c);
    if (joined) x_channel = var(s);
    const ExprId shift = joined ? k_.integer(0) : times(var(s), how_.dilation[1]);

    std::vector<Index> elements;
    std::vector<ExprId> factors;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        elements.push_back({image_, k_.add(first_row_, plus(p, i)), plus(q, j), channel});
        const ExprId h = k_.add(times(plus(p, i), how_.stride[0]), times(var(r), how_.dilation[0]));
        const ExprId w = k_.add(times(plus(q, j), how_.stride[1]), shift);
        factors.push_back(x_at(h, w, x_channel));
      }
    }
    Index second = {var(r), k_.integer(0), k_.integer(0), channel};
    if (joined) {
      second[inner == 1 ? 1 : 2] = var(s);
    } else {
      second[1] = var(s);
      second[2] = c;
    }
    tile(
        body, elements, std::move(loops), [&](std::size_t i) { return factors[i]; },
        [&] { return evaluator_.value_at(weight_, second); });
  }

  // x at row h after the first one that this iteration needs, counted with the padding.
  ExprId x_at(ExprId h, ExprId w, ExprId c) {
    if (!padded_) {
      return evaluator_.value_at(x_, x_index(k_.add(times(first_row_, how_.stride[0]), h), w, c));
    }
    const std::int64_t channels = size(x_, 3);
    return k_.load(scratch_, k_.add(times(k_.add(times(h, width_), w), channels), c));
  }

  const ir::Op& op_;
  const ops::Contraction how_;
  const ir::Value* x_;
  const ir::Value* weight_;
  const ir::Value* y_;
  const DType type_;
  const int vector_lanes_;
  const int accumulators_;  // vectors of a tile: the registers less those for operands

  bool depthwise_ = false;
  bool padded_ = false;     // x is read from scratch
  std::int64_t rows_ = 0;   // of the result, in one iteration
  std::int64_t width_ = 0;  // of x with its padding
  int scratch_ = -1;
  ExprId image_ = 0, group_number_ = 0, first_row_ = 0;
};

}  // namespace

LoweredGroup lower_contraction(const Group& group, const std::vector<Output>& outputs,
                               const Storages& storages, const codegen::Target& target) {
  return ContractionLowering(group, outputs, storages, target).run();
}

// Measured on Zen 4: our convolutions reach 90% of the peak for any number of channels, where oneDNN
// 2.6 falls to 7% with few. Our products are as fast as the libraries' as long as the second matrix
// stays in a level 2 cache, and take in whatever follows; transposing it first would cost too much.
bool generated_is_faster(const ir::Op& op) {
  if (op.name() != "matmul") return true;
  constexpr std::int64_t kMostElements = 512 * 1024;
  const Dim elements = product(op.operands[1]->type.shape);
  return elements.is_constant() && elements.constant() <= kMostElements &&
         !ir::get<bool>(op.attributes, "transpose_a") &&
         !ir::get<bool>(op.attributes, "transpose_b");
}

}  // namespace trireme::compiler
