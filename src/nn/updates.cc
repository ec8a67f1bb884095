#include "nn/updates.h"

#include "base/error.h"
#include "ir/builder.h"
#include "nn/schedule.h"
#include "trireme/nn.h"

namespace trireme::nn {

Updates::Updates(ir::Program& program, const Schedule& schedule, const UpdateOptions& options,
                 bool needs_step)
    : program_(program), schedule_(schedule), options_(options) {
  if (options.accumulate > 1) count_batches();
  if (needs_step || !schedule.is_constant() || options.average.kind != Average::Kind::none) {
    count_updates();
  } else {
    make_rate();
  }
}

std::string state_prefix(std::string_view updates) {
  return updates.empty() ? "" : ir::layer_of_updates(updates) + "/";
}

std::string counter_name(std::string_view updates, std::string_view counter) {
  const std::string prefix = updates.empty() ? "optimizer." : state_prefix(updates);
  return prefix + std::string(counter);
}

Value Updates::counter(const char* name, DType dtype, double initial) const {
  return Value(program_.add_parameter(
      counter_name(options_.name, name), ir::Type{dtype, {}, ""}, constant(initial),
      /*trainable=*/false, ir::Location{"", 0, ir::layer_of_updates(options_.name)}));
}

void Updates::count_batches() {
  const Value batches = counter("batch");
  const Value next = batches + 1.0;
  due_ = next >= static_cast<double>(options_.accumulate);
  assign(batches, trireme::where(due_, zero_like(next), next));
  if (!options_.accumulate_weight) return;
  const Value sum = counter("weight", DType::f64);
  weight_ = cast(options_.accumulate_weight, {.dtype = DType::f64});
  const Value total = sum + weight_, has_any = 0.0 < total;
  share_ = trireme::where(has_any, 1.0 / trireme::where(has_any, total, 1.0), 0.0);
  assign(sum, trireme::where(due_, zero_like(total), total));
}

void Updates::count_updates() {
  const Value updates = counter("step");
  const Value next = updates + 1.0;
  number_ = cast(next, {.dtype = f64});
  if (!schedule_.is_constant()) rate_ = rate_at(schedule_, number_ - 1.0);
  make_rate();
  set(updates, next);
}

void Updates::make_rate() {
  if (schedule_.plateau) rate_ = rate_ * plateau_factor(program_, options_.name);
  if (!options_.adjustable_rate) return;
  rate_ = rate_ ? rate_ * counter(kFactor, f64, 1) : counter(kRate, f64, schedule_.rate);
}

Operand Updates::rate(const Slot& slot) const {
  const double factor = slot.settings.learning_rate;
  if (!rate_) return schedule_.rate * factor;
  return as(factor == 1 ? rate_ : rate_ * factor, slot.p);
}

Operand Updates::rate_over(const Value& divisor, const Slot& slot) const {
  const double factor = slot.settings.learning_rate;
  if (!rate_) return as(schedule_.rate * factor / divisor, slot.p);
  return as((factor == 1 ? rate_ : rate_ * factor) / divisor, slot.p);
}

Value Updates::decayed(const Slot& slot, double weight_decay) const {
  const double share = slot.settings.weight_decay * slot.settings.learning_rate * weight_decay;
  if (share == 0) return slot.p;
  if (!rate_) return slot.p * (1 - schedule_.rate * share);
  return slot.p * as(1.0 - rate_ * share, slot.p);
}

Value Updates::state(const Slot& slot, const char* suffix, double initial) const {
  const ir::Parameter& parameter = program_.parameter_of(slot.parameter.get());
  const Value state(program_.add_parameter(
      state_prefix(options_.name) + parameter.name() + "." + suffix, parameter.value->type,
      constant(initial), /*trainable=*/false, parameter.location));
  return slot.rows ? gather(state, slot.rows) : state;
}

Value Updates::state_of_shape(const Slot& slot, const char* suffix, const Shape& shape) const {
  const ir::Parameter& parameter = program_.parameter_of(slot.parameter.get());
  return Value(program_.add_parameter(state_prefix(options_.name) + parameter.name() + "." + suffix,
                                      ir::Type{parameter.value->type.dtype, shape, ""}, constant(0),
                                      /*trainable=*/false, parameter.location));
}

Value Updates::shared(const std::string& name, double initial,
                      const std::function<Value(const Value& state)>& next) const {
  Value& result = shared_[name];
  if (!result) {
    const Value state = counter(name.c_str(), DType::f64, initial);
    result = next(state);
    set(state, result);
  }
  return result;
}

void Updates::accumulate(Slot& slot) const {
  if (!due_) return;
  const Value sum = state(slot, "gradient");
  const Value next = sum + (weight_ ? slot.g * as(weight_, slot.g) : slot.g);
  slot.g = weight_ ? next * as(share_, slot.g) : next * (1.0 / options_.accumulate);
  assign(sum, trireme::where(due_, zero_like(next), next));
}

// Writes gathered rows back to where they were gathered.
void Updates::set(const Value& state, const Value& next) const {
  const Value value = due_ ? trireme::where(due_, next, state) : next;
  const ir::Op* op = state.get()->producer;
  if (op == nullptr) {
    assign(state, value);
  } else {
    assign_rows(Value(op->operands[0]), Value(op->operands[1]), value);
  }
}

void Updates::set_parameter(const Slot& slot, const Value& next) const {
  switch (options_.average.kind) {
    case Average::Kind::none: break;
    case Average::Kind::exponential: average_exponentially(slot, next); break;
    case Average::Kind::window: average_in_windows(slot, next); break;
  }
  set(slot.p, next);
}

// Corrects the bias in the average itself: with a' = a / (1 - d^t) the recurrence is a' += (1 - d)
// / (1 - d^t) * (p - a').
void Updates::average_exponentially(const Slot& slot, const Value& next) const {
  const Average& options = options_.average;
  const Value a = state(slot, "average");
  if (options.correct_bias) {
    const Value share = (1 - options.decay) / (1.0 - pow(options.decay, number_));
    set(a, a + (next - a) * as(share, a));
  } else {
    const Value before = trireme::where(number_ <= 1.0, slot.p, a);
    set(a, before + (next - before) * (1 - options.decay));
  }
}

// Besides the average, keeps the mean of the current window. When the window is full, its mean
// becomes the average, and the next window is added to that.
void Updates::average_in_windows(const Slot& slot, const Value& next) const {
  const auto length = static_cast<double>(options_.average.updates);
  const Value a = state(slot, "average"), m = state(slot, "average_window");
  const Value before = number_ - 1.0;                             // updates before this one
  const Value inside = before - floor(before / length) * length;  // updates of this window
  const Value starts = inside <= 0.0;
  const Value older = minimum(before - inside, length);
  const Value from = trireme::where(starts, m, a);
  set(a, from + (next - from) * as(1.0 / (older + inside + 1.0), a));
  set(m, trireme::where(starts, next, m + (next - m) * as(1.0 / (inside + 1.0), m)));
}

Value Updates::as(const Value& scalar, const Value& like) {
  return scalar.dtype() == like.dtype() ? scalar : cast(scalar, {.dtype = like.dtype()});
}

Value zero_like(const Value& x) {
  ir::Builder& builder = x.get()->program->builder();
  const ir::Builder::BlockGuard guard(builder, builder.program().main());
  return Value(builder.constant({x.dtype(), x.shape(), ""}, 0));
}

Value running_mean(const Value& mean, const Value& x, double keep) {
  return mean * keep + x * (1 - keep);
}

Value running_square(const Value& mean, const Value& x, double keep) {
  return mean * keep + x * x * (1 - keep);
}

namespace {

// In f64, where the squares of f32 numbers do not overflow.
Value squared_norm(const Value& g) {
  const Value wide = g.dtype() == f64 ? g : cast(g, {.dtype = f64});
  return sum(wide * wide);
}

// Returns the factor, at most 1, that reduces the norm of a gradient to `limit`. A norm that is not
// finite is an error before any parameter changes.
Value shrink(const Value& squared_norm, double limit, const char* what) {
  const Value norm = check_finite(sqrt(squared_norm), {.what = what});
  return minimum(limit / (norm + 1e-6), 1.0);
}

}  // namespace

void clip(std::vector<Slot>& slots, const Clip& limits) {
  Value total;
  for (Slot& slot : slots) {
    Value& g = slot.g;
    if (limits.value > 0) g = minimum(maximum(g, -limits.value), limits.value);
    if (limits.norm > 0) {
      const Value factor = shrink(squared_norm(g), limits.norm, "the norm of a gradient");
      g = g * Updates::as(factor, g);
    }
    if (limits.global_norm <= 0) continue;
    const Value part = squared_norm(g);
    total = total ? total + part : part;
  }
  if (!total) return;
  const Value factor = shrink(total, limits.global_norm, "the norm of the gradients");
  for (Slot& slot : slots) slot.g = slot.g * Updates::as(factor, slot.g);
}

}  // namespace trireme::nn

namespace trireme {

Average Average::exponential(double decay, bool correct_bias) {
  if (!(decay >= 0 && decay < 1)) {
    fail_usage("Average::exponential: the decay must be in [0, 1)");
  }
  Average average;
  average.kind = Kind::exponential;
  average.decay = decay;
  average.correct_bias = correct_bias;
  return average;
}

Average Average::window(std::int64_t updates) {
  if (updates < 1) fail_usage("Average::window: a window must have at least 1 update");
  Average average;
  average.kind = Kind::window;
  average.updates = updates;
  return average;
}

}  // namespace trireme
