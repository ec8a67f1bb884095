#include "compiler/lowering.h"

#include <algorithm>

#include "compiler/in_place.h"

namespace trireme::compiler {

using kernel_ir::BufferRole;
using kernel_ir::kNoExpr;
using kernel_ir::LoopKind;
using kernel_ir::Stmt;
using kernel_ir::StmtKind;

namespace {

int lanes_of(const Group& group, const codegen::Target& target) {
  int lanes = target.lanes(DType::f32);
  for (const ir::Op* op : group.ops) {
    for (const ir::Value* operand : op->operands) {
      if (operand->type.dtype == DType::f64) lanes = target.lanes(DType::f64);
    }
    for (const auto& result : op->results) {
      if (result->type.dtype == DType::f64) lanes = target.lanes(DType::f64);
    }
  }
  return lanes;
}

}  // namespace

KernelLowering::KernelLowering(const Group& group, const std::vector<Output>& outputs,
                               const Storages& storages, const codegen::Target& target)
    : group_(group),
      outputs_(outputs),
      storages_(storages),
      kernel_(std::make_unique<kernel_ir::Kernel>()),
      k_(*kernel_),
      evaluator_(
          group, k_, [this](const ir::Value* value) { return buffer(storages_.of(value)); },
          [this](const ir::Value* value) { return type_stored(value); }),
      lanes_(lanes_of(group, target)) {
  kernel_->root.kind = StmtKind::loop;
  kernel_->root.loop_kind = LoopKind::parallel;
  kernel_->root.loop_var = kernel_->loop_vars++;
}

// An output that is assigned to a parameter has the parameter's type. The value itself may also be
// stored in another output.
DType KernelLowering::type_stored(const ir::Value* value) const {
  for (const Output& output : outputs_) {
    if (output.value == value && is_half(storages_.type(output.storage))) {
      return storages_.type(output.storage);
    }
  }
  return value->type.dtype;
}

int KernelLowering::buffer(int storage) {
  const DType type = storages_.type(storage);
  const auto found = std::find(slots_.begin(), slots_.end(), storage);
  if (found != slots_.end()) return static_cast<int>(found - slots_.begin());
  slots_.push_back(storage);
  kernel_->buffers.push_back({type, BufferRole::input, "b" + std::to_string(slots_.size() - 1)});
  return static_cast<int>(slots_.size()) - 1;
}

int KernelLowering::scratch_buffer(DType type, const Dim& elements) {
  const int slot = static_cast<int>(slots_.size());
  slots_.push_back(-1);
  kernel_->buffers.push_back(
      {type, BufferRole::scratch, "s" + std::to_string(slot), evaluator_.dim(elements)});
  scratch_.push_back({slot, elements * Dim(static_cast<std::int64_t>(size_of(type)))});
  return slot;
}

Stmt KernelLowering::loop(LoopKind kind, ExprId extent) {
  Stmt stmt = kernel_ir::make_loop(kind, kernel_->loop_vars++, extent, {});
  if (kind == LoopKind::vector) stmt.lanes = lanes_;
  k_.set_extent(stmt.loop_var, extent);
  return stmt;
}

void KernelLowering::store_output(std::vector<Stmt>& body, const Output& output,
                                  const Index& index) {
  const ExprId value = evaluator_.value_at(output.value, index);
  const int slot = buffer(output.storage);
  const DType type = kernel_->buffers[static_cast<std::size_t>(slot)].type;
  const ExprId position = evaluator_.linear(index, output.value->type.shape);
  stores_[slot].push_back(position);
  body.push_back(kernel_ir::make_store(slot, position, k_.cast(value, type)));
}

void KernelLowering::set_trip(const Dim& numerator, std::int64_t denominator) {
  trip_ = {numerator, denominator};
  ExprId extent = evaluator_.dim(numerator);
  if (denominator != 1) {
    extent = k_.div(k_.add(extent, k_.integer(denominator - 1)), k_.integer(denominator));
  }
  kernel_->root.extent = extent;
  k_.set_extent(kernel_->root.loop_var, extent);
}

LoweredGroup KernelLowering::finish(const Dim& work) {
  LoweredGroup lowered;
  bool in_place = false;
  for (const auto& [slot, positions] : stores_) {
    const int storage = slots_[static_cast<std::size_t>(slot)];
    const auto writers = std::count_if(outputs_.begin(), outputs_.end(),
                                       [&](const Output& o) { return o.storage == storage; });
    if (writers > 1) lowered.in_place_is_safe = false;
    const auto loaded = evaluator_.loads().find(slot);
    const bool loads = loaded != evaluator_.loads().end();
    kernel_->buffers[static_cast<std::size_t>(slot)].role =
        loads ? BufferRole::inout : BufferRole::output;
    if (!loads) continue;
    in_place = true;
    for (const ExprId load : loaded->second) {
      const bool stored_here = std::any_of(positions.begin(), positions.end(),
                                           [&](ExprId p) { return same_element(load, p); });
      if (!stored_here) lowered.in_place_is_safe = false;
    }
  }
  if (in_place && !loads_before_storing(*kernel_)) lowered.in_place_is_safe = false;
  kernel_->name = group_.ops.back()->name();
  lowered.kernel = std::move(kernel_);
  lowered.storages = std::move(slots_);
  lowered.sizes = evaluator_.sizes();
  lowered.trip = trip_;
  lowered.work = work;
  lowered.scratch = std::move(scratch_);
  return lowered;
}

bool KernelLowering::same_element(ExprId a, ExprId b) const {
  if (a == b || same_position(a, b)) return true;
  const kernel_ir::Expr& x = kernel_->expr(a);
  const kernel_ir::Expr& y = kernel_->expr(b);
  if (x.op != y.op || x.type != y.type || x.integer != y.integer) return false;
  if (x.index != y.index) return false;
  const auto same = [&](ExprId p, ExprId q) {
    return (p == kNoExpr) == (q == kNoExpr) && (p == kNoExpr || same_element(p, q));
  };
  // The Builder sorts operands of sums and products by number, which differs from pass to pass.
  const bool commutes = x.op == kernel_ir::ExprOp::add || x.op == kernel_ir::ExprOp::mul;
  if (commutes && same(x.args[0], y.args[1]) && same(x.args[1], y.args[0])) return true;
  for (int i = 0; i < 3; ++i) {
    if (!same(x.args[i], y.args[i])) return false;
  }
  return true;
}

}  // namespace trireme::compiler
