#include "trireme/tensor.h"

#include <sys/mman.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <ostream>

#include "base/error.h"
#include "base/half.h"

namespace trireme {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

// Errors: usage, if a size is negative or the bytes do not fit into an int64.
std::int64_t count_elements(const std::vector<std::int64_t>& shape, DType dtype) {
  std::int64_t count = 1;
  bool zero = false;
  for (std::int64_t size : shape) {
    if (size < 0) fail_usage("tensor: negative size in shape " + shape_text(shape));
    if (size == 0) zero = true;
    else if (__builtin_mul_overflow(count, size, &count)) {
      fail_usage("tensor: shape " + shape_text(shape) + " is too large");
    }
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, static_cast<std::int64_t>(size_of(dtype)), &bytes)) {
    fail_usage("tensor: shape " + shape_text(shape) + " is too large");
  }
  return zero ? 0 : count;
}

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kLarge = 2 * kHugePage;

// Large tensors request huge pages, so that reads of scattered rows cause fewer TLB misses. The
// request is only advice, and only for pages that the tensor fills completely.
void* take(std::size_t rounded) {
  if (rounded < kLarge) return std::aligned_alloc(kAlignment, rounded);
  void* memory = nullptr;
  if (::posix_memalign(&memory, kHugePage, rounded) != 0) return nullptr;
  ::madvise(memory, rounded / kHugePage * kHugePage, MADV_HUGEPAGE);
  return memory;
}

std::shared_ptr<std::byte> allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = rounded >= bytes ? take(rounded) : nullptr;
  if (memory == nullptr) fail_io("out of memory: a tensor of " + std::to_string(bytes) + " bytes");
  return std::shared_ptr<std::byte>(static_cast<std::byte*>(memory),
                                    [](std::byte* p) { std::free(p); });
}

template <class T>
constexpr bool is_stored_half = std::is_same_v<T, Bf16> || std::is_same_v<T, F16>;

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, From>) return value;
  else if constexpr (is_stored_half<From>) return convert<To>(to_float(value));
  else if constexpr (std::is_same_v<To, Bf16>) return to_bf16(convert<float>(value));
  else if constexpr (std::is_same_v<To, F16>) return to_f16(convert<float>(value));
  else if constexpr (std::is_same_v<To, bool>) return value != From{0};
  else if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
    if (std::isnan(value)) return To{0};
    // 2^63 as a float is one more than the largest int64, so both bounds compare as floats.
    if (value >= static_cast<From>(std::numeric_limits<To>::max())) {
      return std::numeric_limits<To>::max();
    }
    if (value <= static_cast<From>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

// Calls f with a value of the C++ type that stands for `dtype`.
template <class F>
void with_type(DType dtype, F f) {
  switch (dtype) {
    case DType::boolean: return f(bool{});
    case DType::u8: return f(std::uint8_t{});
    case DType::i8: return f(std::int8_t{});
    case DType::i16: return f(std::int16_t{});
    case DType::u16: return f(std::uint16_t{});
    case DType::u32: return f(std::uint32_t{});
    case DType::u64: return f(std::uint64_t{});
    case DType::i32: return f(std::int32_t{});
    case DType::i64: return f(std::int64_t{});
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::bf16: return f(Bf16{});
    case DType::f16: return f(F16{});
  }
}

}  // namespace

Tensor Tensor::uninitialized(DType dtype, std::vector<std::int64_t> shape) {
  Tensor result;
  result.dtype_ = dtype;
  result.elements_ = count_elements(shape, dtype);
  result.shape_ = std::move(shape);
  result.data_ = allocate(result.size_bytes());
  return result;
}

Tensor Tensor::from_external(DType dtype, std::vector<std::int64_t> shape, void* data,
                             std::shared_ptr<const void> owner) {
  Tensor result;
  result.dtype_ = dtype;
  result.elements_ = count_elements(shape, dtype);
  result.shape_ = std::move(shape);
  if (result.elements_ == 0) return result;
  if (data == nullptr) fail_usage("from_external: no memory for " + result.type_str());
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) != 0) {
    fail_usage("from_external: the address of " + result.type_str() +
               " is not a multiple of the size of an element, " + std::to_string(size_of(dtype)) +
               " bytes");
  }
  result.data_ = std::shared_ptr<std::byte>(std::move(owner), static_cast<std::byte*>(data));
  return result;
}

Tensor::Tensor(DType dtype, std::vector<std::int64_t> shape)
    : Tensor(uninitialized(dtype, std::move(shape))) {
  if (data_) std::memset(data_.get(), 0, size_bytes());
}

std::int64_t Tensor::dim(int axis) const {
  const int index = axis < 0 ? axis + rank() : axis;
  if (index < 0 || index >= rank()) {
    fail_usage("tensor: no axis " + std::to_string(axis) + " in " + type_str());
  }
  return shape_[static_cast<std::size_t>(index)];
}

Tensor Tensor::clone() const {
  Tensor result = uninitialized(dtype_, shape_);
  if (data_) std::memcpy(result.data_.get(), data_.get(), size_bytes());
  return result;
}

Tensor Tensor::reshaped(std::vector<std::int64_t> shape) const {
  const std::string asked = shape_text(shape);
  std::int64_t known = 1;
  std::int64_t* inferred = nullptr;
  for (std::int64_t& size : shape) {
    if (size != -1) {
      if (size < 0 || __builtin_mul_overflow(known, size, &known)) {
        fail_usage("reshaped: " + asked + " is not a shape");
      }
    } else if (inferred != nullptr) {
      fail_usage("reshaped: only one size of " + asked + " may be -1");
    } else {
      inferred = &size;
    }
  }
  if (inferred != nullptr) *inferred = known == 0 ? 0 : elements_ / known;
  if (count_elements(shape, dtype_) != elements_) {
    fail_usage("reshaped: " + type_str() + " has " + std::to_string(elements_) +
               " elements, which do not fill " + asked);
  }
  Tensor result = *this;
  result.shape_ = std::move(shape);
  return result;
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t end) const {
  if (rank() == 0) fail_usage("rows: a scalar has no rows");
  if (begin < 0 || begin > end || end > shape_[0]) {
    fail_usage("rows: [" + std::to_string(begin) + ", " + std::to_string(end) + ") is outside " +
               type_str());
  }
  Tensor result = *this;
  result.shape_[0] = end - begin;
  const std::int64_t row = shape_[0] == 0 ? 0 : elements_ / shape_[0];
  result.elements_ = row * (end - begin);
  if (data_) {
    const std::size_t offset = static_cast<std::size_t>(begin * row) * size_of(dtype_);
    result.data_ = std::shared_ptr<std::byte>(data_, data_.get() + offset);
  }
  return result;
}

Tensor Tensor::cast(DType dtype) const {
  Tensor result = uninitialized(dtype, shape_);
  with_type(dtype_, [&](auto from) {
    with_type(dtype, [&](auto to) {
      using To = decltype(to);
      const auto* source = reinterpret_cast<const decltype(from)*>(bytes());
      std::transform(source, source + elements_, reinterpret_cast<To*>(result.bytes()),
                     [](auto value) { return convert<To>(value); });
    });
  });
  return result;
}

std::string Tensor::type_str() const { return std::string(name_of(dtype_)) + shape_text(shape_); }

void Tensor::fail_type(DType asked) const {
  fail_usage("tensor " + type_str() + " read as " + std::string(name_of(asked)) +
             "; cast() converts");
}

void Tensor::check_single() const {
  if (elements_ != 1) fail_usage("item: " + type_str() + " has not exactly one element");
}

void Tensor::check_count(std::size_t values) const {
  if (values != static_cast<std::size_t>(elements_)) {
    fail_usage("tensor: " + std::to_string(values) + " values given for " + type_str());
  }
}

bool equal(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return a.elements() == 0 || std::memcmp(a.bytes(), b.bytes(), a.size_bytes()) == 0;
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.str(); }

}  // namespace trireme
