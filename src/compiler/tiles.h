#pragma once

// Code that the kernels of contractions share: tiles of sums in registers, and rows of images
// padded with zeros.

#include <functional>
#include <vector>

#include "compiler/lowering.h"
#include "ops/op.h"

namespace trireme::compiler {

using Body = std::vector<kernel_ir::Stmt>;

std::int64_t ceil_div(std::int64_t a, std::int64_t b);
// Returns the largest divisor of n that is at most `limit`.
std::int64_t largest_divisor(std::int64_t n, std::int64_t limit);
// Returns the piece size for splitting n into pieces of at most `limit`: equal pieces, unless those
// are small.
std::int64_t piece(std::int64_t n, std::int64_t limit);

class TileLowering : public KernelLowering {
 public:
  TileLowering(const Group& group, const std::vector<Output>& outputs, const Storages& storages,
               const codegen::Target& target);

 protected:
  // --- Sizes of tiles

  // Return the lanes of a loop over `columns`: no more than are needed, and at most
  int single_lanes_for(const Dim& columns) const;  // one vector
  int lanes_for(const Dim& columns) const;         // two vectors, if there are enough columns
  int wide_lanes_for(const Dim& columns) const;    // sixteen vectors
  // Returns the rows of a tile whose accumulators fit into registers.
  int rows_for(int lanes) const;
  // Returns the work in units of an element of another kernel, roughly.
  Dim work() const;

  // --- One tile

  // Sums factor(i) * second() over `loops`, outermost first, for i in [0, count), each in its own
  // accumulator. Then calls done(i, total) with each sum.
  void sums(Body& body, std::size_t count, std::vector<kernel_ir::Stmt> loops,
            const std::function<ExprId(std::size_t)>& factor, const std::function<ExprId()>& second,
            const std::function<void(std::size_t, ExprId)>& done);
  // Returns factor * second, or with words the sum of products of their elements.
  ExprId summand(ExprId factor, ExprId second);
  // Stores the group's outputs computed from `total`, the element of the contraction's result at
  // `index`.
  void store_result(Body& body, const Index& index, ExprId total);

  ExprId var(const kernel_ir::Stmt& loop) { return k_.loop_var(loop.loop_var); }
  ExprId plus(ExprId a, std::int64_t b) { return k_.add(a, k_.integer(b)); }
  ExprId times(ExprId a, std::int64_t b) { return k_.mul(a, k_.integer(b)); }
  // Removes the lowest digit, a number below n, from `rest`.
  ExprId digit(ExprId* rest, std::int64_t n);

  // --- Images: rows_ rows of the result, starting at first_row_, of image image_

  std::int64_t size(const ir::Value* value, std::size_t axis) const {
    return value->type.shape[axis].constant();
  }
  std::int64_t padded_width() const;
  // Returns the number of rows of x, with padding, that `rows` rows of the result need.
  std::int64_t source_rows(std::int64_t rows) const;
  // Whether the last word of a row of a window has bytes after the row.
  bool reads_after_row() const;
  // Copies the rows of x that are needed to memory of the thread, with padding around them. Does so
  // only if there is padding, if x is stored in 16 bits and is better widened once than at every
  // use, or if words would be read beyond the end of x.
  void fill(Body& body);
  // Returns x at row h, relative to the first needed row, and column w, both counted with padding.
  // With words, the word that begins there.
  ExprId x_at(ExprId h, ExprId w, ExprId c);

  const ir::Op& op_;
  const ops::Contraction how_;
  const ir::Value* x_;
  const ir::Value* weight_;
  const ir::Value* y_;
  const DType type_;
  const int vector_lanes_;
  const int accumulators_;  // vectors of a tile: the registers minus those for operands

  std::int64_t rows_ = 0;
  ExprId image_ = 0, first_row_ = 0;

 private:
  bool copies_x() const;
  void fill_integers(Body& body);
  Index x_index(ExprId h, ExprId w, ExprId c);

  int scratch_ = -1;
};

}  // namespace trireme::compiler
