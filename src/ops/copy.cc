#include "ops/common.h"

namespace trireme::ops {

Op copy() {
  Op op("copy(x)");
  op.doc =
      "The elements of x in memory of their own.\n"
      "The compiler makes it of a parameter whose value is needed after it was assigned.";
  op.traits = Trait::elementwise | Trait::internal;
  op.type = same_type(Numbers::any);
  op.lower = [](Lowering& l) { return l.load(0, l.index()); };
  op.reference = [](const Reference& r) { r.results[0]->data = r.operands[0]->data; };
  op.gradient = [](GradientContext& c) { c.accumulate(0, c.gradient()); };
  op.torch_reference = "x[0]";
  op.samples = elementwise_samples(1);
  return op;
}

}  // namespace trireme::ops
