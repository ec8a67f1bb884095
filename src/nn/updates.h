#pragma once

// Building blocks of the optimizers' update rules.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/program.h"
#include "trireme/ops.h"
#include "trireme/optimizer.h"

namespace trireme::nn {

// One parameter and its gradient. If the gradient is row-sparse, p and g are the rows that it
// contains, each once, and the results of a rule are written back to these rows only. The rules do
// not distinguish the two cases.
struct Slot {
  Value p, g;
  ParameterSettings settings;
  Value parameter;  // p is the parameter, or rows of it
  Value rows = {};  // row numbers of p, i64 [n], -1 for unused ones; empty for all rows
};

// The step, the learning rate, and the state of the optimizer.
class Updates {
 public:
  // All names are prefixed if the options have a name: see state_prefix().
  // Counts updates in the parameter "optimizer.step" if `needs_step` is true or the schedule or the
  // average needs it. Counts steps in "optimizer.batch" if gradients are accumulated. Both options
  // must outlive this object.
  Updates(ir::Program& program, const Schedule& schedule, const UpdateOptions& options,
          bool needs_step);

  // Returns the learning rate of the parameter, in its dtype.
  Operand rate(const Slot& slot) const;
  Operand rate_over(const Value& divisor, const Slot& slot) const;  // rate / divisor (f64)
  // p * (1 - rate * weight_decay)
  Value decayed(const Slot& slot, double weight_decay) const;
  Value step_number() const { return number_; }  // number of the update, from 1, f64
  // The learning rate before the factors of parameters, f64; empty if it is a constant.
  const Value& rate() const { return rate_; }

  // Returns a state of the parameter's type that starts at `initial`: all of it, or the slot's
  // rows.
  Value state(const Slot& slot, const char* suffix, double initial = 0) const;
  // The same with another shape, of all rows.
  Value state_of_shape(const Slot& slot, const char* suffix, const Shape& shape) const;
  // Returns next(state) of an f64 scalar state that starts at `initial` and becomes the result. All
  // parameters share it: the first call for a name creates the state and calls `next`.
  Value shared(const std::string& name, double initial,
               const std::function<Value(const Value& state)>& next) const;
  // Replaces the gradient by the weighted mean of the gradients since the last update.
  void accumulate(Slot& slot) const;

  // Assign the next value of a state or of the parameter, if this step is an update.
  void set(const Value& state, const Value& next) const;
  void set_parameter(const Slot& slot, const Value& next) const;

  static Value as(const Value& scalar, const Value& like);  // cast to the dtype of `like`

 private:
  // Adds a state that belongs to no parameter.
  Value counter(const char* name, DType dtype = DType::i64, double initial = 0) const;
  void count_batches();
  void count_updates();
  void make_rate();
  void average_exponentially(const Slot& slot, const Value& next) const;
  void average_in_windows(const Slot& slot, const Value& next) const;

  ir::Program& program_;
  const Schedule& schedule_;
  const UpdateOptions& options_;
  Value due_;  // whether this step is an update; empty if every step is
  // f64 scalars: the weight of this step, and 1 / the weights since the last update, or 0 if these
  // are 0. Empty if all steps have one weight.
  Value weight_, share_;
  mutable std::map<std::string, Value> shared_;  // by name
  Value number_, rate_;  // f64 scalars: powers of numbers near 1 need the precision
};

// Error(usage) if the Program has updates of this name already.
void require_no_updates(const ir::Program& program, const std::string& name);

// What names of state begin with: nothing, or "optimizer.NAME/".
std::string state_prefix(std::string_view updates);
// The full name of a state that belongs to no parameter: "optimizer.step" or "optimizer.NAME/step".
std::string counter_name(std::string_view updates, std::string_view counter);
inline constexpr const char* kRate = "learning_rate";           // of adjustable constant rates
inline constexpr const char* kFactor = "learning_rate_factor";  // of other adjustable rates

Value zero_like(const Value& x);
// keep * mean + (1 - keep) * x, and the same of x^2
Value running_mean(const Value& mean, const Value& x, double keep);
Value running_square(const Value& mean, const Value& x, double keep);

void clip(std::vector<Slot>& slots, const Clip& limits);

// Parts of apply_updates() for callers that apply the optimizer's rule elsewhere, such as on a
// parameter server. gradients[i] belongs to parameters[i], none of which is frozen. Error(usage) as
// for apply_updates().
//
// Applies the clipping of the optimizer. If there is any, each row occurs once in row-sparse
// gradients afterwards.
void limit_gradients(const Optimizer& optimizer, const std::vector<Value>& parameters,
                     std::vector<Gradient>& gradients);
// Adds l1, l2 and a weight_decay that is not part of the rule to the gradient. Does not change
// row-sparse gradients, for which these options are errors.
void add_penalties(const Optimizer& optimizer, const UpdateOptions& options, const Value& parameter,
                   Gradient& gradient);

// The update rules that trireme/optimizer.h documents, in the files optimizer_*.cc.
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
void update(const NAdam& options, const Updates& updates, const Slot& slot);
void update(const RAdam& options, const Updates& updates, const Slot& slot);
void update(const Rprop& options, const Updates& updates, const Slot& slot);
void update(const Lars& options, const Updates& updates, const Slot& slot);
void update(const Adafactor& options, const Updates& updates, const Slot& slot);
void update(const Muon& options, const Updates& updates, const Slot& slot);
void update(const ScheduleFreeSgd& options, const Updates& updates, const Slot& slot);
void update(const ScheduleFreeAdamW& options, const Updates& updates, const Slot& slot);

}  // namespace trireme::nn
