#include "ops/recurrence.h"

#include <unordered_set>

namespace trireme::ops {
namespace {

void require_closed(const ir::Block& block) {
  std::unordered_set<const ir::Value*> known;
  for (const auto& argument : block.arguments) known.insert(argument.get());
  const auto check = [&](const ir::Value* value) {
    require(known.contains(value),
            "a block of this op reads " + ir::name_in_text(value) + ", which is no argument of it");
  };
  for (const auto& op : block.ops) {
    for (const ir::Value* operand : op->operands) check(operand);
    for (const auto& result : op->results) known.insert(result.get());
  }
  for (const ir::Value* result : block.results) check(result);
}

std::string both(const ir::Value& argument, const Type& operand) {
  return "%" + argument.name + " : " + argument.type.str() + " and " + operand.str();
}

}  // namespace

std::size_t count_of(const Attributes& attributes, const char* name, std::size_t most) {
  const auto count = ir::get<std::int64_t>(attributes, name);
  require(count >= 0 && static_cast<std::uint64_t>(count) <= most,
          "`" + std::string(name) + "` is " + std::to_string(count) + ", but there are " +
              std::to_string(most) + " operands for it");
  return static_cast<std::size_t>(count);
}

void require_blocks(const TypeContext& c, std::size_t count) {
  require(c.blocks.size() == count, "it needs " + std::to_string(count) + " blocks and has " +
                                        std::to_string(c.blocks.size()));
  for (const ir::Block* block : c.blocks) require_closed(*block);
}

void require_arguments(const ir::Block& block, const std::vector<Type>& types, const char* what) {
  require(block.arguments.size() == types.size(),
          std::string(what) + " has " + std::to_string(block.arguments.size()) + " arguments for " +
              std::to_string(types.size()) + " values");
  for (std::size_t i = 0; i < types.size(); ++i) {
    require(block.arguments[i]->type == types[i],
            std::string(what) +
                ": an argument does not fit its value: " + both(*block.arguments[i], types[i]));
  }
}

std::vector<Type> recurrence_types(const TypeContext& c, const Dim& batch, const Dim& rows) {
  constexpr std::size_t first = 1;
  require_blocks(c, 1);
  const ir::Block& body = *c.blocks[0];
  const ir::StepDims dims = ir::step_dims(c.operands, body, c.attributes, batch, rows, first);
  const std::size_t memories = count_of(c.attributes, "memories", body.arguments.size());
  require(body.results.size() >= memories, "a memory of the step is not updated");
  std::vector<Type> types;
  for (std::size_t i = 0; i < body.results.size(); ++i) {
    const Type& made = body.results[i]->type;
    if (i < memories) {
      const Type& memory = body.arguments[i]->type;
      require(made == memory,
              "a memory changes its shape: it is " + memory.str() + " and is updated with " +
                  made.str(),
              "what a memory is updated with has the memory's own dtype and shape");
      types.push_back(c.operands[first + i]);
      continue;
    }
    require(made.rank() > 0 && dims.is_inside(made.shape[0]),
            "an output of the step has no row for each sequence: " + made.str());
    types.push_back(made);
    types.back().splits_of.clear();
    types.back().shape[0] = dims.outside(made.shape[0], true);
  }
  return types;
}

}  // namespace trireme::ops
