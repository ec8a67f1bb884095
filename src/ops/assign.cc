#include "ops/common.h"
#include "ops/flops.h"

namespace trireme::ops {
namespace {

std::vector<Type> assign_type(const TypeContext& context) {
  const Type &parameter = context.operands[0], &value = context.operands[1];
  require(parameter == value,
          "the parameter is " + parameter.str() + ", but the assigned value is " + value.str());
  return {};
}

}  // namespace

Op assign() {
  Op op("assign(parameter, value) -> ()");
  op.doc =
      "Sets a parameter to a value of the same type.\n"
      "Ops before it read the old value, and ops after it the new one.\n"
      "The first operand must be a parameter.";
  op.traits = Trait::side_effect | Trait::not_differentiable;
  op.flops = no_flops();
  op.type = assign_type;
  op.lower = [](Lowering& l) { return l.load(1, l.index()); };  // the new value of the parameter
  // evaluate() passes the new value of the parameter as a result.
  op.reference = [](const Reference& r) { r.results[0]->data = r.operands[1]->data; };
  op.torch_reference = "x[1]";
  op.samples = elementwise_samples(2);
  return op;
}

}  // namespace trireme::ops
