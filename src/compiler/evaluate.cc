#include "compiler/evaluate.h"

#include <algorithm>

#include "base/error.h"
#include "plan/plan.h"

namespace trireme::compiler {

using kernel_ir::kNoExpr;

// The Lowering that is passed to the lowering rule of one op of the group.
class OpLowering final : public ops::Lowering {
 public:
  OpLowering(Evaluator& evaluator, const ir::Value& value, const Index& index, ExprId guard)
      : evaluator_(evaluator), value_(value), index_(index), guard_(guard) {}

  kernel_ir::Builder& k() override { return evaluator_.k_; }
  const ir::Op& op() const override { return *value_.producer; }
  int result() const override { return value_.index; }
  std::span<const ExprId> index() const override { return index_; }
  ExprId load(int operand, std::span<const ExprId> index, ExprId guard) override {
    if (guard == kNoExpr) {
      guard = guard_;
    } else if (guard_ != kNoExpr) {
      guard = k().logical_and(guard, guard_);
    }
    return evaluator_.value_at(op().operands[static_cast<std::size_t>(operand)],
                               Index(index.begin(), index.end()), guard);
  }
  ExprId dim(const Dim& dim) override { return evaluator_.dim(dim); }
  ExprId linear(std::span<const ExprId> index, const Shape& shape) override {
    return evaluator_.linear(index, shape);
  }
  Index delinear(ExprId position, const Shape& shape) override {
    return evaluator_.delinear(position, shape);
  }
  ExprId run_seed() override { return evaluator_.dim(Dim(std::string_view(plan::kSeedSymbol))); }

 private:
  Evaluator& evaluator_;
  const ir::Value& value_;
  const Index& index_;
  ExprId guard_;
};

Evaluator::Evaluator(const Group& group, kernel_ir::Builder& builder,
                     std::function<int(const ir::Value*)> buffer_of,
                     std::function<DType(const ir::Value*)> type_stored)
    : k_(builder),
      buffer_of_(std::move(buffer_of)),
      type_stored_(std::move(type_stored)),
      domain_(group.domain),
      members_(group.ops.begin(), group.ops.end()) {}

bool Evaluator::computes(const ir::Value* value) const {
  return value->producer != nullptr && members_.contains(value->producer);
}

ExprId Evaluator::value_at(const ir::Value* value, const Index& index, ExprId guard) {
  if (!computes(value)) {
    const int buffer = buffer_of_(value);
    const ExprId position = linear(index, value->type.shape);
    loads_[buffer].push_back(position);
    return k_.cast(k_.load(buffer, position, guard), value->type.dtype);
  }
  if (value->producer->has(ir::Trait::reduction)) return reduction_at(value, index);
  return computed_at(value, index, guard);
}

ExprId Evaluator::word_at(const ir::Value* value, const Index& index) {
  const int buffer = buffer_of_(value);
  const ExprId position = linear(index, value->type.shape);
  loads_[buffer].push_back(position);
  return k_.load_word(buffer, position);
}

ExprId Evaluator::computed_at(const ir::Value* value, const Index& index, ExprId guard) {
  const Key key(value, index, guard);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  OpLowering lowering(*this, *value, index, guard);
  const ops::Op& op = ops::Catalog::of(*value->producer);
  if (!op.lower) fail_internal(op.name + ": it has no lowering and is not a library op");
  ExprId expr = as_stored(value, op.lower(lowering));
  if (guard != kNoExpr) {
    expr = k_.select(guard, expr, k_.constant(value->type.dtype, 0));
  }
  known_[key] = expr;
  return expr;
}

ExprId Evaluator::reduction_at(const ir::Value* value, const Index& index) {
  Index row = index;
  if (domain_.block == 0 &&
      row.size() == domain_.shape.size()) {  // reduced dimensions kept with size 1
    row.clear();
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (!domain_.reduced[i]) row.push_back(index[i]);
    }
  }
  const auto found = reductions_.find(value);
  if (found == reductions_.end() || row != row_) {
    fail_internal(value->producer->name() + ": its result is read before it is computed");
  }
  return found->second;
}

ExprId Evaluator::as_stored(const ir::Value* value, ExprId expr) {
  return k_.cast(k_.cast(expr, type_stored_(value)), value->type.dtype);
}

void Evaluator::set_known(const ir::Value* value, const Index& index, ExprId expr) {
  known_[Key(value, index, kNoExpr)] = expr;
}

ExprId Evaluator::dim(const Dim& dim) {
  if (dim.is_constant()) return k_.integer(dim.constant());
  const auto found = std::find(sizes_.begin(), sizes_.end(), dim);
  const auto position = static_cast<std::int32_t>(found - sizes_.begin());
  if (found == sizes_.end()) {
    sizes_.push_back(dim);
    k_.kernel().sizes.push_back(dim.str());
  }
  return k_.size(position);
}

const Evaluator::Run* Evaluator::run_at(const Index& index, const Shape& shape,
                                        std::size_t first) const {
  const Run* best = nullptr;
  for (const Run& run : runs_) {
    const std::size_t n = run.coordinates.size();
    if (n > index.size() - first || (best != nullptr && n <= best->coordinates.size())) continue;
    const auto at = static_cast<std::ptrdiff_t>(first);
    if (!std::equal(run.coordinates.begin(), run.coordinates.end(), index.begin() + at)) continue;
    if (!std::equal(run.shape.begin() + 1, run.shape.end(), shape.begin() + at + 1)) continue;
    best = &run;
  }
  return best;
}

ExprId Evaluator::linear(std::span<const ExprId> index, const Shape& shape) {
  Index coordinates;
  Shape sizes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == Dim(1)) continue;
    coordinates.push_back(index[i]);
    sizes.push_back(shape[i]);
  }
  ExprId position = k_.integer(0);
  for (std::size_t i = 0; i < sizes.size();) {
    const Run* run = run_at(coordinates, sizes, i);
    const std::size_t next = run != nullptr ? i + run->coordinates.size() : i + 1;
    const ExprId term = run != nullptr ? run->position : coordinates[i];
    const Dim stride =
        product(Shape(sizes.begin() + static_cast<std::ptrdiff_t>(next), sizes.end()));
    position = k_.add(position, k_.mul(term, dim(stride)));
    i = next;
  }
  return position;
}

Index Evaluator::delinear(ExprId position, const Shape& shape) {
  Index index(shape.size(), k_.integer(0));
  std::vector<std::size_t> dims;  // dimensions with a size other than 1
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != Dim(1)) dims.push_back(i);
  }
  ExprId rest = position;
  for (std::size_t j = dims.size(); j-- > 0;) {
    const std::size_t i = dims[j];
    if (j == 0) {
      index[i] = rest;
      break;
    }
    const ExprId size = dim(shape[i]);
    index[i] = k_.rem(rest, size);
    rest = k_.div(rest, size);
  }
  if (dims.size() > 1) {
    Run run{{}, {}, position};
    for (const std::size_t i : dims) {
      run.coordinates.push_back(index[i]);
      run.shape.push_back(shape[i]);
    }
    runs_.push_back(std::move(run));
  }
  return index;
}

}  // namespace trireme::compiler
