#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/dtype.h"
#include "trireme/export.h"

namespace trireme {

// An array in host memory: a dtype, a concrete shape and the elements in row-major order,
// contiguous. A copy of a Tensor is another handle to the same memory; clone() copies the elements.
// Several threads may read one Tensor. The caller must synchronize writes.
class TRIREME_API Tensor {
 public:
  Tensor() = default;                                    // f32[0]
  Tensor(DType dtype, std::vector<std::int64_t> shape);  // zeros
  static Tensor uninitialized(DType dtype, std::vector<std::int64_t> shape);

  template <class T>
  static Tensor from(std::vector<std::int64_t> shape, const std::vector<T>& values);
  template <class T>
  static Tensor from(std::vector<std::int64_t> shape, std::initializer_list<T> values) {
    return from<T>(std::move(shape), std::vector<T>(values));
  }
  template <class T>
  static Tensor scalar(T value) {
    return from<T>({}, std::vector<T>{value});
  }

  // A Tensor of memory from elsewhere, in row-major order. `owner` is kept as long as a handle to
  // the memory exists; with null the caller keeps the memory. Kernels read `data` in place, and
  // writing to the Tensor writes there. Errors: usage, for a null pointer to elements, or an
  // address that is not a multiple of the size of an element.
  static Tensor from_external(DType dtype, std::vector<std::int64_t> shape, void* data,
                              std::shared_ptr<const void> owner);

  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  std::int64_t dim(int axis) const;  // negative axes count from the end. Errors: usage
  std::int64_t elements() const { return elements_; }
  std::size_t size_bytes() const { return static_cast<std::size_t>(elements_) * size_of(dtype_); }

  // The memory; null if there are no elements. Aligned to 64 bytes, except in Tensors made by
  // rows() and from_external().
  std::byte* bytes() { return data_.get(); }
  const std::byte* bytes() const { return data_.get(); }

  // The elements as T. Errors: usage, if T is not the dtype. bf16 and f16 have no C++ type: cast()
  // them.
  template <class T>
  T* data() {
    check_type<T>();
    return reinterpret_cast<T*>(data_.get());
  }
  template <class T>
  const T* data() const {
    check_type<T>();
    return reinterpret_cast<const T*>(data_.get());
  }

  // The only element. Errors: usage, if there is not exactly one element or T is not the dtype.
  template <class T>
  T item() const {
    check_single();
    return *data<T>();
  }
  template <class T>
  std::vector<T> to_vector() const {
    return std::vector<T>(data<T>(), data<T>() + elements_);
  }

  Tensor clone() const;
  Tensor reshaped(std::vector<std::int64_t> shape) const;   // shares memory; one -1 is inferred
  Tensor rows(std::int64_t begin, std::int64_t end) const;  // [begin, end) of axis 0; shares memory
  // Returns a copy with another dtype. Floats become integers by truncation and saturate; NaN
  // becomes 0. Conversions to bf16 and f16 go through f32 and round to nearest.
  Tensor cast(DType dtype) const;

  bool shares_memory() const { return data_.use_count() > 1; }
  std::string type_str() const;               // "f32[64, 10]"
  std::string str(int edge_items = 3) const;  // for display: shortens long axes in the middle

 private:
  template <class T>
  void check_type() const {
    if (dtype_ != dtype_of<T>) fail_type(dtype_of<T>);
  }
  [[noreturn]] void fail_type(DType asked) const;
  void check_single() const;
  void check_count(std::size_t values) const;

  DType dtype_ = DType::f32;
  std::vector<std::int64_t> shape_{0};
  std::int64_t elements_ = 0;
  std::shared_ptr<std::byte> data_;
};

TRIREME_API std::ostream& operator<<(std::ostream& out, const Tensor& tensor);  // str()

// Returns whether dtype, shape and the bits of every element are equal.
TRIREME_API bool equal(const Tensor& a, const Tensor& b);

template <class T>
Tensor Tensor::from(std::vector<std::int64_t> shape, const std::vector<T>& values) {
  Tensor result = uninitialized(dtype_of<T>, std::move(shape));
  result.check_count(values.size());
  std::copy(values.begin(), values.end(), result.data<T>());
  return result;
}

}  // namespace trireme
