#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trireme/dtype.h"

namespace trireme {

// A view of memory of a run, passed to a host function. Valid only during the call.
struct HostTensor {
  DType dtype = DType::f32;
  const std::vector<std::int64_t>* shape = nullptr;
  void* data = nullptr;  // row-major; may be null if there are no elements

  std::size_t size_bytes() const {
    std::size_t bytes = size_of(dtype);
    for (const std::int64_t size : *shape) bytes *= static_cast<std::size_t>(size);
    return bytes;
  }
  // The elements. Precondition: T is the C++ type of the dtype.
  template <class T>
  std::span<T> elements() const {
    return {static_cast<T*>(data), size_bytes() / sizeof(T)};
  }
};

// A function that the op host_call runs. It reads the operands, must not change them, and fills the
// result. `key` is the op's attribute `key`. An exception ends the run; an Error is rethrown with
// the op's layer and line.
using HostFunction = std::function<void(const std::string& key,
                                        std::span<const HostTensor> operands, HostTensor& result)>;
using HostFunctions = std::map<std::string, HostFunction>;  // by name

}  // namespace trireme
