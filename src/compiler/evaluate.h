#pragma once

// Builds expressions for elements of a group's values by calling the lowering rule of each op.

#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/groups.h"
#include "kernel_ir/kernel.h"
#include "ops/op.h"

namespace trireme::compiler {

using kernel_ir::ExprId;
using Index = std::vector<ExprId>;

class Evaluator {
 public:
  // buffer_of returns the kernel's buffer of a value from outside the group. type_stored returns
  // the storage type of a value of the group; its own type if it is not stored.
  Evaluator(const Group& group, kernel_ir::Builder& builder,
            std::function<int(const ir::Value*)> buffer_of,
            std::function<DType(const ir::Value*)> type_stored);

  // Returns the element of `value` at `index`, one coordinate per dimension; zero if `guard` is
  // false.
  ExprId value_at(const ir::Value* value, const Index& index, ExprId guard = kernel_ir::kNoExpr);

  // Returns the word of elements of `value`, which is u8, i8 or i16 and not computed here, from
  // `index` on. It may reach beyond the last dimension, but not beyond the value.
  ExprId word_at(const ir::Value* value, const Index& index);

  // Returns a Dim as an i64: a constant, or a size parameter of the kernel.
  ExprId dim(const Dim& dim);
  const std::vector<Dim>& sizes() const { return sizes_; }

  // Convert coordinates to a row-major position, and back. linear() recognises a position that
  // delinear() has split, so reshapes cost nothing.
  ExprId linear(std::span<const ExprId> index, const Shape& shape);
  Index delinear(ExprId position, const Shape& shape);

  // Set the current position of the kernel: coordinates of the dimensions that are not reduced, and
  // results of reductions and stored values that can be read from now on.
  void set_row(Index row) { row_ = std::move(row); }
  void set_reduction(const ir::Value* result, ExprId expr) { reductions_[result] = expr; }
  // Rounds `expr`, an element of `value`, to the storage type of the value.
  ExprId as_stored(const ir::Value* value, ExprId expr);
  // From now on, `value` at exactly the coordinates `index` is `expr`.
  void set_known(const ir::Value* value, const Index& index, ExprId expr);

  // The positions at which each buffer of the kernel was loaded.
  const std::unordered_map<int, std::vector<ExprId>>& loads() const { return loads_; }
  bool computes(const ir::Value* value) const;

 private:
  friend class OpLowering;
  struct Run {
    Index coordinates;
    Shape shape;
    ExprId position;
  };
  using Key = std::tuple<const ir::Value*, Index, ExprId>;

  ExprId reduction_at(const ir::Value* value, const Index& index);
  ExprId computed_at(const ir::Value* value, const Index& index, ExprId guard);
  const Run* run_at(const Index& index, const Shape& shape, std::size_t first) const;

  kernel_ir::Builder& k_;
  std::function<int(const ir::Value*)> buffer_of_;
  std::function<DType(const ir::Value*)> type_stored_;
  const Domain& domain_;
  std::unordered_set<const ir::Op*> members_;
  std::vector<Dim> sizes_;
  std::vector<Run> runs_;
  Index row_;
  std::unordered_map<const ir::Value*, ExprId> reductions_;
  std::map<Key, ExprId> known_;
  std::unordered_map<int, std::vector<ExprId>> loads_;
};

}  // namespace trireme::compiler
