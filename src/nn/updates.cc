#include "nn/updates.h"

#include "nn/schedule.h"
#include "trireme/nn.h"

namespace trireme::nn {

Updates::Updates(ir::Program& program, const Schedule& schedule, bool needs_step)
    : program_(program), schedule_(schedule) {
  if (needs_step || !schedule.is_constant()) count_step();
}

void Updates::count_step() {
  const Value counter(program_.add_parameter("optimizer.step", ir::Type{DType::i64, {}, ""},
                                             zeros(), /*trainable=*/false,
                                             ir::Location{"", 0, "optimizer"}));
  const Value next = counter + 1.0;
  number_ = cast(next, {.dtype = f64});
  if (!schedule_.is_constant()) rate_ = rate_at(schedule_, number_ - 1.0);
  assign(counter, next);
}

Operand Updates::rate(const Value& like) const {
  return schedule_.is_constant() ? Operand(schedule_.rate) : Operand(as(rate_, like));
}

Operand Updates::rate_over(const Value& divisor, const Value& like) const {
  return as(schedule_.is_constant() ? Operand(schedule_.rate) / divisor : rate_ / divisor, like);
}

Value Updates::decayed(const Value& p, double weight_decay) const {
  if (weight_decay == 0) return p;
  if (schedule_.is_constant()) return p * (1 - schedule_.rate * weight_decay);
  return p * as(1.0 - rate_ * weight_decay, p);
}

Value Updates::state(const Value& p, const char* suffix, double initial) const {
  const ir::Parameter& parameter = program_.parameter_of(p.get());
  return Value(program_.add_parameter(parameter.name() + "." + suffix, p.get()->type,
                                      constant(initial), /*trainable=*/false, parameter.location));
}

Value Updates::as(const Value& scalar, const Value& like) {
  return scalar.dtype() == like.dtype() ? scalar : cast(scalar, {.dtype = like.dtype()});
}

Value sign(const Value& x) {
  const Value zero = x * 0.0;
  return select(x > 0.0, zero + 1.0, select(x < 0.0, zero - 1.0, zero));
}

Value running_mean(const Value& mean, const Value& x, double keep) {
  return mean * keep + x * (1 - keep);
}

Value running_square(const Value& mean, const Value& x, double keep) {
  return mean * keep + x * x * (1 - keep);
}

namespace {

// The factor that brings a gradient of this squared length down to `limit`, at most 1.
Value shrink(const Value& squared_norm, double limit) {
  return minimum(limit / (sqrt(squared_norm) + 1e-6), 1.0);
}

}  // namespace

void clip(std::vector<Slot>& slots, const Clip& limits) {
  Value total;
  for (Slot& slot : slots) {
    Value& g = slot.g;
    if (limits.value > 0) g = minimum(maximum(g, -limits.value), limits.value);
    if (limits.norm > 0) g = g * shrink(sum(g * g), limits.norm);
    if (limits.global_norm <= 0) continue;
    const Value part = sum(g * g);
    total = total ? total + Updates::as(part, total) : part;
  }
  if (!total) return;
  const Value factor = shrink(total, limits.global_norm);
  for (Slot& slot : slots) slot.g = slot.g * Updates::as(factor, slot.g);
}

}  // namespace trireme::nn
