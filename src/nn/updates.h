#pragma once

// What the optimizers' update rules are made with.

#include <string>
#include <vector>

#include "ir/program.h"
#include "trireme/ops.h"
#include "trireme/optimizer.h"

namespace trireme::nn {

// One parameter and its gradient on the way. Where the gradient is row-sparse, p and g are the rows
// that it names, each once, and what a rule makes of them is written back to these rows alone: the
// rules know nothing of it.
struct Slot {
  Value p, g;
  ParameterSettings settings;
  Value parameter;  // p is it, or rows of it
  Value rows = {};  // which ones, i64 [n]; -1 stands for none. Empty: all
};

// The step, its learning rate, and state beside parameters.
class Updates {
 public:
  // Counts updates in parameter "optimizer.step" where `needs_step`, the schedule or the average
  // asks for it, and steps in "optimizer.batch" where gradients are accumulated. Both options must
  // outlive this.
  Updates(ir::Program& program, const Schedule& schedule, const UpdateOptions& options,
          bool needs_step);

  // The learning rate of the parameter in its dtype.
  Operand rate(const Slot& slot) const;
  Operand rate_over(const Value& divisor, const Slot& slot) const;  // rate / divisor (f64)
  // p * (1 - rate * weight_decay)
  Value decayed(const Slot& slot, double weight_decay) const;
  Value step_number() const { return number_; }  // of the update, from 1, f64

  // State beside the parameter, of its type, at first `initial`: all of it, or the slot's rows.
  Value state(const Slot& slot, const char* suffix, double initial = 0) const;
  // The mean of the gradients since the last update in place of the gradient.
  void accumulate(Slot& slot) const;

  // What the state and, last or not, the parameter become, if this step is an update.
  void set(const Value& state, const Value& next) const;
  void set_parameter(const Slot& slot, const Value& next) const;

  static Value as(const Value& scalar, const Value& like);  // in the dtype of `like`

 private:
  Value counter(const char* name) const;
  void count_batches();
  void count_updates();
  void average_exponentially(const Slot& slot, const Value& next) const;
  void average_in_windows(const Slot& slot, const Value& next) const;

  ir::Program& program_;
  const Schedule& schedule_;
  const UpdateOptions& options_;
  Value due_;            // whether this step is an update; empty if all are
  Value number_, rate_;  // scalars, f64: powers of numbers near 1 need the digits
};

Value zero_like(const Value& x);
// keep * mean + (1 - keep) * x, and the same of x^2
Value running_mean(const Value& mean, const Value& x, double keep);
Value running_square(const Value& mean, const Value& x, double keep);

void clip(std::vector<Slot>& slots, const Clip& limits);

// Parts of apply_updates(), for who applies the optimizer's rule elsewhere, such as on a parameter server.
// gradients[i] belongs to parameters[i], none of which is frozen. Errors: usage, as of apply_updates.
//
// The limits of the optimizer's clip. If there are any, row-sparse gradients name each row once afterwards.
void limit_gradients(const Optimizer& optimizer, const std::vector<Value>& parameters,
                     std::vector<Gradient>& gradients);
// What l1, l2 and a weight_decay that is no part of the rule add to the gradient: nothing to a row-sparse one, where they
// are refused.
void add_penalties(const Optimizer& optimizer, const UpdateOptions& options, const Value& parameter,
                   Gradient& gradient);

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
