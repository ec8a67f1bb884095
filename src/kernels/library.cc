#include "kernels/library.h"

#include "kernels/families.h"

namespace trireme::kernels {

namespace {

constexpr KernelEntry kLibraryKernels[] = {TRIREME_LIBRARY_KERNELS(TRIREME_KERNEL_ENTRY)};

}  // namespace

Prepare find(const std::string& name) {
  for (const KernelEntry& entry : kLibraryKernels) {
    if (name == entry.name) return entry.prepare;
  }
  return find_loop(name);
}

}  // namespace trireme::kernels
