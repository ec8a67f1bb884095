#include "ops/recurrence.h"

namespace trireme::ops {
namespace {

std::vector<Type> type(const TypeContext& c) {
  require_blocks(c, 1);
  const std::size_t carried = count_of(c.attributes, "carried", c.operands.size());
  const std::size_t sequences = count_of(c.attributes, "sequences", c.operands.size() - carried);
  const Shape& length = ir::get<Shape>(c.attributes, "length");
  require(length.size() == 1, "scan: `length` is one size, not " + str(length));
  std::vector<Type> arguments = c.operands;
  for (std::size_t i = carried; i < carried + sequences; ++i) {
    Type& type = arguments[i];
    require(type.rank() > 0 && type.shape[0] == length[0], "scan takes " + length[0].str() +
                                                               " steps, but " + c.operand_texts[i] +
                                                               " does not have that many");
    type.shape.erase(type.shape.begin());
    type.splits_of.clear();
  }
  const ir::Block& body = *c.blocks[0];
  require_arguments(body, arguments, "the step");
  require(body.results.size() >= carried, "a carried value has no successor");
  std::vector<Type> types;
  for (std::size_t i = 0; i < body.results.size(); ++i) {
    Type made = body.results[i]->type;
    if (i < carried) {
      require(made == c.operands[i], "a carried value changes its type: from " +
                                         c.operands[i].str() + " to " + made.str());
    } else {
      made.shape.insert(made.shape.begin(), length[0]);
      made.splits_of.clear();
    }
    types.push_back(std::move(made));
  }
  return types;
}

}  // namespace

Op scan() {
  Op op(
      "scan(values...; length: shape, carried: int, sequences: int = 0, reverse: bool = false) -> "
      "results...");
  op.doc =
      "`length` steps, each its block run once. The values are first those carried from step to "
      "step; then "
      "those of which step i takes row i of axis 0; then all others. The block returns the carried "
      "values "
      "anew, then outputs. Results: the carried values after the last step, and the outputs of all "
      "steps, "
      "[length, ...]. With `reverse` from the last row to the first. Made by trireme::scan.";
  op.traits = bits(Trait::library);
  op.type = type;
  op.no_twin_reason =
      "it holds blocks; src/session/control_test.cc compares it with a plain interpreter";
  return op;
}

}  // namespace trireme::ops
