#include "transforms/autodiff.h"

#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "trireme/ops.h"

namespace trireme::transforms {
namespace {

using ValueSet = std::unordered_set<const ir::Value*>;
using GradientMap = std::unordered_map<const ir::Value*, trireme::Value>;

// New ops belong to the layer and line of the op they differentiate while this lives.
class LocationGuard {
 public:
  LocationGuard(ir::Program& program, const ir::Location& location)
      : program_(program), previous_(program.location_override) {
    program.location_override = &location;
  }
  ~LocationGuard() { program_.location_override = previous_; }
  LocationGuard(const LocationGuard&) = delete;
  LocationGuard& operator=(const LocationGuard&) = delete;

 private:
  ir::Program& program_;
  const ir::Location* previous_;
};

ir::Value* filled(ir::Program& program, const ir::Type& type, double value,
                  const ir::Location& location) {
  return program
      .append(program.main(), "constant", {},
              {{"dtype", type.dtype}, {"shape", type.shape}, {"value", value}}, location)
      ->result();
}

class Context final : public ir::GradientContext {
 public:
  Context(const ir::Op& op, const ValueSet& wanted, GradientMap& gradients)
      : op_(op), wanted_(wanted), gradients_(gradients) {}

  const ir::Op& op() const override { return op_; }
  trireme::Value operand(int i) const override {
    return trireme::Value(op_.operands[static_cast<std::size_t>(i)]);
  }
  trireme::Value result(int i) const override { return trireme::Value(op_.result(i)); }

  trireme::Value gradient(int i) const override {
    const ir::Value* result = op_.result(i);
    trireme::Value& gradient = gradients_[result];
    if (!gradient) {
      gradient = trireme::Value(filled(*result->program, result->type, 0.0, op_.location));
    }
    return gradient;
  }

  bool wants(int i) const override {
    return wanted_.contains(op_.operands[static_cast<std::size_t>(i)]);
  }

  void give(int i, trireme::Value gradient) override {
    if (!wants(i)) return;
    const ir::Value* operand = op_.operands[static_cast<std::size_t>(i)];
    if (gradient.get()->type != operand->type) {
      fail_internal(op_.name() + ": its gradient rule gives operand " + std::to_string(i) + " a " +
                    gradient.get()->type.str() + ", but the operand is " + operand->type.str());
    }
    trireme::Value& sum = gradients_[operand];
    sum = sum ? sum + gradient : gradient;
  }

 private:
  const ir::Op& op_;
  const ValueSet& wanted_;
  GradientMap& gradients_;
};

// The float values that depend on one of `wanted`.
ValueSet dependents(const ir::Block& block, const std::vector<ir::Value*>& wanted) {
  ValueSet set(wanted.begin(), wanted.end());
  for (const auto& op : block.ops) {
    if (op->has(ir::Trait::not_differentiable)) continue;
    bool depends = false;
    for (const ir::Value* operand : op->operands) depends = depends || set.contains(operand);
    if (!depends) continue;
    for (const auto& result : op->results) {
      if (is_float(result->type.dtype)) set.insert(result.get());
    }
  }
  return set;
}

void check_loss(const ir::Value* loss) {
  if (loss->block != &loss->program->main() || !is_float(loss->type.dtype) ||
      loss->type.rank() != 0) {
    fail_usage("gradients: the loss must be a float scalar of the main block, but " +
               ir::name_in_text(loss) + " is " + loss->type.str() +
               "\n  hint   take the mean of the per-example losses: mean(loss)");
  }
}

void differentiate(const ir::Op& op, const ValueSet& depends, GradientMap& gradients) {
  bool reached = false, needed = false;
  for (const auto& result : op.results) reached = reached || gradients.contains(result.get());
  for (const ir::Value* operand : op.operands) needed = needed || depends.contains(operand);
  if (!reached || !needed || op.has(ir::Trait::not_differentiable)) return;
  if (!op.def->gradient) {
    fail_usage(op.name() + ": has no gradient, but the loss depends on it\n  layer  " +
               op.location.str() + "\n  hint   wrap its result in stop_gradient()");
  }
  LocationGuard guard(*op.parent->program, op.location);
  Context context(op, depends, gradients);
  op.def->gradient(context);
}

}  // namespace

std::vector<ir::Value*> gradients(ir::Value* loss, const std::vector<ir::Value*>& wanted) {
  check_loss(loss);
  ir::Program& program = *loss->program;
  const ValueSet depends = dependents(program.main(), wanted);
  std::vector<const ir::Op*> forward;
  for (const auto& op : program.main().ops) forward.push_back(op.get());

  const ir::Location origin = loss->producer != nullptr ? loss->producer->location : ir::Location{};
  GradientMap map;
  if (depends.contains(loss)) {
    map[loss] = trireme::Value(filled(program, loss->type, 1.0, origin));
    for (auto op = forward.rbegin(); op != forward.rend(); ++op) differentiate(**op, depends, map);
  }
  std::vector<ir::Value*> result;
  for (const ir::Value* value : wanted) {
    const auto found = map.find(value);
    result.push_back(found != map.end() ? found->second.get()
                                        : filled(program, value->type, 0.0, origin));
  }
  return result;
}

}  // namespace trireme::transforms
