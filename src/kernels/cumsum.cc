// cumsum: x, y. Attributes: axis, exclusive, reverse.
// y[i] = x[0] + ... + x[i] along every line of an axis; `exclusive` leaves x[i] out, `reverse` adds
// from the end. Floats are added in double.

#include <type_traits>

#include "kernels/families.h"
#include "kernels/lines.h"

namespace trireme::kernels {

namespace {

constexpr const char* kName = "cumsum";

// Integers wrap, which only unsigned ones may.
template <class T, bool = std::is_floating_point_v<T>>
struct TotalOf {
  using type = double;
};
template <class T>
struct TotalOf<T, false> {
  using type = std::uint64_t;
};

template <class T>
class Cumsum : public KernelInstance {
 public:
  Cumsum(const Lines& lines, bool exclusive, bool reverse)
      : lines_(lines), exclusive_(exclusive), reverse_(reverse) {}

  void run(void* const* tensors, void*, device::Device& device) override {
    const auto* x = static_cast<const T*>(tensors[0]);
    auto* y = static_cast<T*>(tensors[1]);
    run_lines(lines_.count, lines_.length, device, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) add(x, y, lines_.first(i));
    });
  }

 private:
  void add(const T* x, T* y, std::int64_t first) const {
    typename TotalOf<T>::type total = 0;
    for (std::int64_t j = 0; j < lines_.length; ++j) {
      const std::int64_t at = first + (reverse_ ? lines_.length - 1 - j : j) * lines_.stride;
      if (exclusive_) y[at] = static_cast<T>(total);
      total += static_cast<typename TotalOf<T>::type>(x[at]);
      if (!exclusive_) y[at] = static_cast<T>(total);
    }
  }

  Lines lines_;
  bool exclusive_, reverse_;
};

template <class T>
std::unique_ptr<KernelInstance> prepare_for(const Call& call) {
  const Lines lines(call.tensors[0].shape, axis_of(kName, call));
  return std::make_unique<Cumsum<T>>(lines, flag(call, "exclusive"), flag(call, "reverse"));
}

}  // namespace

std::unique_ptr<KernelInstance> prepare_cumsum(const Call& call) {
  require_tensors(kName, call, 2);
  const TensorDescription& x = call.tensors[0];
  const TensorDescription& y = call.tensors[1];
  if (x.shape != y.shape || x.dtype != y.dtype) {
    fail_call(kName, call, "the shapes or dtypes do not fit");
  }
  switch (x.dtype) {
    case DType::f32: return prepare_for<float>(call);
    case DType::f64: return prepare_for<double>(call);
    case DType::i32: return prepare_for<std::int32_t>(call);
    case DType::i64: return prepare_for<std::int64_t>(call);
    case DType::u8: return prepare_for<std::uint8_t>(call);
    default: fail_call(kName, call, "only numbers are added");
  }
}

}  // namespace trireme::kernels
