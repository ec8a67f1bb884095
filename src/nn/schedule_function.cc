// Schedules that are functions of the user.

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "ir/program.h"
#include "nn/schedule.h"

namespace trireme {
namespace {

// A formula as ops of a scalar step, for learning rates outside of a run.
class RecordedFormula {
 public:
  explicit RecordedFormula(const std::function<Value(const Value&)>& formula)
      : program_("schedule"),
        step_(program_.input("step", DType::f64, {})),
        rate_(nn::as_rate(formula(step_), step_)) {}

  double at(double step) const {
    std::map<const ir::Value*, double> known{{step_.get(), step}};
    for (const auto& op : program_.ir().main().ops) compute(*op, known);
    const auto rate = known.find(rate_.get());
    if (rate != known.end()) return rate->second;
    fail_usage(
        "Schedule::function: the formula uses an op that does not compute each element alone, or "
        "another value than the step\n  hint   use numbers, arithmetic, where() and functions such "
        "as exp() and minimum()");
  }

 private:
  // Adds the result of an op whose operands are known.
  static void compute(const ir::Op& op, std::map<const ir::Value*, double>& known) {
    std::vector<double> numbers;
    for (const ir::Value* operand : op.operands) {
      const auto it = known.find(operand);
      if (it == known.end()) return;
      numbers.push_back(it->second);
    }
    if (op.has(ir::Trait::constant)) {
      known[op.result()] = get_attribute<double>(op.attributes, "value");
    } else if (op.has(ir::Trait::elementwise) && op.def->fold) {
      known[op.result()] = op.def->fold(op, numbers);
    }
  }

  Program program_;
  Value step_, rate_;
};

}  // namespace

Schedule Schedule::function(std::function<Value(const Value&)> formula) {
  if (!formula) fail_usage("Schedule::function: there is no function");
  const auto recorded = std::make_shared<const RecordedFormula>(formula);
  const double first = recorded->at(0);
  if (!(std::isfinite(first) && first >= 0)) {
    fail_usage("Schedule::function: the rate of step 0 is " + std::to_string(first) +
               ", but must be a finite number, at least 0");
  }
  Schedule schedule(first);
  schedule.kind = Kind::function;
  // Copies of the Schedule share the function, which may belong to another language.
  schedule.formula = [shared = std::make_shared<const std::function<Value(const Value&)>>(
                          std::move(formula))](const Value& step) { return (*shared)(step); };
  schedule.on_host = [recorded](double step) { return recorded->at(step); };
  return schedule;
}

namespace nn {

Value as_rate(const Value& rate, const Value& step) {
  if (!rate || rate.get()->program != step.get()->program) {
    fail_usage("Schedule::function: the formula returned no value of the step's Program");
  }
  if (rate.shape() != step.shape() || rate.dtype() == DType::boolean || is_half(rate.dtype())) {
    fail_usage("Schedule::function: the formula returned " + rate.str() + ", but the step is " +
               step.str() + "\n  hint   return a number for each step");
  }
  return rate.dtype() == DType::f64 ? rate : cast(rate, {.dtype = DType::f64});
}

}  // namespace nn
}  // namespace trireme
