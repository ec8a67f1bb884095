// Optimizers that divide by the root of accumulated squared gradients.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "nn/layer.h"
#include "nn/updates.h"
#include "trireme/functions.h"

namespace trireme::nn {
namespace {

Value root_mean_square(const Value& x, double elements) {
  return norm(x) * (1 / std::sqrt(elements));
}

// The running mean of g^2. Of matrices, the product of the means of their rows and of their
// columns, divided by the mean of all.
struct Squares {
  Value estimate;
  std::vector<std::pair<Value, Value>> states;  // with their next values
};

Squares squares_of(const Updates& updates, const Slot& slot, const Value& share) {
  Squares result;
  // Squares of zeros must not lead to 0 / 0.
  const Value squares = slot.g * slot.g + 1e-30;
  const auto averaged = [&](const Value& state, const Value& now) {
    const Value next = state + (now - state) * Updates::as(share, state);
    result.states.emplace_back(state, next);
    return next;
  };
  const int rank = slot.p.rank();
  if (rank < 2) {
    result.estimate = averaged(updates.state(slot, "adafactor_v"), squares);
    return result;
  }
  const auto without = [&](int axis) {
    Shape shape = slot.p.shape();
    shape.erase(shape.begin() + axis);
    return shape;
  };
  const Value rows = averaged(updates.state_of_shape(slot, "adafactor_rows", without(rank - 1)),
                              mean(squares, {.axes = {rank - 1}}));
  const Value columns =
      averaged(updates.state_of_shape(slot, "adafactor_columns", without(rank - 2)),
               mean(squares, {.axes = {rank - 2}}));
  const Value relative = rows / mean(rows, {.axes = {rank - 2}, .keep = true});
  result.estimate = spread(relative, slot.p, axes_but(rank - 1, rank)) *
                    spread(columns, slot.p, axes_but(rank - 2, rank));
  return result;
}

}  // namespace

void update(const Adagrad& options, const Updates& updates, const Slot& slot) {
  const Value v = updates.state(slot, "adagrad", options.initial);
  const Value next = v + slot.g * slot.g;
  updates.set_parameter(slot,
                        slot.p - slot.g * updates.rate(slot) / (sqrt(next) + options.epsilon));
  updates.set(v, next);
}

void update(const DecayedAdagrad& options, const Updates& updates, const Slot& slot) {
  const Value v = updates.state(slot, "decayed_adagrad");
  const Value next = running_square(v, slot.g, options.decay);
  updates.set_parameter(slot,
                        slot.p - slot.g * updates.rate(slot) / (sqrt(next) + options.epsilon));
  updates.set(v, next);
}

void update(const Adadelta& options, const Updates& updates, const Slot& slot) {
  const Value v = updates.state(slot, "adadelta_v");
  const Value m = updates.state(slot, "adadelta_m");
  const Value next_v = running_square(v, slot.g, options.decay);
  const Value change = slot.g * sqrt(m + options.epsilon) / sqrt(next_v + options.epsilon);
  const Value next_m = running_square(m, change, options.decay);
  updates.set_parameter(slot, slot.p - change * updates.rate(slot));
  updates.set(v, next_v);
  updates.set(m, next_m);
}

void update(const RmsProp& given, const Updates& updates, const Slot& slot) {
  RmsProp options = given;
  options.centred.apply_to(options.centered);
  const Value v = updates.state(slot, "rmsprop_v");
  const Value next_v = running_square(v, slot.g, options.decay);
  Value variance = next_v, a, next_a, m, next_m;
  if (options.centered) {
    a = updates.state(slot, "rmsprop_mean");
    next_a = running_mean(a, slot.g, options.decay);
    // v - a^2, but infinite if v overflows. Rounding may make it negative.
    const Value root = sqrt(next_v);
    variance = maximum((root - next_a) * (root + next_a), 0.0);
  }
  Value change = slot.g / (sqrt(variance) + options.epsilon);
  if (options.momentum != 0) {
    m = updates.state(slot, "rmsprop_momentum");
    change = next_m = m * options.momentum + change;
  }
  updates.set_parameter(slot, slot.p - change * updates.rate(slot));
  updates.set(v, next_v);
  if (a) updates.set(a, next_a);
  if (m) updates.set(m, next_m);
}

void update(const Ftrl& options, const Updates& updates, const Slot& slot) {
  const Value& p = slot.p;
  const Value v = updates.state(slot, "ftrl_v", options.initial);
  const Value m = updates.state(slot, "ftrl_m");
  const Operand rate = updates.rate(slot);
  const Value next_v = v + slot.g * slot.g;
  const Value root = sqrt(next_v);
  const Value next_m = m + slot.g - p * ((root - sqrt(v)) / rate);
  // m - sign(m) * l1 if |m| > l1, otherwise 0
  const Value shrunk = maximum(next_m - options.l1, 0.0) + minimum(next_m + options.l1, 0.0);
  updates.set_parameter(slot, -shrunk / ((root + options.beta) / rate + options.l2));
  updates.set(v, next_v);
  updates.set(m, next_m);
}

void update(const Adafactor& options, const Updates& updates, const Slot& slot) {
  double elements = 1;
  for (const Dim& size : slot.p.shape()) elements *= static_cast<double>(size.constant());
  elements = std::max(elements, 1.0);
  const Value& t = updates.step_number();
  const Squares squares = squares_of(updates, slot, pow(t, -options.decay_power));
  const Value d = slot.g * rsqrt(squares.estimate);
  const Value excess = root_mean_square(d, elements) * (1 / options.threshold);
  const Value rate = minimum(Updates::as(rsqrt(t), slot.p), updates.rate(slot));
  const Value size = maximum(root_mean_square(slot.p, elements), options.epsilon);
  const Value change = d * (size * rate / maximum(excess, 1.0));
  updates.set_parameter(slot, updates.decayed(slot, options.weight_decay) - change);
  for (const auto& [state, next] : squares.states) updates.set(state, next);
}

}  // namespace trireme::nn
