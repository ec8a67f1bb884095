// scatter_add: indices, updates, y. y = zeros; y[indices[i]] += updates[i], in order of i.
// scatter_add_nd: the same, where indices[i] is a tuple.
// If a row has many updates on average, f32 is added in f64 (adds_in_f64 in sums.h).

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "kernels/call.h"
#include "kernels/families.h"
#include "kernels/sums.h"

namespace trireme::kernels {

namespace {

// Cut by columns: each thread adds all updates, in order, to its own columns.
template <class T, class I>
class ScatterAdd : public KernelInstance {
 public:
  // The rows of y are numbered by tuples of indices below `extents`.
  // `none_below_0`: an update whose index is negative is left out.
  ScatterAdd(const char* kernel, Sizes extents, std::int64_t columns, std::int64_t updates,
             bool none_below_0)
      : kernel_(kernel),
        extents_(std::move(extents)),
        rows_(elements(extents_)),
        columns_(columns),
        updates_(updates),
        none_below_0_(none_below_0) {}

  std::size_t workspace_bytes(int) const override {
    return adds_in_f64<T>(rows_, updates_) ? static_cast<std::size_t>(rows_ * columns_) * 8 : 0;
  }

  void run(void* const* tensors, void* workspace, device::Device& device) override {
    const auto* indices = static_cast<const I*>(tensors[0]);
    const auto* updates = static_cast<const T*>(tensors[1]);
    auto* y = static_cast<T*>(tensors[2]);
    check(indices);
    constexpr std::int64_t kMinPerThread = 32768;  // elements
    constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
    const std::int64_t depth = std::max<std::int64_t>(1, rows_ + updates_);
    const std::int64_t lines = (columns_ + kLine - 1) / kLine;
    // Wide runs: narrow ones would walk through all rows again and again.
    const std::int64_t share = (lines + device.threads() - 1) / device.threads();
    const std::int64_t grain = std::max({std::int64_t{1}, share, kMinPerThread / (depth * kLine)});
    device.run(lines, grain, lines > grain, [&](std::int64_t begin, std::int64_t end, int) {
      const std::int64_t from = begin * kLine, to = std::min(columns_, end * kLine);
      if (!adds_in_f64<T>(rows_, updates_)) return add(indices, updates, y, from, to);
      auto* totals = static_cast<double*>(workspace);
      add(indices, updates, totals, from, to);
      for (std::int64_t row = 0; row < rows_; ++row) {
        for (std::int64_t j = from; j < to; ++j) {
          y[row * columns_ + j] = static_cast<T>(totals[row * columns_ + j]);
        }
      }
    });
  }

 private:
  void check(const I* indices) const {
    for (std::int64_t i = 0; i < updates_; ++i) {
      for (std::size_t j = 0; j < extents_.size(); ++j) {
        const auto index =
            static_cast<std::int64_t>(indices[static_cast<std::size_t>(i) * extents_.size() + j]);
        if ((index >= 0 || none_below_0_) && index < extents_[j]) continue;
        fail_data(
            fmt::format("{}: index {} at position {} is outside [0, {}); look at the labels "
                        "or ids that were fed",
                        kernel_, index, i, extents_[j]));
      }
    }
  }

  std::int64_t row(const I* tuple) const {
    std::int64_t row = 0;
    for (std::size_t j = 0; j < extents_.size(); ++j) {
      row = row * extents_[j] + static_cast<std::int64_t>(tuple[j]);
    }
    return row;
  }

  template <class Total>
  void add(const I* indices, const T* updates, Total* y, std::int64_t from, std::int64_t to) const {
    for (std::int64_t row = 0; row < rows_; ++row) {
      std::fill(y + row * columns_ + from, y + row * columns_ + to, Total{0});
    }
    for (std::int64_t i = 0; i < updates_; ++i) {
      const auto tuple = static_cast<std::int64_t>(extents_.size());
      if (none_below_0_ && static_cast<std::int64_t>(indices[i]) < 0) continue;
      Total* target = y + row(indices + i * tuple) * columns_;
      const T* update = updates + i * columns_;
      for (std::int64_t j = from; j < to; ++j) {
        target[j] = sum_of(target[j], static_cast<Total>(update[j]));
      }
    }
  }

  const char* kernel_;
  Sizes extents_;
  std::int64_t rows_, columns_, updates_;
  bool none_below_0_;
};

template <class T>
std::unique_ptr<KernelInstance> prepare_for(const char* kernel, const Call& call,
                                            const Sizes& extents, std::int64_t columns,
                                            std::int64_t updates, bool none_below_0) {
  const auto make = [&]<class I>(I) -> std::unique_ptr<KernelInstance> {
    return std::make_unique<ScatterAdd<T, I>>(kernel, extents, columns, updates, none_below_0);
  };
  switch (call.tensors[0].dtype) {
    case DType::u8: return make(std::uint8_t{});
    case DType::i32: return make(std::int32_t{});
    case DType::i64: return make(std::int64_t{});
    default: fail_call(kernel, call, "indices must be integers");
  }
}

// Each update is named by the `tuple` indices in the last axis of `indices` or, for `tuple` -1, by
// one index.
std::unique_ptr<KernelInstance> prepare(const char* kernel, const Call& call, std::int64_t tuple) {
  Sizes positions = call.tensors[0].shape;  // of the updates
  if (tuple >= 0) positions.pop_back();
  const Sizes& updates = call.tensors[1].shape;
  const Sizes& y = call.tensors[2].shape;
  const auto named = static_cast<std::ptrdiff_t>(tuple < 0 ? 1 : tuple);  // axes of y
  const auto rank = static_cast<std::ptrdiff_t>(positions.size());
  const bool begins = updates.size() >= positions.size() &&
                      std::equal(positions.begin(), positions.end(), updates.begin());
  if (!begins || static_cast<std::ptrdiff_t>(y.size()) < named ||
      Sizes(y.begin() + named, y.end()) != Sizes(updates.begin() + rank, updates.end()) ||
      call.tensors[1].dtype != call.tensors[2].dtype) {
    fail_call(kernel, call, "the shapes or dtypes do not fit");
  }
  const Sizes extents(y.begin(), y.begin() + named);
  const std::int64_t columns = elements(Sizes(y.begin() + named, y.end()));
  const std::int64_t count = elements(positions);
  switch (call.tensors[1].dtype) {
    case DType::f32: return prepare_for<float>(kernel, call, extents, columns, count, tuple < 0);
    case DType::f64: return prepare_for<double>(kernel, call, extents, columns, count, tuple < 0);
    case DType::i32:
      return prepare_for<std::int32_t>(kernel, call, extents, columns, count, tuple < 0);
    case DType::i64:
      return prepare_for<std::int64_t>(kernel, call, extents, columns, count, tuple < 0);
    case DType::u8:
      return prepare_for<std::uint8_t>(kernel, call, extents, columns, count, tuple < 0);
    default: fail_call(kernel, call, "only numbers are added");
  }
}

}  // namespace

std::unique_ptr<KernelInstance> prepare_scatter_add(const Call& call) {
  require_tensors("scatter_add", call, 3);
  return prepare("scatter_add", call, -1);
}

std::unique_ptr<KernelInstance> prepare_scatter_add_nd(const Call& call) {
  require_tensors("scatter_add_nd", call, 3);
  if (call.tensors[0].shape.empty()) fail_call("scatter_add_nd", call, "indices need an axis");
  return prepare("scatter_add_nd", call, call.tensors[0].shape.back());
}

}  // namespace trireme::kernels
