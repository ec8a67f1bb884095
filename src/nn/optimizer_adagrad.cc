// Optimizers that divide by the root of what squared gradients came to.

#include "nn/updates.h"

namespace trireme::nn {

void update(const Adagrad& options, const Updates& updates, const Slot& slot) {
  const Value v = updates.state(slot.p, "adagrad", options.initial);
  const Value next = v + slot.g * slot.g;
  assign(slot.p, slot.p - slot.g * updates.rate(slot.p) / (sqrt(next) + options.epsilon));
  assign(v, next);
}

void update(const DecayedAdagrad& options, const Updates& updates, const Slot& slot) {
  const Value v = updates.state(slot.p, "decayed_adagrad");
  const Value next = running_square(v, slot.g, options.decay);
  assign(slot.p, slot.p - slot.g * updates.rate(slot.p) / (sqrt(next) + options.epsilon));
  assign(v, next);
}

void update(const Adadelta& options, const Updates& updates, const Slot& slot) {
  const Value v = updates.state(slot.p, "adadelta_v");
  const Value m = updates.state(slot.p, "adadelta_m");
  const Value next_v = running_square(v, slot.g, options.decay);
  const Value change = slot.g * sqrt(m + options.epsilon) / sqrt(next_v + options.epsilon);
  const Value next_m = running_square(m, change, options.decay);
  assign(slot.p, slot.p - change * updates.rate(slot.p));
  assign(v, next_v);
  assign(m, next_m);
}

void update(const RmsProp& options, const Updates& updates, const Slot& slot) {
  const Value v = updates.state(slot.p, "rmsprop_v");
  const Value next_v = running_square(v, slot.g, options.decay);
  Value spread = next_v, a, next_a, m, next_m;
  if (options.centred) {
    a = updates.state(slot.p, "rmsprop_mean");
    next_a = running_mean(a, slot.g, options.decay);
    spread = maximum(next_v - next_a * next_a, 0.0);  // rounding may bring it below
  }
  Value change = slot.g / (sqrt(spread) + options.epsilon);
  if (options.momentum != 0) {
    m = updates.state(slot.p, "rmsprop_momentum");
    change = next_m = m * options.momentum + change;
  }
  assign(slot.p, slot.p - change * updates.rate(slot.p));
  assign(v, next_v);
  if (a) assign(a, next_a);
  if (m) assign(m, next_m);
}

void update(const Ftrl& options, const Updates& updates, const Slot& slot) {
  const Value& p = slot.p;
  const Value v = updates.state(p, "ftrl_v", options.initial);
  const Value m = updates.state(p, "ftrl_m");
  const Operand rate = updates.rate(p);
  const Value before = p * sqrt(v);
  const Value next_v = v + slot.g * slot.g;
  const Value root = sqrt(next_v);
  const Value next_m = m + slot.g - (p * root - before) / rate;
  // m - sign(m) * l1 where |m| > l1, else 0
  const Value beyond = maximum(next_m - options.l1, 0.0) + minimum(next_m + options.l1, 0.0);
  assign(p, -beyond / ((root + options.beta) / rate + options.l2));
  assign(v, next_v);
  assign(m, next_m);
}

}  // namespace trireme::nn
