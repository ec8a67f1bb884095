#include "kernels/library.h"

#include "kernels/families.h"

namespace trireme::kernels {

namespace {

struct Entry {
  const char* name;
  Prepare prepare;
};

constexpr Entry kTable[] = {
    {"conv2d_forward", prepare_conv2d_forward},
    {"conv2d_input_gradient", prepare_conv2d_input_gradient},
    {"conv2d_weight_gradient", prepare_conv2d_weight_gradient},
    {"gemm", prepare_gemm},
    {"scatter_add", prepare_scatter_add},
};

}  // namespace

Prepare find(const std::string& name) {
  for (const Entry& entry : kTable) {
    if (name == entry.name) return entry.prepare;
  }
  return nullptr;
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const Entry& entry : kTable) result.emplace_back(entry.name);
  return result;
}

}  // namespace trireme::kernels
