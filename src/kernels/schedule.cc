// rnn_schedule: splits, counts, rows, places, sequences, ranks.
// The order in which rnn processes sequences: by decreasing length, equal lengths in their own
// order. So the sequences that still run at a step are always the first ones. Rows are ordered by
// step, and within a step by sequence.

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/call.h"
#include "kernels/families.h"
#include "kernels/segments.h"

namespace trireme::kernels {

namespace {

class Schedule : public KernelInstance {
 public:
  Schedule(std::int64_t sequences, std::int64_t rows) : sequences_(sequences), rows_(rows) {}

  std::size_t workspace_bytes(int) const override {
    return static_cast<std::size_t>(rows_ + 2) * sizeof(std::int64_t);
  }

  void run(void* const* tensors, void* workspace, device::Device&) override {
    const auto* splits = static_cast<const std::int64_t*>(tensors[0]);
    check_splits("rnn", splits, sequences_, rows_);
    auto* counts = static_cast<std::int64_t*>(tensors[1]);
    auto* rows = static_cast<std::int64_t*>(tensors[2]);
    auto* places = static_cast<std::int64_t*>(tensors[3]);
    auto* sequences = static_cast<std::int64_t*>(tensors[4]);
    auto* ranks = static_cast<std::int64_t*>(tensors[5]);
    sort_by_length(splits, sequences, static_cast<std::int64_t*>(workspace));
    for (std::int64_t k = 0; k < sequences_; ++k) ranks[sequences[k]] = k;
    std::fill(counts, counts + rows_, 0);
    std::int64_t active = sequences_, at = 0;
    for (std::int64_t t = 0;; ++t) {
      while (active > 0 && length(splits, sequences[active - 1]) <= t) --active;
      if (active == 0) break;
      counts[t] = active;
      for (std::int64_t k = 0; k < active; ++k, ++at) {
        rows[at] = splits[sequences[k]] + t;
        places[rows[at]] = at;
      }
    }
  }

 private:
  static std::int64_t length(const std::int64_t* splits, std::int64_t i) {
    return splits[i + 1] - splits[i];
  }

  // A counting sort, which keeps the order of equals.
  void sort_by_length(const std::int64_t* splits, std::int64_t* sequences,
                      std::int64_t* places) const {
    std::fill(places, places + rows_ + 2, 0);
    for (std::int64_t i = 0; i < sequences_; ++i) ++places[rows_ - length(splits, i) + 1];
    for (std::int64_t i = 1; i <= rows_ + 1; ++i) places[i] += places[i - 1];
    for (std::int64_t i = 0; i < sequences_; ++i) {
      sequences[places[rows_ - length(splits, i)]++] = i;
    }
  }

  std::int64_t sequences_, rows_;
};

}  // namespace

std::unique_ptr<KernelInstance> prepare_rnn_schedule(const Call& call) {
  require_tensors("rnn_schedule", call, 6);
  for (const TensorDescription& tensor : call.tensors) {
    if (tensor.dtype != DType::i64 || tensor.shape.size() != 1) {
      fail_call("rnn_schedule", call, "all are lists of i64");
    }
  }
  const std::int64_t sequences = call.tensors[4].shape[0], rows = call.tensors[1].shape[0];
  if (call.tensors[0].shape[0] != sequences + 1 || call.tensors[2].shape[0] != rows ||
      call.tensors[3].shape[0] != rows || call.tensors[5].shape[0] != sequences) {
    fail_call("rnn_schedule", call, "the sizes do not fit");
  }
  return std::make_unique<Schedule>(sequences, rows);
}

}  // namespace trireme::kernels
