#include "ops/ctc.h"
#include "ops/flops.h"

namespace trireme::ops {
namespace {

void ctc_gradient_reference(const Reference& r) {
  const auto classes = static_cast<std::size_t>(r.operands[0]->shape[1]);
  const std::vector<double> totals = ctc_totals(r);
  for_each_ctc_alignment(r, [&](std::size_t i, const std::vector<std::size_t>& alignment,
                                double logarithm) {
    const auto begin = static_cast<std::size_t>(r.operands[1]->data[i]);
    for (std::size_t t = 0; t < alignment.size(); ++t) {
      r.results[0]->data[(begin + t) * classes + alignment[t]] -= std::exp(logarithm - totals[i]);
    }
  });
}

}  // namespace

Op ctc_gradient() {
  Op op("ctc_gradient(log_probabilities, splits, labels, label_splits; blank: int = 0)");
  op.doc =
      "The gradient of the sum of ctc() with respect to its log-probabilities, "
      "[rows, classes].\n"
      "Each element is minus the share of the alignments that assign this class to this row.\n"
      "The shares are weighted by the probabilities of the alignments.\n"
      "The gradient of a sequence without an alignment is zero.\n"
      "It is not differentiable.";
  op.traits = bits(Trait::library);
  op.no_gradient_reason = "ctc is differentiated only once";
  op.flops = no_flops();
  op.type = [](const TypeContext& c) {
    ctc_type(c);
    return std::vector<Type>{c.operands[0]};
  };
  op.library_kernel = "ctc_gradient";
  op.reference = ctc_gradient_reference;
  op.torch_reference = "formulas.ctc_gradient(*x, blank)";
  op.samples = ctc_samples();
  return op;
}

}  // namespace trireme::ops
