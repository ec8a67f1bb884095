#include "ops/recurrence.h"

namespace trireme::ops {
namespace {

std::vector<Type> cond_type(const TypeContext& c) {
  require_blocks(c, 2);
  const Type& condition = c.operands[0];
  require(condition.dtype == DType::boolean && condition.rank() == 0,
          "the condition must be one boolean, not " + c.operand_texts[0],
          "reduce it with all() or any(), or use if_else() for a condition per row");
  const std::vector<Type> values(c.operands.begin() + 1, c.operands.end());
  require_arguments(*c.blocks[0], values, "the block for true");
  require_arguments(*c.blocks[1], values, "the block for false");
  std::vector<Type> types;
  for (const ir::Value* result : c.blocks[0]->results) types.push_back(result->type);
  require(c.blocks[1]->results.size() == types.size(),
          "the blocks return different numbers of values");
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Type& other = c.blocks[1]->results[i]->type;
    require(other == types[i],
            "the blocks return different types: " + types[i].str() + " and " + other.str());
  }
  return types;
}

}  // namespace

Op cond() {
  Op op("cond(condition, values...) -> results...");
  op.doc =
      "The results of the first block if the condition is true, otherwise those of the second "
      "block.\n"
      "The condition is one boolean.\n"
      "Only the selected block runs; both take `values` as arguments.\n"
      "trireme::cond builds it.";
  op.traits = bits(Trait::library);
  op.control = ir::ControlFlow::cond;
  op.type = cond_type;
  op.no_torch_reason =
      "it holds blocks; tests/nn/control_test.cc compares it with a plain interpreter";
  return op;
}

}  // namespace trireme::ops
