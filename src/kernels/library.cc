#include "kernels/library.h"

#include "kernels/families.h"

namespace trireme::kernels {

Prepare find(const std::string& name) {
  if (name == "conv2d_forward") return prepare_conv2d_forward;
  if (name == "conv2d_input_gradient") return prepare_conv2d_input_gradient;
  if (name == "conv2d_weight_gradient") return prepare_conv2d_weight_gradient;
  if (name == "gemm") return prepare_gemm;
  return find_loop(name);
}

}  // namespace trireme::kernels
