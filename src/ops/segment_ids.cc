#include "ops/flops.h"
#include "ops/segments.h"

namespace trireme::ops {
namespace {

void segment_ids_reference(const Reference& r) {
  const std::vector<double>& splits = r.operands[0]->data;
  for (std::size_t i = 0; i + 1 < splits.size(); ++i) {
    for (double row = splits[i]; row < splits[i + 1]; ++row) {
      r.results[0]->data[static_cast<std::size_t>(row)] = static_cast<double>(i);
    }
  }
}

}  // namespace

Op segment_ids() {
  Op op("segment_ids(splits)");
  op.doc =
      "For each row of concatenated sequences, the i64 number of its sequence, starting from "
      "0.\n"
      "Splits that do not rise from 0 to the number of rows are Error(data) at run time.";
  op.traits = Trait::library | Trait::not_differentiable | Trait::sequences;
  op.flops = no_flops();
  op.type = [](const TypeContext& c) {
    return std::vector<Type>{{DType::i64, {rows_of_splits(c, 0)}}};
  };
  op.library_kernel = "segment_ids";
  op.reference = segment_ids_reference;
  op.torch_reference = "torch.repeat_interleave(torch.arange(len(x[0]) - 1), torch.diff(x[0]))";
  for (const auto& [sequences, rows] : kSplitSamples) {
    Sample s;
    s.operands = {splits_type(sequences, rows)};
    op.samples.push_back(s);
  }
  return op;
}

}  // namespace trireme::ops
