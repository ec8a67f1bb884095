#include "trireme/optimizer.h"

#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"
#include "ir/program.h"
#include "nn/schedule.h"
#include "trireme/nn.h"

namespace trireme::nn {
namespace {

constexpr const char* kLayer = "optimizer";

// New ops belong to layer "optimizer" while it lives.
class OptimizerScope {
 public:
  explicit OptimizerScope(ir::Program& program)
      : program_(program),
        layer_(std::exchange(program.layer, kLayer)),
        override_(program.location_override) {}
  ~OptimizerScope() {
    program_.layer = layer_;
    program_.location_override = override_;
  }
  OptimizerScope(const OptimizerScope&) = delete;
  OptimizerScope& operator=(const OptimizerScope&) = delete;

 private:
  ir::Program& program_;
  std::string layer_;
  const ir::Location* override_;
};

class Updates {
 public:
  Updates(ir::Program& program, const Schedule& schedule, bool needs_step)
      : program_(program), schedule_(schedule) {
    if (needs_step || !schedule.is_constant()) count_step();
  }

  // The learning rate in the dtype of `like`.
  Operand rate(const Value& like) const {
    return schedule_.is_constant() ? Operand(schedule_.rate) : Operand(as(rate_, like));
  }
  Operand rate_over(const Value& divisor, const Value& like) const {  // rate / divisor (f64)
    return as(schedule_.is_constant() ? Operand(schedule_.rate) / divisor : rate_ / divisor, like);
  }
  // 1 - rate * weight_decay
  Operand kept(double weight_decay, const Value& like) const {
    if (schedule_.is_constant()) return 1 - schedule_.rate * weight_decay;
    return as(1.0 - rate_ * weight_decay, like);
  }
  Value step_number() const { return step_ + 1.0; }  // from 1, f64

  // State beside parameter `p`, zero at first.
  Value state(const Value& p, const char* suffix) const {
    const ir::Parameter& parameter = program_.parameter_of(p.get());
    return Value(program_.add_parameter(parameter.name() + "." + suffix, p.get()->type, zeros(),
                                        /*trainable=*/false, parameter.location));
  }

  static Value as(const Value& scalar, const Value& like) {
    return scalar.dtype() == like.dtype() ? scalar : cast(scalar, {.dtype = like.dtype()});
  }

 private:
  void count_step() {
    const Value counter(program_.add_parameter(std::string(kLayer) + ".step",
                                               ir::Type{DType::i64, {}, ""}, zeros(),
                                               /*trainable=*/false, ir::Location{"", 0, kLayer}));
    step_ = cast(counter, {.dtype = f64});
    if (!schedule_.is_constant()) rate_ = rate_at(schedule_, step_);
    assign(counter, counter + 1.0);
  }

  ir::Program& program_;
  const Schedule& schedule_;
  Value step_, rate_;  // scalars, f64: powers of numbers near 1 need the digits
};

// One parameter and its gradient on the way.
struct Slot {
  Value p, g;
};

// The factor that brings a gradient of this squared length down to `limit`, at most 1.
Value shrink(const Value& squared_norm, double limit) {
  return minimum(limit / (sqrt(squared_norm) + 1e-6), 1.0);
}

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

void decay(Slot& slot, double weight_decay) {
  if (weight_decay != 0) slot.g = slot.g + slot.p * weight_decay;
}

void update(const Sgd& sgd, const Updates& updates, Slot slot) {
  decay(slot, sgd.weight_decay);
  assign(slot.p, slot.p - slot.g * updates.rate(slot.p));
}

void update(const Momentum& options, const Updates& updates, Slot slot) {
  decay(slot, options.weight_decay);
  const Value velocity = updates.state(slot.p, "momentum");
  const Value next = velocity * options.momentum + slot.g;
  const Value direction = options.nesterov ? slot.g + next * options.momentum : next;
  assign(slot.p, slot.p - direction * updates.rate(slot.p));
  assign(velocity, next);
}

// Bias corrections in f64: at the first steps 1 - beta^t is small.
template <class Options>
void adam_step(const Options& options, const Updates& updates, const Value& p, const Value& g) {
  const Value m = updates.state(p, "adam_m");
  const Value v = updates.state(p, "adam_v");
  const Value next_m = m * options.beta1 + g * (1 - options.beta1);
  const Value next_v = v * options.beta2 + g * g * (1 - options.beta2);
  const Value t = updates.step_number();
  const Operand rate = updates.rate_over(1.0 - pow(options.beta1, t), p);
  const Value root = Updates::as(rsqrt(1.0 - pow(options.beta2, t)), p);
  const Value change = next_m * rate / (sqrt(next_v) * root + options.epsilon);
  if constexpr (std::is_same_v<Options, AdamW>) {
    assign(p, p * updates.kept(options.weight_decay, p) - change);
  } else {
    assign(p, p - change);
  }
  assign(m, next_m);
  assign(v, next_v);
}

void update(const Adam& adam, const Updates& updates, Slot slot) {
  decay(slot, adam.weight_decay);
  adam_step(adam, updates, slot.p, slot.g);
}

void update(const AdamW& adam, const Updates& updates, const Slot& slot) {
  adam_step(adam, updates, slot.p, slot.g);
}

void check(const Clip& limits, double rate) {
  if (limits.value < 0 || limits.norm < 0 || limits.global_norm < 0) {
    fail_usage("optimizer: limits of gradients must not be negative");
  }
  if (!std::isfinite(rate)) fail_usage("optimizer: the learning rate must be a finite number");
}

}  // namespace

void apply_updates(const Optimizer& optimizer, const std::vector<Value>& parameters,
                   const std::vector<Value>& gradients) {
  if (parameters.empty()) return;
  if (parameters.size() != gradients.size()) {
    fail_usage("apply_updates: there must be one gradient for each parameter");
  }
  ir::Program& program = *parameters.front().get()->program;
  const OptimizerScope scope(program);
  std::visit(
      [&](const auto& options) {
        using Options = std::decay_t<decltype(options)>;
        constexpr bool kCounts = std::is_same_v<Options, Adam> || std::is_same_v<Options, AdamW>;
        check(options.clip, options.learning_rate.rate);
        ir::Location location{"", 0, kLayer};
        program.location_override = &location;
        std::vector<Slot> slots;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
          slots.push_back({parameters[i], gradients[i]});
        }
        clip(slots, options.clip);
        const Updates updates(program, options.learning_rate, kCounts);
        for (const Slot& slot : slots) {
          const ir::Location& made = program.parameter_of(slot.p.get()).location;
          location = {made.file, made.line, kLayer + ("/" + made.layer)};
          update(options, updates, slot);
        }
      },
      optimizer);
}

}  // namespace trireme::nn
