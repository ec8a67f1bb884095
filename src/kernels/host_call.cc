// host_call: operands, result. Attributes: name, key.
// Calls a function of the host program.

#include <cstring>

#include "base/error.h"
#include "kernels/call.h"
#include "kernels/families.h"

namespace trireme::kernels {
namespace {

class HostCall : public KernelInstance {
 public:
  HostCall(const HostFunctions& functions, const Call& call)
      : name_(text(call, "name")), key_(text(call, "key")), call_(call) {
    const auto found = functions.find(name_);
    if (found != functions.end()) function_ = &found->second;
    for (const TensorDescription& tensor : call_.tensors) {
      tensors_.push_back({tensor.dtype, &tensor.shape, nullptr});
    }
  }

  void run(void* const* tensors, void*, device::Device&) override {
    for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].data = tensors[i];
    HostTensor& result = tensors_.back();
    if (name_.empty()) {
      if (result.size_bytes() > 0) std::memset(result.data, 0, result.size_bytes());
      return;
    }
    if (function_ == nullptr) {
      fail_usage("host_call: there is no function \"" + name_ +
                 "\"\n  hint   give it to the Session, in SessionOptions::host");
    }
    (*function_)(key_, std::span<const HostTensor>(tensors_).first(tensors_.size() - 1), result);
  }

 private:
  const HostFunction* function_ = nullptr;
  const std::string name_, key_;  // without a name the result is zeros
  const Call call_;
  std::vector<HostTensor> tensors_;
};

}  // namespace

Prepare host_calls(const HostFunctions& functions) {
  return [&functions](const Call& call) -> std::unique_ptr<KernelInstance> {
    if (call.tensors.empty()) fail_call("host_call", call, "there is no result");
    return std::make_unique<HostCall>(functions, call);
  };
}

}  // namespace trireme::kernels
