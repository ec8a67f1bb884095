#pragma once

// The few library kernels behind one table. A call is prepared once for given sizes (primitives
// chosen, work cut into tiles) and then run many times.

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

class Prepared {
 public:
  virtual ~Prepared() = default;
  // What run() needs besides its tensors on a device of that many threads.
  virtual std::size_t workspace_bytes(int threads) const {
    (void)threads;
    return 0;
  }
  // tensors: one pointer per TensorDescription, which may be null if it has no elements; results
  // overlap nothing. The kernel of an op with a side effect has none and changes its first tensor.
  // workspace: 64-byte aligned. Results are the same to the bit for any number of threads of
  // `device`.
  virtual void run(void* const* tensors, void* workspace, device::Device& device) = 0;
};

using Prepare = std::function<std::unique_ptr<Prepared>(const Call& call)>;

// A table of kernels by name: empty if there is no such kernel.
using Find = std::function<Prepare(const std::string& name)>;

Prepare find(const std::string& name);       // all of them; whoever calls it links the libraries
Prepare find_loop(const std::string& name);  // those that are loops of our own
// The kernel `host_call` over these functions, which must outlive what it makes. The tables above have it without any.
Prepare host_calls(const HostFunctions& functions);

}  // namespace trireme::kernels
