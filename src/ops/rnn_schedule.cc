#include <algorithm>
#include <numeric>

#include "ops/flops.h"
#include "ops/segments.h"

namespace trireme::ops {
namespace {

void rnn_schedule_reference(const Reference& r) {
  const std::vector<double>& splits = r.operands[0]->data;
  const auto length = [&](std::size_t i) { return splits[i + 1] - splits[i]; };
  std::vector<std::size_t> order(splits.size() - 1);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return length(a) != length(b) ? length(a) > length(b) : a < b;
  });
  for (std::size_t k = 0; k < order.size(); ++k) {
    r.results[3]->data[k] = static_cast<double>(order[k]);
    r.results[4]->data[order[k]] = static_cast<double>(k);
  }
  std::size_t at = 0;
  for (double t = 0; at < r.results[1]->data.size(); ++t) {
    for (const std::size_t i : order) {
      if (length(i) <= t) continue;
      ++r.results[0]->data[static_cast<std::size_t>(t)];
      r.results[1]->data[at] = splits[i] + t;
      r.results[2]->data[static_cast<std::size_t>(splits[i] + t)] = static_cast<double>(at++);
    }
  }
}

}  // namespace

Op rnn_schedule() {
  Op op("rnn_schedule(splits) -> counts, rows, places, sequences, ranks");
  op.doc =
      "The order in which rnn() runs sequences: longest first; equally long ones keep their "
      "order.\n"
      "`counts` [rows] is the number of sequences with a row at step 0, 1 ..., followed by "
      "zeros.\n"
      "`rows` [rows] lists the rows by step and then by sequence; `places` is its inverse.\n"
      "`sequences` [batch] is the order of the sequences; `ranks` is its inverse.\n"
      "All results are i64.";
  op.traits = Trait::library | Trait::not_differentiable | Trait::internal;
  op.flops = no_flops();
  op.type = [](const TypeContext& c) {
    const Type rows{DType::i64, {rows_of_splits(c, 0)}};
    const Type sequences{DType::i64, {c.operands[0].shape[0] - 1}};
    return std::vector<Type>{rows, rows, rows, sequences, sequences};
  };
  op.library_kernel = "rnn_schedule";
  op.reference = rnn_schedule_reference;
  op.no_torch_reason = "the order is Trireme's own; the reference sorts by comparisons";
  for (const auto& [sequences, rows] : kSplitSamples) {
    Sample s;
    s.operands = {splits_type(sequences, rows)};
    op.samples.push_back(s);
  }
  return op;
}

}  // namespace trireme::ops
