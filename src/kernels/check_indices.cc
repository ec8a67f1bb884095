// check_indices: indices, y. Attributes: size, what, allowed.
// y = indices, if all of them are in [0, size) or in `allowed`.

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/call.h"
#include "kernels/families.h"

namespace trireme::kernels {

namespace {

// "3, 0" for the place of element i of `shape`.
std::string place_of(std::int64_t i, const Sizes& shape) {
  std::string text;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    text = std::to_string(i % shape[axis]) + (text.empty() ? "" : ", ") + text;
    i /= shape[axis];
  }
  return text;
}

template <class I>
class CheckIndices : public KernelInstance {
 public:
  CheckIndices(Sizes shape, std::int64_t size, std::string what, std::vector<std::int64_t> allowed)
      : shape_(std::move(shape)),
        count_(elements(shape_)),
        size_(size),
        what_(std::move(what)),
        allowed_(std::move(allowed)) {}

  void run(void* const* tensors, void*, device::Device&) override {
    const auto* indices = static_cast<const I*>(tensors[0]);
    auto* y = static_cast<I*>(tensors[1]);
    bool all = true;
    for (std::int64_t i = 0; i < count_; ++i) {
      all &= is_inside(indices[i]);
      y[i] = indices[i];
    }
    if (!all) check_allowed(indices);
  }

 private:
  bool is_inside(I index) const {
    return static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(size_);
  }

  void check_allowed(const I* indices) const {
    const I* wrong = std::find_if(indices, indices + count_, [&](I index) {
      return !is_inside(index) && std::find(allowed_.begin(), allowed_.end(),
                                            static_cast<std::int64_t>(index)) == allowed_.end();
    });
    if (wrong != indices + count_) {
      fail_outside(static_cast<std::int64_t>(*wrong), place_of(wrong - indices, shape_));
    }
  }

  [[noreturn]] void fail_outside(std::int64_t index, const std::string& place) const {
    if (!what_.empty()) {
      std::string what = what_;
      const std::size_t number = what.find("{}");
      if (number != std::string::npos) what.replace(number, 2, std::to_string(index));
      const std::size_t line = std::min(what.find('\n'), what.size());
      fail_data(what.insert(line, fmt::format(", at [{}]", place)));
    }
    fail_data(fmt::format(
        "index {} at [{}] is outside [0, {}): there are {} rows\n  hint   look at the ids that "
        "were fed, or make the table larger",
        index, place, size_, size_));
  }

  Sizes shape_;
  std::int64_t count_, size_;
  std::string what_;
  std::vector<std::int64_t> allowed_;
};

template <class I>
std::unique_ptr<KernelInstance> make(const Call& call, std::int64_t size) {
  return std::make_unique<CheckIndices<I>>(call.tensors[0].shape, size, text(call, "what"),
                                           integers(call, "allowed"));
}

}  // namespace

std::unique_ptr<KernelInstance> prepare_check_indices(const Call& call) {
  require_tensors("check_indices", call, 2);
  const TensorDescription& indices = call.tensors[0];
  const std::int64_t size = integer(call, "size", 0);
  if (indices.dtype != call.tensors[1].dtype || indices.shape != call.tensors[1].shape ||
      size < 0) {
    fail_call("check_indices", call, "the result must be like the indices");
  }
  switch (indices.dtype) {
    case DType::u8: return make<std::uint8_t>(call, size);
    case DType::i32: return make<std::int32_t>(call, size);
    case DType::i64: return make<std::int64_t>(call, size);
    default: fail_call("check_indices", call, "indices must be integers");
  }
}

}  // namespace trireme::kernels
