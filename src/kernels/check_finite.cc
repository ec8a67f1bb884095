// check_finite: x, y. Attribute: what.
// y = x, if all of them are finite.

#include <fmt/core.h>

#include <cmath>
#include <string>

#include "base/error.h"
#include "kernels/call.h"
#include "kernels/families.h"

namespace trireme::kernels {

namespace {

template <class T>
class CheckFinite : public KernelInstance {
 public:
  CheckFinite(std::int64_t count, std::string what) : count_(count), what_(std::move(what)) {}

  void run(void* const* tensors, void*, device::Device&) override {
    const auto* x = static_cast<const T*>(tensors[0]);
    auto* y = static_cast<T*>(tensors[1]);
    for (std::int64_t i = 0; i < count_; ++i) {
      if (!std::isfinite(x[i])) fail(ErrorKind::numeric, fmt::format("{} is {}", what_, x[i]));
      y[i] = x[i];
    }
  }

 private:
  std::int64_t count_;
  std::string what_;
};

}  // namespace

std::unique_ptr<KernelInstance> prepare_check_finite(const Call& call) {
  require_tensors("check_finite", call, 2);
  const TensorDescription& x = call.tensors[0];
  if (x.dtype != call.tensors[1].dtype || x.shape != call.tensors[1].shape) {
    fail_call("check_finite", call, "the result must be like the numbers");
  }
  const std::int64_t count = elements(x.shape);
  switch (x.dtype) {
    case DType::f32: return std::make_unique<CheckFinite<float>>(count, text(call, "what"));
    case DType::f64: return std::make_unique<CheckFinite<double>>(count, text(call, "what"));
    default: fail_call("check_finite", call, "only floats can be infinite");
  }
}

}  // namespace trireme::kernels
