// Optimizers that use a running mean of the gradients.

#include "nn/updates.h"
#include "trireme/functions.h"

namespace trireme::nn {
namespace {

struct Moments {
  Value m, v, next_m, next_v;
};

template <class Options>
Moments moments(const Options& options, const Updates& updates, const Slot& slot,
                const std::string& name) {
  Moments moments;
  moments.m = updates.state(slot, (name + "_m").c_str());
  moments.v = updates.state(slot, (name + "_v").c_str());
  moments.next_m = running_mean(moments.m, slot.g, options.beta1);
  moments.next_v = running_square(moments.v, slot.g, options.beta2);
  return moments;
}

void store_moments(const Updates& updates, const Moments& moments) {
  updates.set(moments.m, moments.next_m);
  updates.set(moments.v, moments.next_v);
}

// Returns 1 - beta^t in f64, because it is small in the first steps.
Value correction(const Updates& updates, double beta) {
  return 1.0 - pow(beta, updates.step_number());
}

// sqrt(v / (1 - beta2^t)) + epsilon
template <class Options>
Value corrected_root(const Options& options, const Updates& updates, const Value& next_v) {
  const Value root = Updates::as(rsqrt(correction(updates, options.beta2)), next_v);
  return sqrt(next_v) * root + options.epsilon;
}

template <class Options>
Value adam_change(const Options& options, const Updates& updates, const Slot& slot,
                  const Moments& moments) {
  const Operand rate = updates.rate_over(correction(updates, options.beta1), slot);
  Value v = moments.next_v;
  if (options.amsgrad) {
    const Value largest = updates.state(slot, "adam_max_v");
    v = maximum(largest, v);
    updates.set(largest, v);
  }
  return moments.next_m * rate / corrected_root(options, updates, v);
}

}  // namespace

void update(const Adam& options, const Updates& updates, const Slot& slot) {
  const Moments next = moments(options, updates, slot, "adam");
  updates.set_parameter(slot, slot.p - adam_change(options, updates, slot, next));
  store_moments(updates, next);
}

void update(const AdamW& options, const Updates& updates, const Slot& slot) {
  const Moments next = moments(options, updates, slot, "adam");
  const Value change = adam_change(options, updates, slot, next);
  updates.set_parameter(slot, updates.decayed(slot, options.weight_decay) - change);
  store_moments(updates, next);
}

void update(const Adamax& options, const Updates& updates, const Slot& slot) {
  const Value m = updates.state(slot, "adamax_m");
  const Value v = updates.state(slot, "adamax_v");
  const Value next_m = running_mean(m, slot.g, options.beta1);
  const Value next_v = maximum(v * options.beta2, abs(slot.g) + options.epsilon);
  const Operand rate = updates.rate_over(correction(updates, options.beta1), slot);
  updates.set_parameter(slot, slot.p - next_m * rate / next_v);
  updates.set(m, next_m);
  updates.set(v, next_v);
}

void update(const Lamb& options, const Updates& updates, const Slot& slot) {
  const Value& p = slot.p;
  const Moments next = moments(options, updates, slot, "lamb");
  const Value one_over = Updates::as(1.0 / correction(updates, options.beta1), p);
  Value change = next.next_m * one_over / corrected_root(options, updates, next.next_v);
  const double weight_decay = options.weight_decay * slot.settings.weight_decay;
  if (weight_decay != 0) change = change + p * weight_decay;
  const Value of_p = norm(p), of_change = norm(change);
  const Value both = minimum(of_p, of_change);
  const Value trust = trireme::where(both > 0.0, of_p / of_change, both * 0.0 + 1.0);
  updates.set_parameter(slot, p - change * (trust * updates.rate(slot)));
  store_moments(updates, next);
}

// Computes both means from g - m, the next state's first, so that they become one kernel.
void update(const Lion& options, const Updates& updates, const Slot& slot) {
  const Value m = updates.state(slot, "lion");
  const Value difference = slot.g - m;
  const Value next = m + difference * (1 - options.beta2);
  const Value change = sign(m + difference * (1 - options.beta1)) * updates.rate(slot);
  updates.set_parameter(slot, updates.decayed(slot, options.weight_decay) - change);
  updates.set(m, next);
}

// The momentum of a step rises to beta1. The product of all momenta corrects the bias of m.
void update(const NAdam& options, const Updates& updates, const Slot& slot) {
  const Moments next = moments(options, updates, slot, "nadam");
  const Value& t = updates.step_number();
  const auto momentum_at = [&](const Value& step) {
    return (1.0 - pow(0.96, step * options.momentum_decay) * 0.5) * options.beta1;
  };
  const Value now = momentum_at(t), then = momentum_at(t + 1.0);
  const Value product = updates.shared("nadam_product", 1, [&](const Value& p) { return p * now; });
  const Operand of_m = updates.rate_over((1.0 - product * then) / then, slot);
  const Operand of_g = updates.rate_over((1.0 - product) / (1.0 - now), slot);
  const Value root = corrected_root(options, updates, next.next_v);
  updates.set_parameter(slot, slot.p - (next.next_m * of_m + slot.g * of_g) / root);
  store_moments(updates, next);
}

void update(const RAdam& options, const Updates& updates, const Slot& slot) {
  const Moments next = moments(options, updates, slot, "radam");
  const Operand rate = updates.rate_over(correction(updates, options.beta1), slot);
  Value change = next.next_m * rate;
  const double limit = 2 / (1 - options.beta2) - 1;  // the length of an average of all gradients
  if (limit > 5) {                                   // else it is never long enough
    const Value& t = updates.step_number();
    const Value correction2 = correction(updates, options.beta2);
    const Value length = limit - t * pow(options.beta2, t) * 2.0 / correction2;
    const Value x = maximum(length, 5.0);
    const Value rectifier =
        sqrt((x - 4.0) * (x - 2.0) * (limit / ((limit - 4) * (limit - 2))) / x * correction2);
    const Value adaptive = Updates::as(rectifier, slot.p) / (sqrt(next.next_v) + options.epsilon);
    change = trireme::where(5.0 < length, change * adaptive, change);
  }
  updates.set_parameter(slot, slot.p - change);
  store_moments(updates, next);
}

}  // namespace trireme::nn
