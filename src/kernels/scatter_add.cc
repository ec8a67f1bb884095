// y = zeros; y[indices[i]] += updates[i], in order of i.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "kernels/call.h"
#include "kernels/families.h"

namespace trireme::kernels {

namespace {

constexpr const char* kName = "scatter_add";

// Cut by columns: each thread adds all updates, in order, to its own columns.
template <class T, class I>
class ScatterAdd : public Prepared {
 public:
  ScatterAdd(std::int64_t rows, std::int64_t columns, std::int64_t updates)
      : rows_(rows), columns_(columns), updates_(updates) {}

  void run(void* const* tensors, void*, device::Device& device) override {
    const auto* indices = static_cast<const I*>(tensors[0]);
    const auto* updates = static_cast<const T*>(tensors[1]);
    auto* y = static_cast<T*>(tensors[2]);
    check(indices);
    constexpr std::int64_t kLeastPerThread = 32768;  // elements
    constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
    const std::int64_t depth = std::max<std::int64_t>(1, rows_ + updates_);
    const std::int64_t lines = (columns_ + kLine - 1) / kLine;
    const std::int64_t grain = std::max<std::int64_t>(1, kLeastPerThread / (depth * kLine));
    device.run(lines, grain, lines > grain, [&](std::int64_t begin, std::int64_t end, int) {
      add(indices, updates, y, begin * kLine, std::min(columns_, end * kLine));
    });
  }

 private:
  void check(const I* indices) const {
    for (std::int64_t i = 0; i < updates_; ++i) {
      const auto row = static_cast<std::int64_t>(indices[i]);
      if (row < 0 || row >= rows_) {
        fail_data(
            fmt::format("scatter_add: index {} at position {} is outside [0, {}); look at the "
                        "labels or ids that were fed",
                        row, i, rows_));
      }
    }
  }

  void add(const I* indices, const T* updates, T* y, std::int64_t from, std::int64_t to) const {
    for (std::int64_t row = 0; row < rows_; ++row) {
      std::fill(y + row * columns_ + from, y + row * columns_ + to, T{0});
    }
    for (std::int64_t i = 0; i < updates_; ++i) {
      T* target = y + static_cast<std::int64_t>(indices[i]) * columns_;
      const T* update = updates + i * columns_;
      for (std::int64_t j = from; j < to; ++j) target[j] += update[j];
    }
  }

  std::int64_t rows_, columns_, updates_;
};

template <class T>
std::unique_ptr<Prepared> prepare_for(const Call& call, std::int64_t rows, std::int64_t columns,
                                      std::int64_t updates) {
  switch (call.tensors[0].dtype) {
    case DType::u8: return std::make_unique<ScatterAdd<T, std::uint8_t>>(rows, columns, updates);
    case DType::i32: return std::make_unique<ScatterAdd<T, std::int32_t>>(rows, columns, updates);
    case DType::i64: return std::make_unique<ScatterAdd<T, std::int64_t>>(rows, columns, updates);
    default: fail_call(kName, call, "indices must be integers");
  }
}

}  // namespace

std::unique_ptr<Prepared> prepare_scatter_add(const Call& call) {
  require_tensors(kName, call, 3);
  const Sizes& indices = call.tensors[0].shape;
  const Sizes& updates = call.tensors[1].shape;
  const Sizes& y = call.tensors[2].shape;
  const bool begins = updates.size() >= indices.size() &&
                      std::equal(indices.begin(), indices.end(), updates.begin());
  const std::size_t rank = indices.size();
  if (!begins || y.empty() ||
      Sizes(y.begin() + 1, y.end()) !=
          Sizes(updates.begin() + static_cast<std::ptrdiff_t>(rank), updates.end()) ||
      call.tensors[1].dtype != call.tensors[2].dtype) {
    fail_call(kName, call, "the shapes or dtypes do not fit");
  }
  const std::int64_t columns = elements(Sizes(y.begin() + 1, y.end()));
  switch (call.tensors[1].dtype) {
    case DType::f32: return prepare_for<float>(call, y[0], columns, elements(indices));
    case DType::f64: return prepare_for<double>(call, y[0], columns, elements(indices));
    case DType::i32: return prepare_for<std::int32_t>(call, y[0], columns, elements(indices));
    case DType::i64: return prepare_for<std::int64_t>(call, y[0], columns, elements(indices));
    case DType::u8: return prepare_for<std::uint8_t>(call, y[0], columns, elements(indices));
    default: fail_call(kName, call, "only numbers are added");
  }
}

}  // namespace trireme::kernels
