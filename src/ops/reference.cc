#include "ops/reference.h"

#include <unordered_map>
#include <unordered_set>

#include "base/error.h"

namespace trireme::ops {
namespace {

class Evaluation {
 public:
  Evaluation(const ir::Program& program, const RefTensors& inputs, RefTensors& parameters,
             const EvaluateOptions& options)
      : program_(program), inputs_(inputs), parameters_(parameters), options_(options) {
    for (const auto& argument : program.main().arguments) bind_symbols(*argument);
  }

  std::vector<RefTensor> run(const std::vector<const ir::Value*>& wanted) {
    find_needed(wanted);
    for (const auto& op : program_.main().ops) {
      if (needed_.contains(op.get())) run_op(*op);
    }
    std::vector<RefTensor> results;
    for (const ir::Value* value : wanted) results.push_back(held_by(value));
    return results;
  }

 private:
  void bind_symbols(const ir::Value& input) {
    const auto found = inputs_.find(input.name);
    if (found == inputs_.end()) return;
    const std::vector<std::int64_t>& shape = found->second.shape;
    check(shape.size() == input.type.shape.size(), input);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::optional<std::string> symbol = input.type.shape[i].symbol();
      if (!symbol) continue;
      const auto [size, is_new] = sizes_.emplace(*symbol, shape[i]);
      check(is_new || size->second == shape[i], input);
    }
  }

  static void check(bool fits, const ir::Value& value) {
    if (!fits) {
      fail_usage("evaluate: what is given for " + value.name + " does not fit " + value.type.str());
    }
  }

  void find_needed(const std::vector<const ir::Value*>& wanted) {
    std::unordered_set<const ir::Value*> values(wanted.begin(), wanted.end());
    const auto& ops = program_.main().ops;
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
      bool needed = (*op)->has(ir::Trait::side_effect);
      for (const auto& result : (*op)->results) needed = needed || values.contains(result.get());
      if (!needed) continue;
      needed_.insert(op->get());
      values.insert((*op)->operands.begin(), (*op)->operands.end());
    }
  }

  const RefTensor& held_by(const ir::Value* value) const {
    if (value->kind == ir::ValueKind::result) return results_.at(value);
    const RefTensors& from = value->kind == ir::ValueKind::parameter ? parameters_ : inputs_;
    const auto found = from.find(value->name);
    if (found == from.end()) fail_usage("evaluate: nothing is given for " + value->name);
    check(found->second.shape == trireme::evaluate(value->type.shape, sizes_), *value);
    return found->second;
  }

  void run_op(const ir::Op& op) {
    if (op.name() == "when_training") {
      results_[op.result()] = held_by(op.operands[options_.training ? 0 : 1]);
      return;
    }
    const Op& definition = Catalog::of(op);
    if (!definition.reference) fail_usage("evaluate: " + op.name() + " has no reference loop");
    Reference reference{op, {}, {}, options_.run_seed};
    for (const ir::Value* operand : op.operands) reference.operands.push_back(&held_by(operand));
    if (op.has(ir::Trait::side_effect)) {
      held_by(op.operands[0]);  // that it is given at all
      reference.results.push_back(&parameters_.at(op.operands[0]->name));
      definition.reference(reference);
      return;
    }
    for (const auto& result : op.results) {
      RefTensor& tensor = results_[result.get()];
      tensor = RefTensor(trireme::evaluate(result->type.shape, sizes_));
      reference.results.push_back(&tensor);
    }
    definition.reference(reference);
  }

  const ir::Program& program_;
  const RefTensors& inputs_;
  RefTensors& parameters_;
  const EvaluateOptions& options_;
  SymbolSizes sizes_;
  std::unordered_set<const ir::Op*> needed_;
  std::unordered_map<const ir::Value*, RefTensor> results_;
};

}  // namespace

std::vector<RefTensor> evaluate(const ir::Program& program, const RefTensors& inputs,
                                RefTensors& parameters, const std::vector<const ir::Value*>& wanted,
                                const EvaluateOptions& options) {
  return Evaluation(program, inputs, parameters, options).run(wanted);
}

}  // namespace trireme::ops
