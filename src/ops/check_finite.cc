#include "base/error.h"
#include "ops/common.h"
#include "ops/flops.h"

namespace trireme::ops {
namespace {

void check_finite_reference(const Reference& r) {
  for (const double x : r.operands[0]->data) {
    if (!std::isfinite(x)) fail(ErrorKind::numeric, "check_finite: a number is not finite");
  }
  r.results[0]->data = r.operands[0]->data;
}

}  // namespace

Op check_finite() {
  Op op("check_finite(x; what: string = \"a number\")");
  op.doc =
      "Returns the numbers unchanged after checking that all are finite.\n"
      "x is f32 or f64.\n"
      "NaN or infinity is Error(numeric) at run time, with the layer and the line.\n"
      "The error says `what` is not finite.\n"
      "The result depends on the check, so a parameter that is assigned from it does not change.";
  op.traits = bits(Trait::library);
  op.flops = no_flops();
  op.type = same_type(Numbers::floats);
  op.library_kernel = "check_finite";
  op.reference = check_finite_reference;
  op.gradient = [](GradientContext& c) { c.accumulate(0, c.gradient()); };
  op.torch_reference = "x[0] * 1";
  op.samples = elementwise_samples(1);
  return op;
}

}  // namespace trireme::ops
