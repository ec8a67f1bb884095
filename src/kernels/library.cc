#include "kernels/library.h"

#include "kernels/families.h"

namespace trireme::kernels {

Prepare find(const std::string& name) {
  if (name == "convolution") return prepare_convolution;
  if (name == "convolution_input_gradient") return prepare_convolution_input_gradient;
  if (name == "convolution_weight_gradient") return prepare_convolution_weight_gradient;
  if (name == "gemm") return prepare_gemm;
  return find_loop(name);
}

}  // namespace trireme::kernels
