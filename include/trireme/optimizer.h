#pragma once

// How parameters follow their gradients. An optimizer is a plain description; minimize()
// (trireme/trainer.h) turns it into ops of the Program.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"

namespace trireme {

// A learning rate as a function of the step, counted from 0 and computed inside the Program. A
// plain number is a constant Schedule.
struct TRIREME_API Schedule {
  enum class Kind : std::uint8_t { constant, step_decay, exponential, cosine, polynomial };
  Kind kind = Kind::constant;
  double rate = 1e-3;      // at the start, or after the warm-up
  std::int64_t steps = 0;  // of a stair, or until the end
  double factor = 1, last = 0, power = 1;
  std::int64_t warmup_steps = 0;

  Schedule(double constant = 1e-3) : rate(constant) {}  // NOLINT

  // rate * factor^floor(step / every)
  static Schedule step_decay(double rate, std::int64_t every, double factor);
  // rate * factor^step
  static Schedule exponential(double rate, double factor);
  // Half a cosine from `rate` to `last` within `steps`, then `last`.
  static Schedule cosine(double rate, std::int64_t steps, double last = 0);
  // (rate - last) * (1 - step / steps)^power + last, then `last`.
  static Schedule polynomial(double rate, std::int64_t steps, double last = 0, double power = 1);
  // A straight line from rate / steps in step 0 to rate; then this Schedule, its step 0 there.
  Schedule warmup(std::int64_t steps) const;

  bool is_constant() const { return kind == Kind::constant && warmup_steps == 0; }
  double at(std::int64_t step) const;  // the same on the host
};

// Limits on gradients before they are used, in this order; 0 means none.
struct Clip {
  double value = 0;        // every element into [-value, value]
  double norm = 0;         // every parameter's gradient shortened to this length
  double global_norm = 0;  // all gradients together shortened to this length
};

// p -= rate * g. weight_decay adds weight_decay * p to g, except in AdamW.
struct Sgd {
  Schedule learning_rate = 1e-2;
  double weight_decay = 0;
  Clip clip = {};
};

// v = momentum * v + g; p -= rate * v, or, with Nesterov, rate * (g + momentum * v).
struct Momentum {
  Schedule learning_rate = 1e-2;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  Clip clip = {};
};

// Kingma and Ba 2015, with bias correction.
struct Adam {
  Schedule learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  Clip clip = {};
};

// Loshchilov and Hutter 2019: Adam, and p is first multiplied by 1 - rate * weight_decay.
struct AdamW {
  Schedule learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-2;
  Clip clip = {};
};

using Optimizer = std::variant<Sgd, Momentum, Adam, AdamW>;

namespace nn {

// Appends to the parameters' Program the ops that assign each its next value. gradients[i] belongs
// to parameters[i]. State is kept in parameters that are not trained: "<name>.momentum",
// "<name>.adam_m", "<name>.adam_v" and, where something depends on the step, "optimizer.step". Call
// it once.
// Errors: usage, for options that make no sense.
TRIREME_API void apply_updates(const Optimizer& optimizer, const std::vector<Value>& parameters,
                               const std::vector<Value>& gradients);

}  // namespace nn
}  // namespace trireme
