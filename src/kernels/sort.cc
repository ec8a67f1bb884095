// sort: x, values, indices. Attributes: axis, and descending (sort) or largest (top_k).
// argsort: x, indices. Attributes: axis, descending.
// The elements of every line of an axis in order, or the first few of them, and their indices.
// Equal elements keep their order; NaN counts as larger than every number.

#include <cmath>
#include <type_traits>

#include "kernels/families.h"
#include "kernels/lines.h"

namespace trireme::kernels {

namespace {

template <class T>
struct Item {
  T value;
  std::int64_t index;
};

template <class T>
bool is_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a < b || (std::isnan(b) && !std::isnan(a));
  } else {
    return a < b;
  }
}

// No two items are equal in this order, so that any way of sorting gives one result.
template <class T>
struct Before {
  bool descending;
  bool operator()(const Item<T>& a, const Item<T>& b) const {
    if (is_less(a.value, b.value)) return !descending;
    if (is_less(b.value, a.value)) return descending;
    return a.index < b.index;
  }
};

template <class T>
class Sort : public KernelInstance {
 public:
  Sort(const Lines& from, const Lines& to, bool descending, bool gives_values)
      : from_(from), to_(to), descending_(descending), gives_values_(gives_values) {}

  std::size_t workspace_bytes(int threads) const override {
    return static_cast<std::size_t>(threads) * static_cast<std::size_t>(from_.length) *
           sizeof(Item<T>);
  }

  void run(void* const* tensors, void* workspace, device::Device& device) override {
    const auto* x = static_cast<const T*>(tensors[0]);
    auto* values = gives_values_ ? static_cast<T*>(tensors[1]) : nullptr;
    auto* indices = static_cast<std::int64_t*>(tensors[gives_values_ ? 2 : 1]);
    if (to_.length == 0) return;
    constexpr std::int64_t kStepsPerElement = 32;
    run_lines(to_.count, from_.length * kStepsPerElement, device,
              [&](std::int64_t begin, std::int64_t end, int thread) {
                Item<T>* items = static_cast<Item<T>*>(workspace) + thread * from_.length;
                for (std::int64_t i = begin; i < end; ++i) {
                  sort(x + from_.first(i), items);
                  write(items, to_.first(i), values, indices);
                }
              });
  }

 private:
  void sort(const T* x, Item<T>* items) const {
    for (std::int64_t j = 0; j < from_.length; ++j) items[j] = {x[j * from_.stride], j};
    const Before<T> before{descending_};
    if (to_.length < from_.length) {
      std::partial_sort(items, items + to_.length, items + from_.length, before);
    } else {
      std::sort(items, items + from_.length, before);
    }
  }

  void write(const Item<T>* items, std::int64_t first, T* values, std::int64_t* indices) const {
    for (std::int64_t j = 0; j < to_.length; ++j) {
      const std::int64_t at = first + j * to_.stride;
      if (values != nullptr) values[at] = items[j].value;
      indices[at] = items[j].index;
    }
  }

  Lines from_, to_;
  bool descending_, gives_values_;
};

template <class T>
std::unique_ptr<KernelInstance> prepare_for(const Call& call, const char* kernel,
                                            bool gives_values) {
  const std::size_t axis = axis_of(kernel, call);
  return std::make_unique<Sort<T>>(Lines(call.tensors[0].shape, axis),
                                   Lines(call.tensors[1].shape, axis),
                                   flag(call, "descending") || flag(call, "largest"), gives_values);
}

// How many elements of each line are wanted shows in the shape of the result.
std::unique_ptr<KernelInstance> prepare(const Call& call, const char* kernel, bool gives_values) {
  require_tensors(kernel, call, gives_values ? 3 : 2);
  const TensorDescription& x = call.tensors[0];
  const Sizes& result = call.tensors.back().shape;
  const std::size_t axis = axis_of(kernel, call);
  Sizes expected = x.shape;
  if (result.size() == expected.size()) expected[axis] = result[axis];
  if (result != expected || result[axis] > x.shape[axis] || call.tensors[1].shape != result ||
      call.tensors.back().dtype != DType::i64 ||
      (gives_values && call.tensors[1].dtype != x.dtype)) {
    fail_call(kernel, call, "the shapes or dtypes do not fit");
  }
  switch (x.dtype) {
    case DType::f32: return prepare_for<float>(call, kernel, gives_values);
    case DType::f64: return prepare_for<double>(call, kernel, gives_values);
    case DType::i32: return prepare_for<std::int32_t>(call, kernel, gives_values);
    case DType::i64: return prepare_for<std::int64_t>(call, kernel, gives_values);
    case DType::u8: return prepare_for<std::uint8_t>(call, kernel, gives_values);
    default: fail_call(kernel, call, "only numbers are sorted");
  }
}

}  // namespace

std::unique_ptr<KernelInstance> prepare_sort(const Call& call) {
  return prepare(call, "sort", true);
}
std::unique_ptr<KernelInstance> prepare_argsort(const Call& call) {
  return prepare(call, "argsort", false);
}

}  // namespace trireme::kernels
