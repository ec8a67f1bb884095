#include "compiler/winograd.h"

#include <algorithm>
#include <array>

#include "compiler/tiles.h"

namespace trireme::compiler {
namespace {

using kernel_ir::LoopKind;
using kernel_ir::Stmt;

constexpr std::int64_t kSmallWeight = 512 << 10;  // bytes; it fits into a level 2 cache
constexpr std::int64_t kNearBytes = 160 << 10;    // both scratch matrices, with a small weight
constexpr std::int64_t kFarBytes = 1 << 20;       // with a large weight, which is then read rarely
constexpr std::int64_t kColumns = 256, kMinColumns = 64;
constexpr std::size_t kPlaces = 16;  // elements of a 4 by 4 tile

using Four = std::array<ExprId, 4>;
using Tile = std::array<Four, 4>;

class WinogradLowering : public TileLowering {
 public:
  using TileLowering::TileLowering;

  LoweredGroup run() {
    choose_sizes();
    const std::int64_t row_blocks = tile_rows_ == 0 ? 0 : size(y_, 1) / rows_;
    const std::int64_t blocks = columns_ == 0 ? 0 : size(y_, 3) / columns_;
    set_trip(y_->type.shape[0] * Dim(row_blocks * blocks));
    if (row_blocks * blocks > 0) {
      ExprId rest = root_var();
      first_column_ = times(digit(&rest, blocks), columns_);
      first_row_ = times(digit(&rest, row_blocks), rows_);
      image_ = rest;
      Body& body = kernel_->root.body;
      fill(body);
      inputs_ = scratch_buffer(type_, Dim(16 * matrix_stride(channels_)));
      sums_ = scratch_buffer(type_, Dim(16 * matrix_stride(columns_)));
      transform_inputs(body);
      multiply(body);
      transform_sums(body);
    }
    return finish(work());
  }

 private:
  void choose_sizes() {
    channels_ = size(x_, 3);
    across_ = size(y_, 2) / 2;
    const std::int64_t bytes = static_cast<std::int64_t>(size_of(type_)), all = size(y_, 3);
    const bool small = 16 * channels_ * all * bytes <= kSmallWeight;
    columns_ = largest_divisor(all, small ? kColumns : kMinColumns);
    if (2 * columns_ < std::min(all, kMinColumns)) columns_ = all;
    const std::int64_t row_bytes = 16 * across_ * (channels_ + columns_) * bytes;
    const std::int64_t max_rows =
        (small ? kNearBytes : kFarBytes) / std::max<std::int64_t>(1, row_bytes);
    tile_rows_ = largest_divisor(size(y_, 1) / 2, max_rows);
    rows_ = 2 * tile_rows_;
    tiles_ = tile_rows_ * across_;
  }

  // Returns the distance between consecutive of the 16 matrices of tiles by `width` columns. A gap
  // of one cache line keeps a tile's 16 elements from falling into one set of the cache.
  std::int64_t matrix_stride(std::int64_t width) const { return tiles_ * width + 16; }

  // Returns the position of element `column` at i, j of a tile in a scratch matrix of `width`
  // columns.
  ExprId place(std::size_t i, std::size_t j, ExprId tile, ExprId column, std::int64_t width) {
    const auto number = static_cast<std::int64_t>(4 * i + j);
    return plus(k_.add(times(tile, width), column), number * matrix_stride(width));
  }

  // Calls inside(body, row, column, tile, c) in loops over all tiles, one vector of `columns` at a
  // time.
  template <class Inside>
  void for_tiles(Body& body, std::int64_t columns, const Inside& inside) {
    lanes_ = single_lanes_for(columns);
    Stmt vector = loop(LoopKind::vector, k_.integer(columns));
    Stmt down = loop(LoopKind::serial, k_.integer(tile_rows_));
    Stmt across = loop(LoopKind::serial, k_.integer(across_));
    const ExprId tile = k_.add(times(var(down), across_), var(across));
    inside(across.body, times(var(down), 2), times(var(across), 2), tile, var(vector));
    down.body.push_back(std::move(across));
    vector.body.push_back(std::move(down));
    body.push_back(std::move(vector));
  }

  // Computes B' d B, by columns first.
  void transform_inputs(Body& body) {
    for_tiles(body, channels_, [&](Body& in, ExprId row, ExprId column, ExprId tile, ExprId c) {
      const auto line = [&](const Four& d) {
        return Four{k_.sub(d[0], d[2]), k_.add(d[1], d[2]), k_.sub(d[2], d[1]), k_.sub(d[1], d[3])};
      };
      Tile half;  // transposed
      for (std::int64_t j = 0; j < 4; ++j) {
        Four d;
        for (std::int64_t i = 0; i < 4; ++i) {
          d[static_cast<std::size_t>(i)] = x_at(plus(row, i), plus(column, j), c);
        }
        half[static_cast<std::size_t>(j)] = line(d);
      }
      for (std::size_t i = 0; i < 4; ++i) {
        const Four whole = line({half[0][i], half[1][i], half[2][i], half[3][i]});
        for (std::size_t j = 0; j < 4; ++j) {
          in.push_back(kernel_ir::make_store(inputs_, place(i, j, tile, c, channels_), whole[j]));
        }
      }
    });
  }

  // Multiplies, for each of the 16 positions, a matrix of tiles by channels with one of channels by
  // columns.
  void multiply(Body& body) {
    lanes_ = lanes_for(columns_);
    Stmt places = loop(LoopKind::serial, k_.integer(kPlaces));
    Stmt vector = loop(LoopKind::vector, k_.integer(columns_));
    const std::int64_t count = piece(tiles_, rows_for(lanes_));
    const std::int64_t rest = tiles_ % count;
    Stmt down = loop(LoopKind::serial, k_.integer(tiles_ / count));
    add_products(down.body, var(places), times(var(down), count), count, var(vector));
    vector.body.push_back(std::move(down));
    if (rest > 0) {
      add_products(vector.body, var(places), k_.integer(tiles_ - rest), rest, var(vector));
    }
    places.body.push_back(std::move(vector));
    body.push_back(std::move(places));
  }

  void add_products(Body& body, ExprId at, ExprId tile, std::int64_t count, ExprId column) {
    Stmt depth = loop(LoopKind::serial, k_.integer(channels_));
    const ExprId c = var(depth);
    const auto row = [&](std::size_t i, std::int64_t width) {
      return k_.add(times(at, matrix_stride(width)),
                    times(plus(tile, static_cast<std::int64_t>(i)), width));
    };
    sums(
        body, static_cast<std::size_t>(count), {depth},
        [&](std::size_t i) { return k_.load(inputs_, k_.add(row(i, channels_), c)); },
        [&] { return evaluator_.value_at(weight_, {at, c, k_.add(first_column_, column)}); },
        [&](std::size_t i, ExprId total) {
          body.push_back(kernel_ir::make_store(sums_, k_.add(row(i, columns_), column), total));
        });
  }

  // Computes A' m A, by columns first, and the other ops of the group.
  void transform_sums(Body& body) {
    for_tiles(body, columns_, [&](Body& in, ExprId row, ExprId column, ExprId tile, ExprId k) {
      const auto line = [&](const Four& m) {
        return std::array<ExprId, 2>{k_.add(k_.add(m[0], m[1]), m[2]),
                                     k_.sub(k_.sub(m[1], m[2]), m[3])};
      };
      std::array<std::array<ExprId, 2>, 4> half;  // transposed
      for (std::size_t j = 0; j < 4; ++j) {
        Four m;
        for (std::size_t i = 0; i < 4; ++i) {
          m[i] = k_.load(sums_, place(i, j, tile, k, columns_));
        }
        half[j] = line(m);
      }
      for (std::size_t a = 0; a < 2; ++a) {
        const auto whole = line({half[0][a], half[1][a], half[2][a], half[3][a]});
        for (std::size_t b = 0; b < 2; ++b) {
          const Index index = {image_, plus(k_.add(first_row_, row), static_cast<std::int64_t>(a)),
                               plus(column, static_cast<std::int64_t>(b)),
                               k_.add(first_column_, k)};
          store_result(in, index, whole[b]);
        }
      }
    });
  }

  std::int64_t channels_ = 0, columns_ = 0;  // channels of x; columns of the result per iteration
  std::int64_t tile_rows_ = 0, across_ = 0, tiles_ = 0;  // tiles per iteration
  ExprId first_column_ = 0;
  int inputs_ = -1, sums_ = -1;  // scratch: [16, tiles, channels] and [16, tiles, columns]
};

}  // namespace

LoweredGroup lower_winograd(const Group& group, const std::vector<Output>& outputs,
                            const Storages& storages, const codegen::Target& target) {
  return WinogradLowering(group, outputs, storages, target).run();
}

}  // namespace trireme::compiler
