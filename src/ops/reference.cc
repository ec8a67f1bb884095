#include "ops/reference.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/feeds.h"
#include "ops/philox.h"
#include "ops/reference_blocks.h"

namespace trireme::ops {
namespace {

class Evaluation {
 public:
  Evaluation(const ir::Program& program, const RefTensors& inputs, RefTensors& parameters,
             const EvaluateOptions& options)
      : program_(program),
        inputs_(inputs),
        parameters_(parameters),
        options_(options),
        seed_(options.run_seed) {
    for (const auto& argument : program.main().arguments) bind_symbols(*argument);
  }

  std::vector<RefTensor> run(const std::vector<const ir::Value*>& wanted) {
    find_needed(wanted);
    for (const auto& op : program_.main().ops) {
      if (needed_.contains(op.get())) run_op(*op);
    }
    std::vector<RefTensor> results;
    for (const ir::Value* value : wanted) results.push_back(value_of(value));
    return results;
  }

 private:
  void bind_symbols(const ir::Value& input) {
    const auto found = inputs_.find(input.name);
    if (found == inputs_.end()) return;
    const std::vector<std::int64_t>& shape = found->second.shape;
    check(shape.size() == input.type.shape.size(), input);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const auto implied = implied_size(input.type.shape[i], shape[i]);
      if (!implied) continue;
      const auto [size, is_new] = sizes_.emplace(*implied);
      check(is_new || size->second == implied->second, input);
    }
  }

  static void check(bool fits, const ir::Value& value) {
    if (!fits) {
      fail_usage("evaluate: the value for " + value.name + " does not match " + value.type.str());
    }
  }

  void find_needed(const std::vector<const ir::Value*>& wanted) {
    std::unordered_set<const ir::Value*> values(wanted.begin(), wanted.end());
    const auto& ops = program_.main().ops;
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
      bool needed = (*op)->has(ir::Trait::side_effect) || (*op)->has(ir::Trait::makes_splits);
      for (const auto& result : (*op)->results) needed = needed || values.contains(result.get());
      if (!needed) continue;
      needed_.insert(op->get());
      values.insert((*op)->operands.begin(), (*op)->operands.end());
    }
  }

  const RefTensor& value_of(const ir::Value* value) const {
    const auto computed = results_.find(value);  // of the main block or the current nested block
    if (computed != results_.end()) return computed->second;
    const RefTensors& from = value->kind == ir::ValueKind::parameter ? parameters_ : inputs_;
    const auto found = from.find(value->name);
    if (found == from.end()) fail_usage("evaluate: there is no value for " + value->name);
    check(found->second.shape == trireme::evaluate(value->type.shape, sizes_), *value);
    return found->second;
  }

  void run_op(const ir::Op& op) {
    if (op.name() == "when_training") {
      results_[op.result()] = value_of(op.operands[options_.training ? 0 : 1]);
      return;
    }
    if (!op.blocks.empty()) {
      run_blocks(op);
      return;
    }
    const Op& definition = Catalog::of(op);
    if (!definition.reference) fail_usage("evaluate: " + op.name() + " has no reference loop");
    Reference reference{op, {}, {}, seed_, sizes_};
    for (const ir::Value* operand : op.operands) reference.operands.push_back(&value_of(operand));
    if (op.has(ir::Trait::side_effect)) {
      value_of(op.operands[0]);  // checks that the parameter is given
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
    if (options_.noise != 0 && !op.has(ir::Trait::view) && !op.has(ir::Trait::generator))
      disturb(op);
    if (op.has(ir::Trait::makes_splits)) {
      const RefTensor& splits = results_.at(op.result());
      if (const auto rows = Dim::parse(op.result()->type.splits_of)->symbol()) {
        sizes_[*rows] = static_cast<std::int64_t>(splits.data.back());
      }
    }
  }

  void disturb(const ir::Op& op) {
    for (const auto& result : op.results) {
      if (!is_float(result->type.dtype)) continue;
      for (double& x : results_.at(result.get()).data) {
        const double unit =
            uniform_number(random_words(options_.noise_seed, 3, draws_++), DType::f64);
        x *= 1 + options_.noise * (2 * unit - 1);
      }
    }
  }

  void run_blocks(const ir::Op& op) {
    std::vector<const RefTensor*> operands;
    for (const ir::Value* operand : op.operands) operands.push_back(&value_of(operand));
    const SymbolSizes sizes = sizes_;
    std::vector<RefTensor> results =
        run_with_blocks(op, operands, sizes, seed_,
                        [this](const ir::Block& block, std::vector<RefTensor> arguments,
                               const SymbolSizes& inside, std::uint64_t seed) {
                          return run_block(block, std::move(arguments), inside, seed);
                        });
    for (std::size_t i = 0; i < results.size(); ++i) {
      results_[op.results[i].get()] = std::move(results[i]);
    }
  }

  std::vector<RefTensor> run_block(const ir::Block& block, std::vector<RefTensor> arguments,
                                   const SymbolSizes& inside, std::uint64_t seed) {
    SymbolSizes sizes = std::exchange(sizes_, inside);
    const std::uint64_t outer_seed = std::exchange(seed_, seed);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      results_[block.arguments[i].get()] = std::move(arguments[i]);
    }
    for (const auto& op : block.ops) run_op(*op);
    std::vector<RefTensor> results;
    for (const ir::Value* value : block.results) results.push_back(value_of(value));
    sizes_ = std::move(sizes);
    seed_ = outer_seed;
    return results;
  }

  const ir::Program& program_;
  const RefTensors& inputs_;
  RefTensors& parameters_;
  const EvaluateOptions& options_;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;  // of noise
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
