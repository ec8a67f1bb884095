// Optimizers that average their parameters instead of lowering the learning rate.

#include "nn/updates.h"
#include "trireme/functions.h"

namespace trireme::nn {
namespace {

// Returns the weight of this step in the average of all steps until now.
Value share_of_step(const Updates& updates) {
  if (!updates.rate()) return 1.0 / updates.step_number();
  const Value largest = updates.shared("schedule_free_rate", 0, [&](const Value& before) {
    return maximum(before, updates.rate());
  });
  const Value weight = largest * largest;
  const Value sum = updates.shared("schedule_free_weight", 0,
                                   [&](const Value& before) { return before + weight; });
  const Value has_any = 0.0 < sum;
  return trireme::where(has_any, weight / trireme::where(has_any, sum, 1.0), 0.0);
}

// The parameter is (1 - beta) * z + beta * average. Both start at the parameter.
void move(const Updates& updates, const Slot& slot, const Value& direction, double beta) {
  const Value is_first = updates.step_number() <= 1.0;
  const Value state = updates.state(slot, "schedule_free"),
              average = updates.state(slot, "average");
  const Value z = trireme::where(is_first, slot.p, state);
  const Value x = trireme::where(is_first, slot.p, average);
  const Value next_z = z - direction * updates.rate(slot);
  const Value next_x = x + (next_z - x) * Updates::as(share_of_step(updates), x);
  updates.set_parameter(slot, next_z + (next_x - next_z) * beta);
  updates.set(state, next_z);
  updates.set(average, next_x);
}

}  // namespace

void update(const ScheduleFreeSgd& options, const Updates& updates, const Slot& slot) {
  move(updates, slot, slot.g, options.momentum);
}

void update(const ScheduleFreeAdamW& options, const Updates& updates, const Slot& slot) {
  const Value v = updates.state(slot, "adam_v");
  const Value next_v = running_square(v, slot.g, options.beta2);
  const Value correction = 1.0 - pow(options.beta2, updates.step_number());
  const Value root = sqrt(next_v) * Updates::as(rsqrt(correction), next_v) + options.epsilon;
  const double weight_decay = options.weight_decay * slot.settings.weight_decay;
  Value direction = slot.g / root;
  if (weight_decay != 0) direction = direction + slot.p * weight_decay;
  move(updates, slot, direction, options.beta1);
  updates.set(v, next_v);
}

}  // namespace trireme::nn
