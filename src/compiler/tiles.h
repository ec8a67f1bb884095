#pragma once

// What the kernels of contractions share: tiles of sums in registers, and rows of images with zeros
// around them.

#include <functional>
#include <vector>

#include "compiler/lowering.h"
#include "ops/op.h"

namespace trireme::compiler {

using Body = std::vector<kernel_ir::Stmt>;

std::int64_t ceil_div(std::int64_t a, std::int64_t b);
// The largest divisor of n that is not above `most`.
std::int64_t largest_divisor(std::int64_t n, std::int64_t most);
// Into how large pieces n is best cut, where up to `most` fit: equal ones, if those are not small.
std::int64_t piece(std::int64_t n, std::int64_t most);

class TileLowering : public KernelLowering {
 public:
  TileLowering(const Group& group, const std::vector<Output>& outputs, const Storages& storages,
               const codegen::Target& target);

 protected:
  // --- Sizes of tiles

  // Lanes of a loop over `columns`: no more than are needed, and of
  int single_lanes_for(const Dim& columns) const;  // one vector
  int lanes_for(const Dim& columns) const;         // two, where there are enough columns
  int wide_lanes_for(const Dim& columns) const;    // up to sixteen
  // Rows of a tile whose accumulators stay in registers.
  int rows_for(int lanes) const;
  // Additions of products that weigh as much as an element of other kernels, roughly.
  Dim work() const;

  // --- One tile

  // Sums factor(i) * second() over `loops`, from the outside in, for i in [0, count), each in an
  // accumulator. done(i, total) says what is done with the sums.
  void sums(Body& body, std::size_t count, std::vector<kernel_ir::Stmt> loops,
            const std::function<ExprId(std::size_t)>& factor, const std::function<ExprId()>& second,
            const std::function<void(std::size_t, ExprId)>& done);
  // Stores what the group makes of `total`, the element of the contraction's result at `index`.
  void store_result(Body& body, const Index& index, ExprId total);

  ExprId var(const kernel_ir::Stmt& loop) { return k_.loop_var(loop.loop_var); }
  ExprId plus(ExprId a, std::int64_t b) { return k_.add(a, k_.integer(b)); }
  ExprId times(ExprId a, std::int64_t b) { return k_.mul(a, k_.integer(b)); }
  // Takes a number below n out of `rest`, the lowest digit first.
  ExprId digit(ExprId* rest, std::int64_t n);

  // --- Images: rows_ rows of the result from first_row_ on, of image image_

  std::int64_t size(const ir::Value* value, std::size_t axis) const {
    return value->type.shape[axis].constant();
  }
  std::int64_t padded_width() const;
  // Rows of x, with padding, that so many rows of the result are made of.
  std::int64_t source_rows(std::int64_t rows) const;
  // Where there is padding, or x is stored in 16 bits and so is better widened once than whenever an
  // element is needed, copies the rows of x that are needed, with zeros around, to memory of the
  // thread's own.
  void fill(Body& body);
  // x at row h after the first one that is needed, and at w, both counted with the padding.
  ExprId x_at(ExprId h, ExprId w, ExprId c);

  const ir::Op& op_;
  const ops::Contraction how_;
  const ir::Value* x_;
  const ir::Value* weight_;
  const ir::Value* y_;
  const DType type_;
  const int vector_lanes_;
  const int accumulators_;  // vectors of a tile: the registers less those for operands

  std::int64_t rows_ = 0;
  ExprId image_ = 0, first_row_ = 0;

 private:
  bool copies_x() const;
  Index x_index(ExprId h, ExprId w, ExprId c);

  int scratch_ = -1;
};

}  // namespace trireme::compiler
