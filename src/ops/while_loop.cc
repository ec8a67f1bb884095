#include "ops/recurrence.h"

namespace trireme::ops {
namespace {

std::vector<Type> while_loop_type(const TypeContext& c) {
  require_blocks(c, 2);
  const std::size_t carried = count_of(c.attributes, "carried", c.operands.size());
  require(get_attribute<std::int64_t>(c.attributes, "limit") > 0,
          "`limit`, the maximum number of steps, must be positive");
  require_arguments(*c.blocks[0], c.operands, "the condition");
  require_arguments(*c.blocks[1], c.operands, "the body");
  require(
      c.blocks[0]->results.size() == 1 && c.blocks[0]->results[0]->type == Type{DType::boolean, {}},
      "the condition must be one boolean", "reduce it with all() or any()");
  require(c.blocks[1]->results.size() == carried,
          "the body returns " + std::to_string(c.blocks[1]->results.size()) + " values for " +
              std::to_string(carried) + " carried values");
  std::vector<Type> types;
  for (std::size_t i = 0; i < carried; ++i) {
    types.push_back(c.operands[i]);
    const Type& next = c.blocks[1]->results[i]->type;
    require(next == types[i],
            "a carried value changes its type: from " + types[i].str() + " to " + next.str());
  }
  types.push_back({DType::i64, {}});
  return types;
}

}  // namespace

Op while_loop() {
  Op op("while_loop(values...; carried: int, limit: int = 1000000) -> results...");
  op.doc =
      "While the first block returns true, the second block computes new carried values.\n"
      "Both blocks get all values; the first `carried` of them change, and the others do not.\n"
      "The results are the carried values at the end and the number of steps, an i64.\n"
      "More than `limit` steps are Error(data) at run time.\n"
      "trireme::while_loop builds it.";
  op.traits = bits(Trait::library);
  op.control = ir::ControlFlow::while_loop;
  op.type = while_loop_type;
  op.no_torch_reason =
      "it holds blocks; tests/nn/control_test.cc compares it with a plain interpreter";
  return op;
}

}  // namespace trireme::ops
