#include "kernels/families.h"
#include "kernels/library.h"

namespace trireme::kernels {

namespace {

constexpr KernelEntry kLoops[] = {TRIREME_LOOP_KERNELS(TRIREME_KERNEL_ENTRY)};

}  // namespace

Prepare find_loop(const std::string& name) {
  for (const KernelEntry& entry : kLoops) {
    if (name == entry.name) return entry.prepare;
  }
  static const HostFunctions kNone;
  if (name == "host_call") return host_calls(kNone);
  return nullptr;
}

}  // namespace trireme::kernels
