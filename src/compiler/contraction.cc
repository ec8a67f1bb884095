#include "compiler/contraction.h"

#include <algorithm>

#include "compiler/tiles.h"
#include "compiler/winograd.h"

namespace trireme::compiler {
namespace {

using kernel_ir::LoopKind;
using kernel_ir::Stmt;

constexpr std::int64_t kColumnBlock = 256;  // maximum columns of a parallel iteration
constexpr std::int64_t kGroupTiles = 4;     // tiles of rows that read the same columns in turn
constexpr std::int64_t kRowChunks = 16;     // parts of the rows for the threads
constexpr std::int64_t kMaxScratchBytes = 96 << 10;
// A weight that does not fit into a near cache should be read as few times as possible.
constexpr std::int64_t kLargeWeight = 512 << 10, kFarScratchBytes = 512 << 10;

class ContractionLowering : public TileLowering {
 public:
  using TileLowering::TileLowering;

  LoweredGroup run() {
    if (how_.is_product() && !reads_after_row()) {
      lower_product();
    } else {
      lower_windows();
    }
    return finish(work());
  }

 private:
  // --- Products: rows by columns

  void lower_product() {
    const Shape& shape = y_->type.shape;
    const bool shared = how_.windows || is_packed() || weight_->type.shape.size() == 2;
    const std::size_t kept = shared ? 0 : shape.size() - 2;  // dimensions of separate products
    const Shape leading(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(kept));
    const Shape rows(shape.begin() + static_cast<std::ptrdiff_t>(kept), shape.end() - 1);
    const Dim columns = shape.back();
    const int narrow = lanes_for(columns);
    const int tile_rows = rows_for(narrow);
    const std::int64_t strip = is_packed() ? weight_->type.shape[2].constant() : 0;
    const std::int64_t width = block_for(columns, strip > 0 ? strip : narrow);
    const std::int64_t blocks =
        columns.is_constant() ? std::max<std::int64_t>(1, ceil_div(columns.constant(), width)) : 1;
    const std::int64_t chunks = shared ? kRowChunks : 1;
    set_trip(product(leading) * Dim(blocks * chunks));

    // Threads take neighbouring iterations. With few rows only the first chunks have any, so the
    // threads must share the blocks of columns.
    ExprId rest = root_var();
    const ExprId chunk = k_.rem(rest, k_.integer(chunks));
    rest = k_.div(rest, k_.integer(chunks));
    const ExprId block = k_.rem(rest, k_.integer(blocks));
    const Index batch = evaluator_.delinear(k_.div(rest, k_.integer(blocks)), leading);

    const ExprId start = times(block, width);
    const ExprId left = k_.sub(evaluator_.dim(columns), start);
    const ExprId extent = blocks == 1 ? evaluator_.dim(columns) : k_.min(k_.integer(width), left);

    // The rows of one chunk: first groups of tiles that share reads of the second operand, then
    // tiles, then smaller tiles, then single rows, which read the second operand in long contiguous
    // runs.
    const ExprId all = evaluator_.dim(product(rows));
    const std::int64_t group_rows = kGroupTiles * tile_rows;
    const ExprId rows_per_chunk = times(
        k_.div(plus(all, chunks * group_rows - 1), k_.integer(chunks * group_rows)), group_rows);
    ExprId first = k_.mul(chunk, rows_per_chunk);
    ExprId count = k_.min(rows_per_chunk, k_.sub(all, first));
    struct Phase {
      int tile;
      std::int64_t group;  // tiles
    };
    for (const auto [tile, group] :
         {Phase{tile_rows, kGroupTiles}, {tile_rows, 1}, {tile_rows / 3, 1}, {1, 1}}) {
      lanes_ = tile == 1 && strip == 0 ? wide_lanes_for(width) : narrow;
      const ExprId tiles = k_.div(count, k_.integer(tile));
      const ExprId groups =
          group == 1 ? k_.select(k_.lt(k_.integer(0), tiles), k_.integer(1), k_.integer(0))
                     : k_.div(tiles, k_.integer(group));
      Stmt over = loop(LoopKind::serial, groups);
      Stmt across =
          loop(LoopKind::serial, strip > 0 ? k_.div(extent, k_.integer(strip)) : k_.integer(1));
      Stmt vector = loop(LoopKind::vector, strip > 0 ? k_.integer(strip) : extent);
      Stmt down = loop(LoopKind::serial, group == 1 ? tiles : k_.integer(group));
      const ExprId number = k_.add(times(var(over), group), var(down));
      const ExprId row = k_.add(first, times(number, tile));
      if (strip > 0) {
        add_packed_tile(down.body, row, tile, strip,
                        k_.add(k_.div(start, k_.integer(strip)), var(across)), var(vector));
      } else {
        add_tile(down.body, batch, rows, row, tile, k_.add(start, var(vector)));
      }
      vector.body.push_back(std::move(down));
      across.body.push_back(std::move(vector));
      over.body.push_back(std::move(across));
      kernel_->root.body.push_back(std::move(over));
      const ExprId done = times(group == 1 ? tiles : times(groups, group), tile);
      first = k_.add(first, done);
      count = k_.sub(count, done);
    }
  }

  // Returns the columns of a parallel iteration: a few blocks, so that threads can share the work
  // even with few rows.
  static std::int64_t block_for(const Dim& columns, std::int64_t unit) {
    constexpr std::int64_t kMinColumns = 64;
    if (!columns.is_constant()) return kColumnBlock / unit * unit;
    const std::int64_t min_width = ceil_div(std::min(kMinColumns, kColumnBlock), unit) * unit;
    const std::int64_t quarter = ceil_div(ceil_div(columns.constant(), 4), unit) * unit;
    return std::max(min_width, std::min(quarter, kColumnBlock / unit * unit));
  }

  // Whether the second operand is packed in strips of columns (packed_matmul).
  bool is_packed() const {
    return !how_.windows && weight_->type.shape.size() > y_->type.shape.size();
  }

  void add_packed_tile(Body& body, ExprId first, int count, std::int64_t width, ExprId strip,
                       ExprId lane) {
    Stmt depth = loop(LoopKind::serial, evaluator_.dim(x_->type.shape.back()));
    const ExprId column = k_.add(times(strip, width), lane);
    sums(
        body, static_cast<std::size_t>(count), {depth},
        [&](std::size_t i) {
          return evaluator_.value_at(x_, {plus(first, static_cast<std::int64_t>(i)), var(depth)});
        },
        [&] { return evaluator_.value_at(weight_, {strip, var(depth), lane}); },
        [&](std::size_t i, ExprId total) {
          store_result(body, {plus(first, static_cast<std::int64_t>(i)), column}, total);
        });
  }

  void add_tile(Body& body, const Index& batch, const Shape& rows, ExprId first, int count,
                ExprId column) {
    std::vector<Index> elements, sources;
    Stmt depth =
        loop(LoopKind::serial, evaluator_.dim(weight_->type.shape[weight_->type.shape.size() - 2]));
    const ExprId source = how_.words > 0 ? times(var(depth), how_.words) : var(depth);
    for (int i = 0; i < count; ++i) {
      Index index = batch;
      const Index row = evaluator_.delinear(plus(first, i), rows);
      index.insert(index.end(), row.begin(), row.end());
      index.push_back(column);
      elements.push_back(index);
      index.back() = source;
      sources.push_back(index);
    }
    Index second = weight_->type.shape.size() == y_->type.shape.size() && !how_.windows
                       ? batch
                       : Index(weight_->type.shape.size() - 2, k_.integer(0));
    second.push_back(var(depth));
    second.push_back(column);
    sums(
        body, elements.size(), {depth},
        [&](std::size_t i) {
          return how_.words > 0 ? evaluator_.word_at(x_, sources[i])
                                : evaluator_.value_at(x_, sources[i]);
        },
        [&] { return evaluator_.value_at(weight_, second); },
        [&](std::size_t i, ExprId total) { store_result(body, elements[i], total); });
  }

  // --- Windows: pixels by channels

  void lower_windows() {
    const std::int64_t out_h = size(y_, 1), channels = size(y_, 3);
    depthwise_ =
        how_.groups > 1 && how_.groups == channels && how_.words == 0 && size(weight_, 2) == 1;
    const std::int64_t groups = depthwise_ ? 1 : how_.groups;
    const std::int64_t columns = channels / groups;  // of one group
    lanes_ = lanes_for(columns);
    const std::int64_t blocks = std::max<std::int64_t>(1, ceil_div(columns, kColumnBlock));
    choose_rows(out_h);
    const std::int64_t row_blocks = rows_ == 0 ? 0 : out_h / rows_;
    set_trip(y_->type.shape[0] * Dim(row_blocks * groups * blocks));
    if (row_blocks == 0 || channels == 0) return;

    ExprId rest = root_var();
    const ExprId block = digit(&rest, blocks);
    group_number_ = digit(&rest, groups);
    first_row_ = times(digit(&rest, row_blocks), rows_);
    image_ = rest;
    fill(kernel_->root.body);

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

  // Chooses the number of rows of the result per parallel iteration. It divides the number of all
  // rows, and the rows of x that it reads fit together into a near cache.
  void choose_rows(std::int64_t out_h) {
    const std::int64_t row_bytes =
        padded_width() * size(x_, 3) * static_cast<std::int64_t>(size_of(x_->type.dtype));
    const Dim weight =
        product(weight_->type.shape) * Dim(static_cast<std::int64_t>(size_of(weight_->type.dtype)));
    const bool large = weight.constant() > kLargeWeight;
    rows_ = 0;
    for (std::int64_t rows = 1; rows <= (large ? out_h : std::max<std::int64_t>(4, out_h / 4));
         ++rows) {
      if (out_h % rows != 0) continue;
      const std::int64_t max_bytes = large ? kFarScratchBytes : kMaxScratchBytes;
      if (rows > 1 && source_rows(rows) * row_bytes > max_bytes) break;
      rows_ = rows;
    }
    if (out_h == 0) rows_ = 0;
  }

  void add_pixels(Body& body, ExprId channel) {
    const std::int64_t out_w = size(y_, 2);
    const std::int64_t max_pixels = rows_for(lanes_);
    const std::int64_t columns = piece(out_w, max_pixels);
    const std::int64_t rows = columns == out_w ? largest_divisor(rows_, max_pixels / columns) : 1;
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

  // Sums over the window's rows, columns and channels. Columns and channels are one loop if they
  // are contiguous in both operands.
  void add_window_tile(Body& body, ExprId p, ExprId q, std::int64_t rows, std::int64_t columns,
                       ExprId channel) {
    const std::int64_t inner = how_.words > 0 ? size(x_, 3) : size(weight_, 2);
    const bool joined = !depthwise_ && how_.groups == 1 && how_.dilation[1] == 1;
    const std::int64_t row = how_.kernel[1] * (joined ? inner : 1);
    Stmt r = loop(LoopKind::serial, k_.integer(how_.kernel[0]));
    Stmt s = loop(LoopKind::serial, k_.integer(how_.words > 0 ? ceil_div(row, how_.words) : row));
    std::vector<Stmt> loops = {r, s};
    ExprId c = k_.integer(0);  // channel of the weight
    if (!joined && inner > 1) {
      loops.push_back(loop(LoopKind::serial, k_.integer(inner)));
      c = var(loops.back());
    }
    ExprId x_channel = depthwise_ ? channel : k_.add(times(group_number_, inner), c);
    if (joined) x_channel = how_.words > 0 ? times(var(s), how_.words) : var(s);
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
    if (how_.words > 0) {
      second = {var(r), var(s), channel};
    } else if (joined) {
      second[inner == 1 ? 1 : 2] = var(s);
    } else {
      second[1] = var(s);
      second[2] = c;
    }
    sums(
        body, elements.size(), std::move(loops), [&](std::size_t i) { return factors[i]; },
        [&] { return evaluator_.value_at(weight_, second); },
        [&](std::size_t i, ExprId total) { store_result(body, elements[i], total); });
  }

  bool depthwise_ = false;
  ExprId group_number_ = 0;
};

}  // namespace

LoweredGroup lower_contraction(const Group& group, const std::vector<Output>& outputs,
                               const Storages& storages, const codegen::Target& target) {
  const ir::Op& op = *group.domain.contraction;
  if (ops::Catalog::of(op).contraction(op).winograd) {
    return lower_winograd(group, outputs, storages, target);
  }
  return ContractionLowering(group, outputs, storages, target).run();
}

// Measured on Zen 4: generated convolutions reach 90% of the peak for any number of channels, while
// oneDNN 2.6 drops to 7% with few channels. Generated products are as fast as the libraries' if the
// second matrix fits into a level 2 cache, and they fuse the ops that follow. Transposing that
// matrix first would cost too much.
bool generated_is_faster(const ir::Op& op) {
  if (ops::Catalog::of(op).library_kernel != "gemm") return true;
  constexpr std::int64_t kMaxElements = 512 * 1024;
  const Dim elements = product(op.operands[1]->type.shape);
  return elements.is_constant() && elements.constant() <= kMaxElements &&
         !get_attribute<bool>(op.attributes, "transpose_a") &&
         !get_attribute<bool>(op.attributes, "transpose_b");
}

}  // namespace trireme::compiler
