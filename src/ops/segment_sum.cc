#include "ops/flops.h"
#include "ops/segments.h"

namespace trireme::ops {
namespace {

void segment_sum_reference(const Reference& r) {
  const std::vector<double>& splits = r.operands[1]->data;
  RefTensor& y = *r.results[0];
  const std::size_t columns = y.data.size() / std::max<std::size_t>(1, splits.size() - 1);
  for (std::size_t i = 0; i + 1 < splits.size(); ++i) {
    for (auto row = static_cast<std::size_t>(splits[i]);
         row < static_cast<std::size_t>(splits[i + 1]); ++row) {
      for (std::size_t j = 0; j < columns; ++j) {
        y.data[i * columns + j] += r.operands[0]->data[row * columns + j];
      }
    }
  }
}

}  // namespace

Op segment_sum() {
  Op op("segment_sum(x, splits)");
  op.doc =
      "For each sequence, the sum of its rows, added in order; zero for a sequence without "
      "rows.\n"
      "x is [rows, ...], and the result is [sequences, ...].\n"
      "x is i32, i64, f32 or f64.";
  op.traits = Trait::library | Trait::sequences;
  op.flops = flop_per_element_of(0);
  op.type = [](const TypeContext& c) {
    return std::vector<Type>{type_by_sequence(c, Numbers::common)};
  };
  op.library_kernel = "segment_sum";
  op.reference = segment_sum_reference;
  op.gradient = [](GradientContext& c) {
    if (c.needs_gradient(0)) c.accumulate(0, gather(c.gradient(), segment_ids(c.operand(1))));
  };
  op.torch_reference =
      "torch.zeros((len(x[1]) - 1,) + x[0].shape[1:], dtype=x[0].dtype).index_add(0, "
      "torch.repeat_interleave(torch.arange(len(x[1]) - 1), torch.diff(x[1])), x[0])";
  op.samples = segment_samples();
  return op;
}

}  // namespace trireme::ops
