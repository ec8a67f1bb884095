#include "transforms/autodiff.h"

#include <array>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "ir/builder.h"
#include "transforms/differentiate_blocks.h"
#include "trireme/ops.h"

namespace trireme::transforms {
namespace {

using ValueSet = std::unordered_set<const ir::Value*>;

// The Programs of which a gradient is part: see GradientContext::accumulate_when().
enum class Mode : std::uint8_t { always, training, inference };

// A row-sparse contribution to the gradient of a parameter: rows [n], values [n, row...].
struct Rows {
  trireme::Value rows, values;
};
using RowsMap = std::unordered_map<const ir::Value*, std::vector<Rows>>;

// Returns a value of `type` with all elements equal to `number`, for code at `location`.
ir::Value* make_filled(ir::Program& program, const ir::Type& type, double number,
                       const ir::Location& location) {
  const ir::Builder::LocationGuard guard(program.builder(), location);
  return program.builder().constant(type, number);
}

// The gradient of one value so far, by mode; parts may be empty.
class Sum {
 public:
  void add(Mode mode, const trireme::Value& gradient) {
    trireme::Value& part = parts_[static_cast<std::size_t>(mode)];
    part = part ? part + gradient : gradient;
  }

  bool empty() const { return !parts_[0] && !parts_[1] && !parts_[2]; }

  // The only mode that has a part, or `always`.
  Mode mode() const {
    if (part(Mode::always) || bool(part(Mode::training)) == bool(part(Mode::inference)))
      return Mode::always;
    return part(Mode::training) ? Mode::training : Mode::inference;
  }

  const trireme::Value& part(Mode mode) const { return parts_[static_cast<std::size_t>(mode)]; }

  // The sum of all parts, of which there must be one, for `value`. It becomes the part `always`.
  const trireme::Value& total(const ir::Value& value, const ir::Location& location) {
    if (!part(Mode::training) && !part(Mode::inference) && part(Mode::always))
      return part(Mode::always);
    const ir::Builder::LocationGuard guard(value.program->builder(), location);
    const auto in_mode = [&](Mode mode) {
      const trireme::Value &always = part(Mode::always), &own = part(mode);
      if (always && own) return always + own;
      if (always || own) return always ? always : own;
      return trireme::Value(make_filled(*value.program, value.type, 0.0, location));
    };
    const trireme::Value training = in_mode(Mode::training), inference = in_mode(Mode::inference);
    parts_ = {when_training(training, inference), {}, {}};
    return part(Mode::always);
  }

 private:
  std::array<trireme::Value, 3> parts_;
};

// The gradients accumulated so far. Values that are not keys of `by_rows` get dense gradients.
struct Gradients {
  std::unordered_map<const ir::Value*, Sum> dense;
  RowsMap by_rows;
};

// Converts row-sparse contributions to a dense gradient of `type`. Negative rows are ignored.
trireme::Value to_dense(const trireme::Value& rows, const trireme::Value& values,
                        const ir::Type& type) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rows.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  const trireme::Value ignored =
      broadcast(rows < 0.0, {.shape = values.shape(), .axes = std::move(axes)});
  return scatter_add(maximum(rows, 0.0), trireme::where(ignored, 0.0, values),
                     {.rows = {type.shape[0]}});
}

class Context final : public ir::GradientContext {
 public:
  Context(const ir::Op& op, const ValueSet& wanted, Gradients& gradients)
      : op_(op), wanted_(wanted), gradients_(gradients.dense), by_rows_(gradients.by_rows) {
    std::optional<Mode> mode;
    for (const auto& result : op.results) {
      const auto found = gradients_.find(result.get());
      if (found == gradients_.end()) continue;
      const Mode own = found->second.mode();
      mode = mode && *mode != own ? Mode::always : own;
    }
    mode_ = mode.value_or(Mode::always);
  }

  const ir::Op& op() const override { return op_; }
  trireme::Value operand(int i) const override {
    return trireme::Value(op_.operands[static_cast<std::size_t>(i)]);
  }
  trireme::Value result(int i) const override { return trireme::Value(op_.result(i)); }

  trireme::Value gradient(int i) const override {
    // The rule may be building a block: the gradient belongs outside of it.
    const ir::Builder::BlockGuard guard(op_.parent->program->builder(), *op_.parent);
    const ir::Value* result = op_.result(i);
    Sum& sum = gradients_[result];
    if (sum.empty()) {
      sum.add(mode_,
              trireme::Value(make_filled(*result->program, result->type, 0.0, op_.location)));
    }
    return mode_ == Mode::always ? sum.total(*result, op_.location) : sum.part(mode_);
  }

  bool has_gradient(int i) const override { return gradients_.contains(op_.result(i)); }

  bool needs_gradient(int i) const override {
    return wanted_.contains(op_.operands[static_cast<std::size_t>(i)]);
  }

  void accumulate(int i, trireme::Value gradient) override { add(mode_, i, gradient); }

  void accumulate_when(bool training, int i, trireme::Value gradient) override {
    const Mode mode = training ? Mode::training : Mode::inference;
    if (mode_ == Mode::always || mode_ == mode) add(mode, i, gradient);
  }

  void accumulate_rows(int i, trireme::Value rows, trireme::Value values) override {
    if (!needs_gradient(i)) return;
    const ir::Value* operand = op_.operands[static_cast<std::size_t>(i)];
    const auto found = by_rows_.find(operand);
    if (found == by_rows_.end()) {
      accumulate(i, to_dense(rows, values, operand->type));
      return;
    }
    if (mode_ != Mode::always) {
      Sum sum;
      sum.add(mode_, values);
      values = sum.total(*values.get(), op_.location);
    }
    found->second.push_back(as_list(rows, values));
  }

 private:
  void add(Mode mode, int i, const trireme::Value& gradient) {
    if (!needs_gradient(i)) return;
    const ir::Value* operand = op_.operands[static_cast<std::size_t>(i)];
    if (gradient.get()->type != operand->type) {
      fail_internal(op_.name() + ": its gradient rule passes to operand " + std::to_string(i) +
                    " a " + gradient.get()->type.str() + ", but the operand is " +
                    operand->type.str());
    }
    gradients_[operand].add(mode, gradient);
  }

  static Rows as_list(trireme::Value rows, trireme::Value values) {
    const Dim count = product(rows.shape());
    Shape shape(values.shape().begin() + rows.rank(), values.shape().end());
    shape.insert(shape.begin(), count);
    if (rows.dtype() != DType::i64) rows = cast(rows, {.dtype = DType::i64});
    return {reshape(rows, {.shape = {count}}), reshape(values, {.shape = shape})};
  }

  const ir::Op& op_;
  const ValueSet& wanted_;
  std::unordered_map<const ir::Value*, Sum>& gradients_;
  RowsMap& by_rows_;
  Mode mode_ = Mode::always;  // of all results
};

// Returns the float values that depend on a value in `wanted`.
ValueSet dependents(const ir::Block& block, const std::vector<ir::Value*>& wanted) {
  ValueSet set(wanted.begin(), wanted.end());
  for (const auto& op : block.ops) {
    if (op->has(ir::Trait::not_differentiable)) continue;
    bool depends = false;
    for (const ir::Value* operand : op->operands) depends = depends || set.contains(operand);
    if (!depends) continue;
    for (const auto& result : op->results) {
      if (is_arithmetic_float(result->type.dtype)) set.insert(result.get());
    }
  }
  return set;
}

void check_loss(const ir::Value* loss) {
  if (loss->block != &loss->program->main() || !is_arithmetic_float(loss->type.dtype) ||
      loss->type.rank() != 0) {
    fail_usage("gradients: the loss must be a float scalar of the main block, but " +
               ir::name_in_text(loss) + " is " + loss->type.str() +
               "\n  hint   use the mean of the losses per example: mean(loss)");
  }
}

void differentiate(const ir::Op& op, const ValueSet& depends, Gradients& gradients) {
  bool reached = false, needed = false;
  for (const auto& result : op.results) {
    reached = reached || gradients.dense.contains(result.get());
  }
  for (const ir::Value* operand : op.operands) needed = needed || depends.contains(operand);
  if (!reached || !needed || op.has(ir::Trait::not_differentiable)) return;
  if (!op.def->gradient && op.blocks.empty()) {
    fail_usage(op.name() + ": has no gradient, because " + op.def->no_gradient_reason +
               ", but the loss depends on it\n  layer  " + op.location.str() +
               "\n  hint   wrap its result in stop_gradient()");
  }
  const ir::Builder::LocationGuard guard(op.parent->program->builder(), op.location);
  Context context(op, depends, gradients);
  if (op.blocks.empty()) {
    op.def->gradient(context);
  } else {
    differentiate_blocks(context);
  }
}

// Parameters that are assigned after a place of the main block, with the assigning op.
using Assigns = std::unordered_map<const ir::Value*, const ir::Op*>;

// A parameter of `assigned` that the op or an op of its blocks reads; null if there is none.
const ir::Value* reads_one_of(const ir::Op& op, const Assigns& assigned) {
  for (const ir::Value* operand : op.operands) {
    if (assigned.contains(operand)) return operand;
  }
  for (const auto& block : op.blocks) {
    for (const auto& inner : block->ops) {
      if (const ir::Value* found = reads_one_of(*inner, assigned)) return found;
    }
  }
  return nullptr;
}

// The ops that a gradient rule appended, from place `first`, read the parameters as they are at
// the end: for a parameter that was assigned after `op`, another value than `op` read.
void check_reads(const ir::Op& op, std::size_t first, const Assigns& assigned) {
  const auto& ops = op.parent->ops;
  for (std::size_t i = first; i < ops.size(); ++i) {
    const ir::Value* parameter = reads_one_of(*ops[i], assigned);
    if (parameter == nullptr) continue;
    fail_usage(op.name() + ": its gradient needs the value of " + ir::name_in_text(parameter) +
               ", which is assigned later\n  layer     " + op.location.str() + "\n  assigned  " +
               assigned.at(parameter)->location.str() +
               "\n  hint      assign after minimize() or gradients()");
  }
}

std::vector<const ir::Op*> ops_of(const ir::Block& block) {
  std::vector<const ir::Op*> ops;
  for (const auto& op : block.ops) ops.push_back(op.get());
  return ops;
}

// Computes all gradients of `loss`. Gradients of `by_rows` are row-sparse if all their uses allow
// it.
Gradients differentiate(ir::Value* loss, const std::vector<ir::Value*>& wanted,
                        const std::vector<const ir::Value*>& by_rows) {
  check_loss(loss);
  ir::Program& program = *loss->program;
  const ValueSet depends = dependents(program.main(), wanted);
  const std::vector<const ir::Op*> forward = ops_of(program.main());

  Gradients gradients;
  for (const ir::Value* value : by_rows) gradients.by_rows[value];
  if (!depends.contains(loss)) return gradients;
  const ir::Location origin = loss->producer != nullptr ? loss->producer->location : ir::Location{};
  gradients.dense[loss].add(Mode::always,
                            trireme::Value(make_filled(program, loss->type, 1.0, origin)));
  Assigns assigned;
  for (auto op = forward.rbegin(); op != forward.rend(); ++op) {
    const std::size_t first = program.main().ops.size();
    differentiate(**op, depends, gradients);
    if ((*op)->has(ir::Trait::side_effect)) assigned.try_emplace((*op)->operands[0], *op);
    else if (!assigned.empty()) check_reads(**op, first, assigned);
  }
  return gradients;
}

// Concatenates row-sparse contributions.
Rows join(const std::vector<Rows>& parts) {
  if (parts.size() == 1) return parts.front();
  std::vector<trireme::Value> rows, values;
  for (const Rows& part : parts) {
    rows.push_back(part.rows);
    values.push_back(part.values);
  }
  return {concat(rows, {.axis = 0}), concat(values, {.axis = 0})};
}

// Returns the gradient of `value` in one of the two forms, or zeros.
Gradient collect(ir::Value* value, Gradients& gradients, const ir::Location& origin) {
  const auto dense = gradients.dense.find(value);
  const auto by_rows = gradients.by_rows.find(value);
  const bool has_rows = by_rows != gradients.by_rows.end() && !by_rows->second.empty();
  if (!has_rows) {
    return {dense != gradients.dense.end()
                ? dense->second.total(*value, origin).get()
                : make_filled(*value->program, value->type, 0.0, origin)};
  }
  const ir::Builder::LocationGuard guard(value->program->builder(),
                                         by_rows->second.front().rows.get()->producer->location);
  const Rows joined = join(by_rows->second);
  if (dense == gradients.dense.end()) return {joined.values.get(), joined.rows.get()};
  const trireme::Value sum = dense->second.total(*value, origin);
  return {(sum + to_dense(joined.rows, joined.values, value->type)).get()};
}

std::vector<Gradient> collect_all(ir::Value* loss, const std::vector<ir::Value*>& wanted,
                                  Gradients gradients) {
  const ir::Location origin = loss->producer != nullptr ? loss->producer->location : ir::Location{};
  std::vector<Gradient> result;
  for (ir::Value* value : wanted) result.push_back(collect(value, gradients, origin));
  return result;
}

}  // namespace

std::vector<ir::Value*> gradients(ir::Value* loss, const std::vector<ir::Value*>& wanted) {
  std::vector<ir::Value*> result;
  for (const Gradient& gradient : collect_all(loss, wanted, differentiate(loss, wanted, {}))) {
    result.push_back(gradient.values);
  }
  return result;
}

std::vector<ir::Value*> gradients_in(ir::Block& block,
                                     const std::vector<std::pair<ir::Value*, ir::Value*>>& known,
                                     const std::vector<ir::Value*>& wanted) {
  const ValueSet depends = dependents(block, wanted);
  const std::vector<const ir::Op*> forward = ops_of(block);
  Gradients gradients;
  for (const auto& [value, gradient] : known) {
    if (depends.contains(value)) gradients.dense[value].add(Mode::always, trireme::Value(gradient));
  }
  for (auto op = forward.rbegin(); op != forward.rend(); ++op) {
    differentiate(**op, depends, gradients);
  }
  const ir::Location origin = block.ops.empty() ? ir::Location{} : block.ops.back()->location;
  std::vector<ir::Value*> result;
  for (const ir::Value* value : wanted) {
    const auto found = gradients.dense.find(value);
    result.push_back(found == gradients.dense.end() ? nullptr
                                                    : found->second.total(*value, origin).get());
  }
  return result;
}

std::vector<Gradient> gradients_by_rows(ir::Value* loss, const std::vector<ir::Value*>& wanted) {
  std::vector<const ir::Value*> parameters;
  for (const ir::Value* value : wanted) {
    if (value->kind == ir::ValueKind::parameter) parameters.push_back(value);
  }
  return collect_all(loss, wanted, differentiate(loss, wanted, parameters));
}

}  // namespace trireme::transforms
