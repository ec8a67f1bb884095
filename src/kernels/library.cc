#include "kernels/library.h"

#include "kernels/families.h"

namespace trireme::kernels {

namespace {

struct Entry {
  const char* name;
  Prepare prepare;
};

constexpr Entry kTable[] = {
    {"argsort", prepare_argsort},
    {"assign_rows", prepare_assign_rows},
    {"check_indices", prepare_check_indices},
    {"convolution", prepare_convolution},
    {"convolution_input_gradient", prepare_convolution_input_gradient},
    {"convolution_weight_gradient", prepare_convolution_weight_gradient},
    {"cumsum", prepare_cumsum},
    {"gemm", prepare_gemm},
    {"scatter_add", prepare_scatter_add},
    {"scatter_add_along_axis", prepare_scatter_add_along_axis},
    {"scatter_add_nd", prepare_scatter_add_nd},
    {"sort", prepare_sort},
    {"sum_rows", prepare_sum_rows},
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
