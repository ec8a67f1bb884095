// cummax: x, values, indices. Attribute: axis.
// values[i] = max(x[0], ..., x[i]) along every line of an axis, and the index of that element. Of
// equal elements, the last one counts; NaN counts as larger than every number.

#include <cmath>
#include <type_traits>

#include "kernels/families.h"
#include "kernels/lines.h"

namespace trireme::kernels {

namespace {

constexpr const char* kName = "cummax";

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  return false;
}

template <class T>
class Cummax : public KernelInstance {
 public:
  explicit Cummax(const Lines& lines) : lines_(lines) {}

  void run(void* const* tensors, void*, device::Device& device) override {
    const auto* x = static_cast<const T*>(tensors[0]);
    auto* values = static_cast<T*>(tensors[1]);
    auto* indices = static_cast<std::int64_t*>(tensors[2]);
    if (lines_.length == 0) return;
    run_lines(lines_.count, lines_.length, device, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) scan(x, values, indices, lines_.first(i));
    });
  }

 private:
  void scan(const T* x, T* values, std::int64_t* indices, std::int64_t first) const {
    T largest = x[first];
    std::int64_t index = 0;
    for (std::int64_t j = 0; j < lines_.length; ++j) {
      const std::int64_t at = first + j * lines_.stride;
      if (is_nan(x[at]) || (!is_nan(largest) && x[at] >= largest)) largest = x[at], index = j;
      values[at] = largest;
      indices[at] = index;
    }
  }

  Lines lines_;
};

template <class T>
std::unique_ptr<KernelInstance> prepare_for(const Call& call) {
  return std::make_unique<Cummax<T>>(Lines(call.tensors[0].shape, axis_of(kName, call)));
}

}  // namespace

std::unique_ptr<KernelInstance> prepare_cummax(const Call& call) {
  require_tensors(kName, call, 3);
  const TensorDescription& x = call.tensors[0];
  if (call.tensors[1].shape != x.shape || call.tensors[1].dtype != x.dtype ||
      call.tensors[2].shape != x.shape || call.tensors[2].dtype != DType::i64) {
    fail_call(kName, call, "the shapes or dtypes do not fit");
  }
  switch (x.dtype) {
    case DType::f32: return prepare_for<float>(call);
    case DType::f64: return prepare_for<double>(call);
    case DType::i32: return prepare_for<std::int32_t>(call);
    case DType::i64: return prepare_for<std::int64_t>(call);
    case DType::u8: return prepare_for<std::uint8_t>(call);
    default: fail_call(kName, call, "only numbers are compared");
  }
}

}  // namespace trireme::kernels
