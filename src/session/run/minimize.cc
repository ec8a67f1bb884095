#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "ir/program.h"
#include "nn/updates.h"
#include "transforms/autodiff.h"
#include "transforms/detached_updates.h"
#include "trireme/ops.h"
#include "trireme/trainer.h"

namespace trireme {

namespace {

// Returns the ops from `first` on that begin early, and ops that only these need, such as a cast.
std::set<const ir::Op*> early_ops(const ir::Block& block, std::size_t first) {
  std::set<const ir::Op*> found;
  for (std::size_t i = block.ops.size(); i-- > first;) {
    const ir::Op* const op = block.ops[i].get();
    if (op->name() == "host_call" && get_attribute<bool>(op->attributes, "early")) found.insert(op);
    if (!found.contains(op)) continue;
    for (const ir::Value* operand : op->operands) found.insert(operand->producer);
  }
  return found;
}

// What begins early stands right behind what it reads.
void move_early(ir::Block& block, std::size_t first) {
  auto& ops = block.ops;
  const std::set<const ir::Op*> early = early_ops(block, first);
  for (std::size_t i = first; i < ops.size(); ++i) {
    if (!early.contains(ops[i].get())) continue;
    std::size_t to = 0;
    for (std::size_t j = 0; j < i; ++j) {
      for (const ir::Value* operand : ops[i]->operands) {
        if (operand->producer == ops[j].get()) to = j + 1;
      }
    }
    std::rotate(ops.begin() + static_cast<std::ptrdiff_t>(to),
                ops.begin() + static_cast<std::ptrdiff_t>(i),
                ops.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

// Whether the updates change the parameter; sets used[i] if pattern i matches it.
bool is_chosen(const ir::Parameter& parameter, const std::vector<std::string>& patterns,
               std::vector<bool>& used) {
  bool chosen = patterns.empty();
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (!ir::matches(patterns[i], parameter.name())) continue;
    chosen = used[i] = true;
  }
  return chosen;
}

// The parameters that the updates change.
std::vector<ir::Value*> parameters_to_update(const ir::Program& program,
                                             const std::vector<std::string>& patterns) {
  std::vector<bool> used(patterns.size());
  std::vector<ir::Value*> wanted;
  std::vector<std::string> names;
  for (const auto& parameter : program.parameters()) {
    if (!parameter->trainable) continue;
    names.push_back(parameter->name());
    if (is_chosen(*parameter, patterns, used) && !parameter->settings.frozen) {
      wanted.push_back(parameter->value.get());
    }
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (used[i]) continue;
    const std::string near = nearest(patterns[i], names);
    fail_usage(fmt::format("minimize: {} has no trainable parameter \"{}\"{}", program.name,
                           patterns[i], near.empty() ? "" : "; did you mean \"" + near + "\"?"));
  }
  if (wanted.empty()) {
    fail_usage(
        fmt::format("minimize: {} has no trainable parameter that is not frozen", program.name));
  }
  return wanted;
}

std::vector<ParameterGradient> differentiate(Value loss, const std::vector<ir::Value*>& wanted) {
  std::vector<ParameterGradient> result;
  for (const auto& found : transforms::gradients_by_rows(loss.get(), wanted)) {
    result.push_back({Value(wanted[result.size()]), {Value(found.values), Value(found.rows)}});
  }
  return result;
}

// The gradients as the optimizer gets them.
std::vector<ParameterGradient> exchanged_gradients(Value loss, const UpdateOptions& options,
                                                   const ExchangeGradients& exchange) {
  ir::Program& program = *loss.get()->program;
  const transforms::DetachedUpdates others(program);
  if (others.contains(*loss.get())) {
    fail_usage("minimize: the loss is computed by the updates of an optimizer");
  }
  std::vector<ParameterGradient> all =
      differentiate(loss, parameters_to_update(program, options.parameters));
  if (exchange) {
    const std::size_t first = program.main().ops.size();
    exchange(all);
    move_early(program.main(), first);
  }
  return all;
}

// The number of elements of which the loss is the mean. Empty if it is no mean, or their number is
// the same in every run.
Value number_of_losses(const Value& loss) {
  const ir::Op* op = loss.get()->producer;
  if (op == nullptr || op->name() != "mean") return {};
  const Value losses(op->operands[0]);
  return is_constant(losses.shape()) ? Value() : dim_size(losses, {.dtype = f64});
}

}  // namespace

void minimize(Value loss, const Optimizer& optimizer, const UpdateOptions& given,
              const ExchangeGradients& exchange, SourceLocation where) {
  if (!loss) fail_usage("minimize: the loss is empty");
  UpdateOptions options = given;
  if (options.accumulate_weight && exchange) {
    fail_usage(
        "minimize: accumulate_weight is the weight of one process, but gradients are "
        "exchanged between several");
  }
  if (options.accumulate > 1 && !options.accumulate_weight && !exchange) {
    options.accumulate_weight = number_of_losses(loss);
  }
  nn::require_no_updates(*loss.get()->program, options.name);
  std::vector<Value> parameters;
  std::vector<nn::Gradient> gradients;
  for (const ParameterGradient& one : exchanged_gradients(loss, options, exchange)) {
    parameters.push_back(one.parameter);
    gradients.push_back(one.gradient);
  }
  nn::apply_updates(optimizer, parameters, gradients, options, where);
}

std::vector<ParameterGradient> gradients_of_updates(const Program& program, std::string_view name) {
  ir::require_updates(program.ir(), name, "gradients_of_updates");
  const ir::UpdateSet* set = ir::find_updates(program.ir(), name);
  if (set == nullptr) {
    fail_usage(
        "gradients_of_updates: the Program was parsed, and its text does not say which values are "
        "gradients");
  }
  std::vector<ParameterGradient> result;
  for (const ir::UpdatedParameter& each : set->parameters) {
    result.push_back({Value(each.parameter), {Value(each.gradient), Value(each.rows)}});
  }
  return result;
}

}  // namespace trireme
