#include <cmath>

#include "ops/flops.h"
#include "ops/segments.h"

namespace trireme::ops {
namespace {

void segment_max_reference(const Reference& r) {
  const std::vector<double>& x = r.operands[0]->data;
  const std::vector<double>& splits = r.operands[1]->data;
  RefTensor& y = *r.results[0];
  RefTensor& position = *r.results[1];
  const std::size_t columns = y.data.size() / std::max<std::size_t>(1, splits.size() - 1);
  for (std::size_t i = 0; i + 1 < splits.size(); ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      double& best = y.data[i * columns + j];
      double& where = position.data[i * columns + j];
      where = -1;
      for (double row = splits[i]; row < splits[i + 1]; ++row) {
        const double value = x[static_cast<std::size_t>(row) * columns + j];
        if (where >= 0 && !(value > best) && !(std::isnan(value) && !std::isnan(best))) continue;
        best = value;
        where = row;
      }
    }
  }
}

void segment_max_gradient_rule(GradientContext& c) {
  if (!c.needs_gradient(0)) return;
  const Value x = c.operand(0);
  const Value ids = segment_ids(c.operand(1));
  const Attributes counted = {{"axis", std::int64_t{0}}, {"shape", x.shape()}};
  const Value row = emit_in(*x.get()->program, "iota", counted, SourceLocation::current()).front();
  const Value chosen = equal(gather(c.result(1), ids), row);
  c.accumulate(0, trireme::where(chosen, gather(c.gradient(0), ids), 0.0));
}

}  // namespace

Op segment_max() {
  Op op("segment_max(x, splits) -> y, position");
  op.doc =
      "For each sequence and column, the largest element among its rows, and the i64 row that "
      "holds it.\n"
      "Rows are counted over all sequences; of equal elements the first one is selected.\n"
      "x is [rows, ...], and the results are [sequences, ...].\n"
      "For a sequence without rows the result is 0 and the row is -1.\n"
      "NaN counts as larger than every number.\n"
      "x is i32, i64, f32 or f64.";
  op.traits = Trait::library | Trait::sequences;
  op.flops = flop_per_element_of(0);
  op.type = [](const TypeContext& c) {
    const Type y = type_by_sequence(c, Numbers::common);
    return std::vector<Type>{y, {DType::i64, y.shape}};
  };
  op.library_kernel = "segment_max";
  op.reference = segment_max_reference;
  op.gradient = segment_max_gradient_rule;
  op.torch_reference =
      "(lambda s: (torch.stack([p.amax(0) if len(p) else torch.zeros(x[0].shape[1:], "
      "dtype=x[0].dtype) for p in s]) if s else x[0][:0], "
      "torch.stack([p.argmax(0) + a if len(p) else torch.full(x[0].shape[1:], -1) for p, a in "
      "zip(s, x[1])]) if s else torch.zeros_like(x[0][:0], dtype=torch.int64)))"
      "([x[0][a:b] for a, b in zip(x[1].tolist(), x[1].tolist()[1:])])";
  op.samples = segment_samples();
  return op;
}

}  // namespace trireme::ops
