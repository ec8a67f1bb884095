// Optimizers that use no mean of squared gradients.

#include "nn/updates.h"
#include "trireme/functions.h"

namespace trireme::nn {

void update(const Sgd&, const Updates& updates, const Slot& slot) {
  updates.set_parameter(slot, slot.p - slot.g * updates.rate(slot));
}

void update(const Momentum& options, const Updates& updates, const Slot& slot) {
  const Value velocity = updates.state(slot, "momentum");
  const Value next = velocity * options.momentum + slot.g;
  const Value direction = options.nesterov ? slot.g + next * options.momentum : next;
  updates.set_parameter(slot, slot.p - direction * updates.rate(slot));
  updates.set(velocity, next);
}

void update(const Rprop& options, const Updates& updates, const Slot& slot) {
  const double first = options.learning_rate.rate * slot.settings.learning_rate;
  const Value before = updates.state(slot, "rprop_gradient");
  const Value size = updates.state(slot, "rprop_step", first);
  const Value same = sign(before) * sign(slot.g);
  const Value factor =
      trireme::where(same > 0.0, options.increase,
                     trireme::where(same < 0.0, options.decrease, zero_like(same) + 1.0));
  const Value next = minimum(maximum(size * factor, options.min_step), options.max_step);
  const Value gradient = trireme::where(same < 0.0, 0.0, slot.g);
  updates.set_parameter(slot, slot.p - sign(gradient) * next);
  updates.set(before, gradient);
  updates.set(size, next);
}

void update(const Lars& options, const Updates& updates, const Slot& slot) {
  const Value& p = slot.p;
  const Value velocity = updates.state(slot, "lars");
  const double weight_decay = options.weight_decay * slot.settings.weight_decay;
  const Value of_p = norm(p), of_g = norm(slot.g);
  const Value both = minimum(of_p, of_g);
  const Value has_both = both > 0.0, one = both * 0.0 + 1.0;  // NaN stays NaN
  const Value divisor = trireme::where(has_both, of_g + of_p * weight_decay, one);
  const Value size = trireme::where(has_both, of_p * options.trust, one);
  const Value change = weight_decay == 0 ? slot.g : slot.g + p * weight_decay;
  const Value next = velocity * options.momentum + change / divisor * (size * updates.rate(slot));
  updates.set_parameter(slot, p - next);
  updates.set(velocity, next);
}

}  // namespace trireme::nn
