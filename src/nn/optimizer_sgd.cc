#include "nn/updates.h"

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

}  // namespace trireme::nn
