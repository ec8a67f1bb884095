#include "nn/updates.h"

namespace trireme::nn {

void update(const Sgd&, const Updates& updates, const Slot& slot) {
  assign(slot.p, slot.p - slot.g * updates.rate(slot.p));
}

void update(const Momentum& options, const Updates& updates, const Slot& slot) {
  const Value velocity = updates.state(slot.p, "momentum");
  const Value next = velocity * options.momentum + slot.g;
  const Value direction = options.nesterov ? slot.g + next * options.momentum : next;
  assign(slot.p, slot.p - direction * updates.rate(slot.p));
  assign(velocity, next);
}

}  // namespace trireme::nn
