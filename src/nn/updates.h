#pragma once

// What the optimizers' update rules are made with.

#include <string>
#include <vector>

#include "ir/program.h"
#include "trireme/ops.h"
#include "trireme/optimizer.h"

namespace trireme::nn {

// One parameter and its gradient on the way.
struct Slot {
  Value p, g;
};

// The step, its learning rate, and state beside parameters.
class Updates {
 public:
  // Where `needs_step` or the schedule asks for it, counts steps in parameter "optimizer.step".
  Updates(ir::Program& program, const Schedule& schedule, bool needs_step);

  // The learning rate in the dtype of `like`.
  Operand rate(const Value& like) const;
  Operand rate_over(const Value& divisor, const Value& like) const;  // rate / divisor (f64)
  Value decayed(const Value& p, double weight_decay) const;  // p * (1 - rate * weight_decay)
  Value step_number() const { return number_; }              // from 1, f64

  // State beside parameter `p`, of its type, at first `initial`.
  Value state(const Value& p, const char* suffix, double initial = 0) const;

  static Value as(const Value& scalar, const Value& like);  // in the dtype of `like`

 private:
  void count_step();

  ir::Program& program_;
  const Schedule& schedule_;
  Value number_, rate_;  // scalars, f64: powers of numbers near 1 need the digits
};

// -1, 0 or 1.
Value sign(const Value& x);
// keep * mean + (1 - keep) * x, and the same of x^2
Value running_mean(const Value& mean, const Value& x, double keep);
Value running_square(const Value& mean, const Value& x, double keep);

void clip(std::vector<Slot>& slots, const Clip& limits);

// The update rules, as trireme/optimizer.h states them: optimizer_sgd.cc, optimizer_adagrad.cc and
// optimizer_adam.cc.
void update(const Sgd& options, const Updates& updates, const Slot& slot);
void update(const Momentum& options, const Updates& updates, const Slot& slot);
void update(const Adagrad& options, const Updates& updates, const Slot& slot);
void update(const DecayedAdagrad& options, const Updates& updates, const Slot& slot);
void update(const Adadelta& options, const Updates& updates, const Slot& slot);
void update(const RmsProp& options, const Updates& updates, const Slot& slot);
void update(const Ftrl& options, const Updates& updates, const Slot& slot);
void update(const Adam& options, const Updates& updates, const Slot& slot);
void update(const AdamW& options, const Updates& updates, const Slot& slot);
void update(const Adamax& options, const Updates& updates, const Slot& slot);
void update(const Lamb& options, const Updates& updates, const Slot& slot);
void update(const Lion& options, const Updates& updates, const Slot& slot);

}  // namespace trireme::nn
