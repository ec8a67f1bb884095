#include "ops/ctc.h"
#include "ops/flops.h"

namespace trireme::ops {
namespace {

void ctc_reference(const Reference& r) {
  const bool zero_infinity = get_attribute<bool>(r.op.attributes, "zero_infinity");
  std::vector<double>& loss = r.results[0]->data;
  const std::vector<double> totals = ctc_totals(r);
  for (std::size_t i = 0; i < loss.size(); ++i) {
    loss[i] = zero_infinity && std::isinf(totals[i]) ? 0 : -totals[i];
  }
}

void ctc_gradient_rule(GradientContext& c) {
  if (!c.needs_gradient(0)) return;
  const Value x = c.operand(0);
  const std::int64_t blank = get_attribute<std::int64_t>(c.op().attributes, "blank");
  const Value alone = ctc_gradient(x, c.operand(1), c.operand(2), c.operand(3), {.blank = blank});
  const Value by_row = gather(c.gradient(), segment_ids(c.operand(1)));
  c.accumulate(0, alone * broadcast(by_row, {.shape = x.shape(), .axes = {0}}));
}

}  // namespace

Op ctc() {
  Op op(
      "ctc(log_probabilities, splits, labels, label_splits; blank: int = 0, zero_infinity: bool = "
      "false)");
  op.doc =
      "Connectionist temporal classification (Graves et al. 2006).\n"
      "For each sequence, the negative logarithm of the probability of its labels.\n"
      "That probability is the sum over all alignments of the labels with the rows of the "
      "sequence.\n"
      "`log_probabilities` is [rows, classes], the result of log_softmax(); `labels` is i64.\n"
      "`splits` and `label_splits` split both into the same number of sequences.\n"
      "An alignment assigns a class to each row.\n"
      "Merging equal neighbors and then removing the class `blank` must yield the labels.\n"
      "If a sequence has too few rows for any alignment, its result is infinity.\n"
      "With `zero_infinity` the result is 0 instead; the gradient is 0 in both cases.\n"
      "A sequence without rows and labels has the result 0.\n"
      "A label that is `blank` or outside [0, classes) is Error(data) at run time.\n"
      "Sums are computed from logarithms in double precision.";
  op.traits = bits(Trait::library);
  op.flops = no_flops();
  op.type = [](const TypeContext& c) { return std::vector<Type>{ctc_type(c)}; };
  op.library_kernel = "ctc";
  op.reference = ctc_reference;
  op.gradient = ctc_gradient_rule;
  op.torch_reference = "formulas.ctc(*x, blank, zero_infinity)";
  op.samples = ctc_samples();
  for (Sample& sample : op.samples) sample.attributes.push_back({"zero_infinity", true});
  for (Sample sample : ctc_samples()) {
    sample.check_gradient = false;  // finite differences of infinity are not defined
    op.samples.push_back(sample);
  }
  return op;
}

}  // namespace trireme::ops
