// scatter_add_along_axis: indices, updates, y. Attribute: axis.
// y = zeros; y[..., indices[..., i, ...], ...] += updates[..., i, ...] along one axis, in order of
// i. If an element has many updates on average, f32 is added in f64 (adds_in_f64 in sums.h).

#include <fmt/core.h>

#include "base/error.h"
#include "kernels/families.h"
#include "kernels/lines.h"
#include "kernels/sums.h"

namespace trireme::kernels {

namespace {

constexpr const char* kName = "scatter_add_along_axis";

template <class T, class I>
class ScatterAddAlongAxis : public KernelInstance {
 public:
  ScatterAddAlongAxis(const Lines& from, const Lines& to) : from_(from), to_(to) {}

  std::size_t workspace_bytes(int threads) const override {
    if (!adds_in_f64<T>(to_.length, from_.length)) return 0;
    return static_cast<std::size_t>(threads) * static_cast<std::size_t>(to_.length) * 8;
  }

  void run(void* const* tensors, void* workspace, device::Device& device) override {
    const auto* indices = static_cast<const I*>(tensors[0]);
    const auto* updates = static_cast<const T*>(tensors[1]);
    auto* y = static_cast<T*>(tensors[2]);
    run_lines(to_.count, from_.length + to_.length, device,
              [&](std::int64_t begin, std::int64_t end, int thread) {
                for (std::int64_t i = begin; i < end; ++i) {
                  T* target = y + to_.first(i);
                  if (!adds_in_f64<T>(to_.length, from_.length)) {
                    add(indices, updates, i, target, to_.stride);
                    continue;
                  }
                  auto* totals = static_cast<double*>(workspace) + thread * to_.length;
                  add(indices, updates, i, totals, 1);
                  for (std::int64_t j = 0; j < to_.length; ++j) {
                    target[j * to_.stride] = static_cast<T>(totals[j]);
                  }
                }
              });
  }

 private:
  // y has a number every `stride` places.
  template <class Total>
  void add(const I* indices, const T* updates, std::int64_t line, Total* y,
           std::int64_t stride) const {
    const std::int64_t first = from_.first(line);
    for (std::int64_t j = 0; j < to_.length; ++j) y[j * stride] = Total{0};
    for (std::int64_t j = 0; j < from_.length; ++j) {
      const std::int64_t at = first + j * from_.stride;
      const auto place = static_cast<std::int64_t>(indices[at]);
      if (place < 0 || place >= to_.length) {
        fail_data(
            fmt::format("{}: index {} is outside [0, {}); look at the labels or ids that "
                        "were fed",
                        kName, place, to_.length));
      }
      Total& sum = y[place * stride];
      sum = sum_of(sum, static_cast<Total>(updates[at]));
    }
  }

  Lines from_, to_;
};

template <class T>
std::unique_ptr<KernelInstance> prepare_for(const Call& call, const Lines& from, const Lines& to) {
  switch (call.tensors[0].dtype) {
    case DType::u8: return std::make_unique<ScatterAddAlongAxis<T, std::uint8_t>>(from, to);
    case DType::i32: return std::make_unique<ScatterAddAlongAxis<T, std::int32_t>>(from, to);
    case DType::i64: return std::make_unique<ScatterAddAlongAxis<T, std::int64_t>>(from, to);
    default: fail_call(kName, call, "indices must be integers");
  }
}

}  // namespace

std::unique_ptr<KernelInstance> prepare_scatter_add_along_axis(const Call& call) {
  require_tensors(kName, call, 3);
  const Sizes& updates = call.tensors[1].shape;
  const Sizes& y = call.tensors[2].shape;
  const std::size_t axis = axis_of(kName, call);
  Sizes expected = updates;
  if (y.size() == updates.size()) expected[axis] = y[axis];
  if (call.tensors[0].shape != updates || y != expected ||
      call.tensors[1].dtype != call.tensors[2].dtype) {
    fail_call(kName, call, "the shapes or dtypes do not fit");
  }
  const Lines from(updates, axis), to(y, axis);
  switch (call.tensors[1].dtype) {
    case DType::f32: return prepare_for<float>(call, from, to);
    case DType::f64: return prepare_for<double>(call, from, to);
    case DType::i32: return prepare_for<std::int32_t>(call, from, to);
    case DType::i64: return prepare_for<std::int64_t>(call, from, to);
    case DType::u8: return prepare_for<std::uint8_t>(call, from, to);
    default: fail_call(kName, call, "only numbers are added");
  }
}

}  // namespace trireme::kernels
