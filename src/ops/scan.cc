#include "ops/recurrence.h"

namespace trireme::ops {
namespace {

std::vector<Type> scan_type(const TypeContext& c) {
  require_blocks(c, 1);
  const std::size_t carried = count_of(c.attributes, "carried", c.operands.size());
  const std::size_t sequences = count_of(c.attributes, "sequences", c.operands.size() - carried);
  const Shape& length = get_attribute<Shape>(c.attributes, "length");
  require(length.size() == 1, "scan: `length` must be one size, not " + str(length));
  std::vector<Type> arguments = c.operands;
  for (std::size_t i = carried; i < carried + sequences; ++i) {
    Type& type = arguments[i];
    require(type.rank() > 0 && type.shape[0] == length[0], "scan runs " + length[0].str() +
                                                               " steps, but " + c.operand_texts[i] +
                                                               " has another number of rows");
    type.shape.erase(type.shape.begin());
    type.splits_of.clear();
  }
  const ir::Block& body = *c.blocks[0];
  require_arguments(body, arguments, "the step");
  require(body.results.size() >= carried, "the step does not return all carried values");
  std::vector<Type> types;
  for (std::size_t i = 0; i < body.results.size(); ++i) {
    Type result = body.results[i]->type;
    if (i < carried) {
      require(result == c.operands[i], "a carried value changes its type: from " +
                                           c.operands[i].str() + " to " + result.str());
    } else {
      result.shape.insert(result.shape.begin(), length[0]);
      result.splits_of.clear();
    }
    types.push_back(std::move(result));
  }
  return types;
}

}  // namespace

Op scan() {
  Op op(
      "scan(values...; length: shape, carried: int, sequences: int = 0, reverse: bool = false) -> "
      "results...");
  op.doc =
      "Runs its block `length` times.\n"
      "The values are, in this order, carried values, sequences and others.\n"
      "Carried values pass from step to step.\n"
      "Of each sequence, step i gets row i of axis 0; others are passed unchanged.\n"
      "The block returns the new carried values, followed by outputs.\n"
      "The results are the carried values after the last step and the outputs of all steps, "
      "[length, ...].\n"
      "With `reverse`, it runs from the last row to the first.\n"
      "trireme::scan builds it.";
  op.traits = bits(Trait::library);
  op.control = ir::ControlFlow::scan;
  op.type = scan_type;
  op.no_torch_reason =
      "it holds blocks; tests/nn/control_test.cc compares it with a plain interpreter";
  return op;
}

}  // namespace trireme::ops
