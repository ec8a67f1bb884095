#include "ops/common.h"

namespace trireme::ops {
namespace {

std::vector<Type> type(const TypeContext& context) {
  const Type &parameter = context.operands[0], &value = context.operands[1];
  require(parameter == value, "the parameter is " + parameter.str() +
                                  ", but the value to be assigned is " + value.str());
  return {};
}

}  // namespace

Op assign() {
  Op op("assign(parameter, value) -> ()");
  op.doc =
      "Sets a parameter. Ops that stand before it read the old value, ops behind it the new one. "
      "The first operand must be a parameter.";
  op.traits = Trait::side_effect | Trait::not_differentiable;
  op.type = type;
  op.lower = [](Lowering& l) { return l.load(1, l.index()); };  // what the parameter becomes
  // evaluate() hands the parameter's new value in as a result.
  op.reference = [](const Reference& r) { r.results[0]->data = r.operands[1]->data; };
  op.twin = "x[1]";
  op.samples = elementwise_samples(2);
  return op;
}

}  // namespace trireme::ops
