#pragma once

// The few library kernels, in one table. A call is prepared once for given sizes (which chooses
// primitives and cuts the work into tiles) and then run many times.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "trireme/attribute.h"
#include "trireme/dtype.h"
#include "trireme/host.h"

namespace trireme::kernels {

struct TensorDescription {
  DType dtype;
  std::vector<std::int64_t> shape;
};

struct Call {
  Attributes attributes;                   // sorted by name
  std::vector<TensorDescription> tensors;  // operands, then results
};

class KernelInstance {
 public:
  virtual ~KernelInstance() = default;
  // The bytes that run() needs besides its tensors, on a device with that many threads.
  virtual std::size_t workspace_bytes(int threads) const {
    (void)threads;
    return 0;
  }
  // tensors: one pointer per TensorDescription, which may be null if it has no elements. Results
  // overlap nothing. The kernel of an op with a side effect has no results and changes its first
  // tensor. workspace: 64-byte aligned. Results are equal to the bit for any number of threads of
  // `device`.
  virtual void run(void* const* tensors, void* workspace, device::Device& device) = 0;
};

using Prepare = std::function<std::unique_ptr<KernelInstance>(const Call& call)>;

// A table of kernels by name; returns an empty function if there is none of that name.
using Find = std::function<Prepare(const std::string& name)>;

Prepare find(const std::string& name);       // all kernels; its callers link the libraries
Prepare find_loop(const std::string& name);  // kernels that need no library
// Returns the kernel `host_call` with these functions, which must outlive its calls. In the tables
// above it has no functions.
Prepare host_calls(const HostFunctions& functions);

}  // namespace trireme::kernels
