#include "ops/ctc.h"

namespace trireme::ops {
namespace {

void reference(const Reference& r) {
  const bool zero_infinity = ir::get<bool>(r.op.attributes, "zero_infinity");
  std::vector<double>& loss = r.results[0]->data;
  const std::vector<double> totals = ctc_totals(r);
  for (std::size_t i = 0; i < loss.size(); ++i) {
    loss[i] = zero_infinity && std::isinf(totals[i]) ? 0 : -totals[i];
  }
}

void gradient(GradientContext& c) {
  if (!c.wants(0)) return;
  const Value x = c.operand(0);
  const std::int64_t blank = ir::get<std::int64_t>(c.op().attributes, "blank");
  const Value alone = ctc_gradient(x, c.operand(1), c.operand(2), c.operand(3), {.blank = blank});
  const Value by_row = gather(c.gradient(), segment_ids(c.operand(1)));
  c.give(0, alone * broadcast(by_row, {.shape = x.shape(), .axes = {0}}));
}

}  // namespace

Op ctc() {
  Op op(
      "ctc(log_probabilities, splits, labels, label_splits; blank: int = 0, zero_infinity: bool = "
      "false)");
  op.doc =
      "For each sequence the negative logarithm of the probability of its labels, the sum over all "
      "their "
      "alignments with its rows: connectionist temporal classification, Graves et al. 2006. "
      "`log_probabilities` are [rows, classes], as log_softmax() makes them, `labels` i64; "
      "`splits` "
      "and "
      "`label_splits` split both into as many sequences. An alignment gives each row a class; read "
      "with "
      "equal neighbours as one and without the class `blank`, it is the labels. Where there is "
      "none, "
      "since there are too few rows, the result is infinity, or 0 with `zero_infinity`, and the "
      "gradient 0 in both cases. Without rows and labels it is 0. A label that is `blank` or "
      "outside [0, "
      "classes) is Error(data) when it runs. Sums are made of logarithms in double precision.";
  op.traits = bits(Trait::library);
  op.type = [](const TypeContext& c) { return std::vector<Type>{ctc_type(c)}; };
  op.library_kernel = "ctc";
  op.reference = reference;
  op.gradient = gradient;
  op.twin = "formulas.ctc(*x, blank, zero_infinity)";
  op.samples = ctc_samples();
  for (Sample& sample : op.samples) sample.attributes.push_back({"zero_infinity", true});
  for (Sample sample : ctc_samples()) {
    sample.check_gradient = false;  // differences of infinities are none
    op.samples.push_back(sample);
  }
  return op;
}

}  // namespace trireme::ops
