// row_splits: lengths, splits. segment_ids: splits, ids. segment_sum: x, splits, y.
// segment_max: x, splits, y, position.
// Concatenated sequences: splits from lengths, the sequence of each row, and sums and maxima over
// each sequence. Every reader of splits checks them, because rows after the last one are foreign
// memory.

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "kernels/call.h"
#include "kernels/families.h"
#include "kernels/segments.h"
#include "kernels/sums.h"

namespace trireme::kernels {

void check_splits(const char* kernel, const std::int64_t* splits, std::int64_t sequences,
                  std::int64_t rows) {
  bool good = splits[0] == 0 && splits[sequences] == rows;
  for (std::int64_t i = 0; i < sequences; ++i) good &= splits[i] <= splits[i + 1];
  if (good) return;
  if (splits[0] != 0) fail_data(fmt::format("{}: splits begin with {}, not 0", kernel, splits[0]));
  for (std::int64_t i = 0; i < sequences; ++i) {
    if (splits[i] <= splits[i + 1]) continue;
    fail_data(fmt::format("{}: splits decrease: {} at [{}], then {}", kernel, splits[i], i,
                          splits[i + 1]));
  }
  fail_data(fmt::format("{}: splits end with {}, but there are {} rows", kernel, splits[sequences],
                        rows));
}

namespace {

constexpr std::int64_t kMinPerThread = 32768;  // elements

class RowSplits : public KernelInstance {
 public:
  explicit RowSplits(std::int64_t count) : count_(count) {}

  void run(void* const* tensors, void*, device::Device&) override {
    const auto* lengths = static_cast<const std::int64_t*>(tensors[0]);
    auto* splits = static_cast<std::int64_t*>(tensors[1]);
    constexpr std::int64_t kMax = std::int64_t{1} << 48;
    std::int64_t total = 0;
    splits[0] = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (lengths[i] < 0 || lengths[i] > kMax - total) {
        fail_data(fmt::format("row_splits: sequence {} cannot have length {}", i, lengths[i]));
      }
      splits[i + 1] = total += lengths[i];
    }
  }

 private:
  std::int64_t count_;
};

class SegmentIds : public KernelInstance {
 public:
  SegmentIds(std::int64_t sequences, std::int64_t rows) : sequences_(sequences), rows_(rows) {}

  void run(void* const* tensors, void*, device::Device&) override {
    const auto* splits = static_cast<const std::int64_t*>(tensors[0]);
    auto* ids = static_cast<std::int64_t*>(tensors[1]);
    check_splits("segment_ids", splits, sequences_, rows_);
    for (std::int64_t i = 0; i < sequences_; ++i)
      std::fill(ids + splits[i], ids + splits[i + 1], i);
  }

 private:
  std::int64_t sequences_, rows_;
};

// Work on one sequence after the other, several threads on different ones.
class OverSegments : public KernelInstance {
 protected:
  OverSegments(std::int64_t sequences, std::int64_t rows, std::int64_t columns)
      : sequences_(sequences), rows_(rows), columns_(columns) {}

  // Calls body(sequence, first row, end of its rows).
  template <class Body>
  void for_each(const char* kernel, const std::int64_t* splits, device::Device& device,
                const Body& body) const {
    check_splits(kernel, splits, sequences_, rows_);
    const std::int64_t each = columns_ * (1 + rows_ / std::max<std::int64_t>(1, sequences_));
    const std::int64_t grain =
        std::max<std::int64_t>(1, kMinPerThread / std::max<std::int64_t>(1, each));
    device.run(sequences_, grain, sequences_ > grain,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t i = begin; i < end; ++i) body(i, splits[i], splits[i + 1]);
               });
  }

  std::int64_t sequences_, rows_, columns_;
};

template <class T>
class SegmentSum : public OverSegments {
 public:
  SegmentSum(std::int64_t sequences, std::int64_t rows, std::int64_t columns)
      : OverSegments(sequences, rows, columns) {}

  void run(void* const* tensors, void*, device::Device& device) override {
    const auto* x = static_cast<const T*>(tensors[0]);
    auto* y = static_cast<T*>(tensors[2]);
    for_each("segment_sum", static_cast<const std::int64_t*>(tensors[1]), device,
             [&](std::int64_t i, std::int64_t from, std::int64_t to) {
               const auto line = [&](std::int64_t k) { return x + (from + k) * columns_; };
               add_lines(to - from, columns_, line, y + i * columns_);
             });
  }
};

// The largest of each column, the first of equals, and its row; 0 and row -1 where there is none.
template <class T>
class SegmentMax : public OverSegments {
 public:
  SegmentMax(std::int64_t sequences, std::int64_t rows, std::int64_t columns)
      : OverSegments(sequences, rows, columns) {}

  void run(void* const* tensors, void*, device::Device& device) override {
    const auto* x = static_cast<const T*>(tensors[0]);
    auto* y = static_cast<T*>(tensors[2]);
    auto* position = static_cast<std::int64_t*>(tensors[3]);
    for_each("segment_max", static_cast<const std::int64_t*>(tensors[1]), device,
             [&](std::int64_t i, std::int64_t from, std::int64_t to) {
               find(x, from, to, y + i * columns_, position + i * columns_);
             });
  }

 private:
  void find(const T* x, std::int64_t from, std::int64_t to, T* y, std::int64_t* position) const {
    for (std::int64_t j = 0; j < columns_; ++j) {
      y[j] = from < to ? x[from * columns_ + j] : T{0};
      position[j] = from < to ? from : -1;
    }
    for (std::int64_t row = from + 1; row < to; ++row) {
      const T* line = x + row * columns_;
      for (std::int64_t j = 0; j < columns_; ++j) {
        // NaN counts as the largest, as in reduce_max.
        const bool larger = line[j] > y[j] || (line[j] != line[j] && y[j] == y[j]);
        y[j] = larger ? line[j] : y[j];
        position[j] = larger ? row : position[j];
      }
    }
  }
};

bool are_i64(const TensorDescription& tensor) {
  return tensor.dtype == DType::i64 && tensor.shape.size() == 1;
}

// Of x [rows, ...] and splits [sequences + 1], with results [sequences, ...].
template <template <class> class Kernel>
std::unique_ptr<KernelInstance> prepare_over_segments(const char* kernel, const Call& call) {
  const Sizes& x = call.tensors[0].shape;
  const TensorDescription& splits = call.tensors[1];
  if (x.empty() || !are_i64(splits) || splits.shape[0] < 1) {
    fail_call(kernel, call, "it takes rows and their splits");
  }
  Sizes y = x;
  y[0] = splits.shape[0] - 1;
  for (std::size_t i = 2; i < call.tensors.size(); ++i) {
    if (call.tensors[i].shape != y) fail_call(kernel, call, "there is a result for each sequence");
  }
  const std::int64_t columns = elements(Sizes(x.begin() + 1, x.end()));
  switch (call.tensors[0].dtype) {
    case DType::f32: return std::make_unique<Kernel<float>>(y[0], x[0], columns);
    case DType::f64: return std::make_unique<Kernel<double>>(y[0], x[0], columns);
    case DType::i32: return std::make_unique<Kernel<std::int32_t>>(y[0], x[0], columns);
    case DType::i64: return std::make_unique<Kernel<std::int64_t>>(y[0], x[0], columns);
    default: fail_call(kernel, call, "rows are f32, f64, i32 or i64");
  }
}

}  // namespace

std::unique_ptr<KernelInstance> prepare_row_splits(const Call& call) {
  require_tensors("row_splits", call, 2);
  if (!are_i64(call.tensors[0]) || !are_i64(call.tensors[1]) ||
      call.tensors[1].shape[0] != call.tensors[0].shape[0] + 1) {
    fail_call("row_splits", call, "lengths and splits are i64");
  }
  return std::make_unique<RowSplits>(call.tensors[0].shape[0]);
}

std::unique_ptr<KernelInstance> prepare_segment_ids(const Call& call) {
  require_tensors("segment_ids", call, 2);
  if (!are_i64(call.tensors[0]) || !are_i64(call.tensors[1]) || call.tensors[0].shape[0] < 1) {
    fail_call("segment_ids", call, "splits and ids are i64");
  }
  return std::make_unique<SegmentIds>(call.tensors[0].shape[0] - 1, call.tensors[1].shape[0]);
}

std::unique_ptr<KernelInstance> prepare_segment_sum(const Call& call) {
  require_tensors("segment_sum", call, 3);
  return prepare_over_segments<SegmentSum>("segment_sum", call);
}

std::unique_ptr<KernelInstance> prepare_segment_max(const Call& call) {
  require_tensors("segment_max", call, 4);
  return prepare_over_segments<SegmentMax>("segment_max", call);
}

}  // namespace trireme::kernels
