#include "ops/recurrence.h"

#include <unordered_set>

namespace trireme::ops {
namespace {

void require_closed(const ir::Block& block) {
  std::unordered_set<const ir::Value*> known;
  for (const auto& argument : block.arguments) known.insert(argument.get());
  const auto check = [&](const ir::Value* value) {
    require(known.contains(value), "a block of this op reads " + ir::name_in_text(value) +
                                       ", which is not an argument of it");
  };
  for (const auto& op : block.ops) {
    for (const ir::Value* operand : op->operands) check(operand);
    for (const auto& result : op->results) known.insert(result.get());
  }
  for (const ir::Value* result : block.results) check(result);
}

std::string type_pair_text(const ir::Value& argument, const Type& operand) {
  return "%" + argument.name + " : " + argument.type.str() + " and " + operand.str();
}

}  // namespace

std::size_t count_of(const Attributes& attributes, const char* name, std::size_t max_count) {
  const auto count = get_attribute<std::int64_t>(attributes, name);
  require(count >= 0 && static_cast<std::uint64_t>(count) <= max_count,
          "`" + std::string(name) + "` is " + std::to_string(count) + ", but only " +
              std::to_string(max_count) + " operands are left for it");
  return static_cast<std::size_t>(count);
}

void require_blocks(const TypeContext& c, std::size_t count) {
  require(c.blocks.size() == count, "it needs " + std::to_string(count) + " blocks, but has " +
                                        std::to_string(c.blocks.size()));
  for (const ir::Block* block : c.blocks) require_closed(*block);
}

void require_arguments(const ir::Block& block, const std::vector<Type>& types, const char* what) {
  require(block.arguments.size() == types.size(),
          std::string(what) + " has " + std::to_string(block.arguments.size()) + " arguments for " +
              std::to_string(types.size()) + " values");
  for (std::size_t i = 0; i < types.size(); ++i) {
    require(block.arguments[i]->type == types[i],
            std::string(what) + ": the type of an argument does not match its value: " +
                type_pair_text(*block.arguments[i], types[i]));
  }
}

std::vector<Type> recurrence_types(const TypeContext& c, const Dim& batch, const Dim& rows) {
  constexpr std::size_t first = 1;
  require_blocks(c, 1);
  const ir::Block& body = *c.blocks[0];
  const ir::StepDims dims = ir::step_dims(c.operands, body, c.attributes, batch, rows, first);
  const std::size_t states = count_of(c.attributes, "states", body.arguments.size());
  require(body.results.size() >= states, "a state of the step is not updated");
  std::vector<Type> types;
  for (std::size_t i = 0; i < body.results.size(); ++i) {
    const Type& output = body.results[i]->type;
    if (i < states) {
      const Type& state = body.arguments[i]->type;
      require(output == state,
              "a state changes its type: it is " + state.str() + ", but is updated with " +
                  output.str(),
              "the new value of a state must have the state's dtype and shape");
      types.push_back(c.operands[first + i]);
      continue;
    }
    require(output.rank() > 0 && dims.is_inside(output.shape[0]),
            "an output of the step has no row for each sequence: " + output.str());
    types.push_back(output);
    types.back().splits_of.clear();
    types.back().shape[0] = dims.outside(output.shape[0], true);
  }
  return types;
}

}  // namespace trireme::ops
