#pragma once

// The list of all kernels. A kernel is one line here and the function prepare_<name>() in the file
// of its family, whose first comment has the kernel's tensors and attributes. library.cc and
// loops.cc find kernels by their names in these lists.

#include "kernels/library.h"

// Kernels that call OpenBLAS or oneDNN.
#define TRIREME_LIBRARY_KERNELS(KERNEL) \
  KERNEL(attention)                     \
  KERNEL(attention_gradient)            \
  KERNEL(cholesky)                      \
  KERNEL(convolution)                   \
  KERNEL(convolution_input_gradient)    \
  KERNEL(convolution_weight_gradient)   \
  KERNEL(eigh)                          \
  KERNEL(gemm)                          \
  KERNEL(qr)                            \
  KERNEL(slogdet)                       \
  KERNEL(solve)                         \
  KERNEL(svd)

// Kernels that need no library; the inference library has these alone.
#define TRIREME_LOOP_KERNELS(KERNEL) \
  KERNEL(argsort)                    \
  KERNEL(assign_rows)                \
  KERNEL(check_finite)               \
  KERNEL(check_indices)              \
  KERNEL(complex_fft)                \
  KERNEL(ctc)                        \
  KERNEL(ctc_gradient)               \
  KERNEL(cummax)                     \
  KERNEL(cumsum)                     \
  KERNEL(inverse_real_fft)           \
  KERNEL(real_fft)                   \
  KERNEL(rnn_schedule)               \
  KERNEL(row_splits)                 \
  KERNEL(scatter_add)                \
  KERNEL(scatter_add_along_axis)     \
  KERNEL(scatter_add_nd)             \
  KERNEL(segment_ids)                \
  KERNEL(segment_max)                \
  KERNEL(segment_sum)                \
  KERNEL(sort)                       \
  KERNEL(sum_rows)

namespace trireme::kernels {

#define TRIREME_DECLARE_KERNEL(name) \
  std::unique_ptr<KernelInstance> prepare_##name(const Call& call);
TRIREME_LIBRARY_KERNELS(TRIREME_DECLARE_KERNEL)
TRIREME_LOOP_KERNELS(TRIREME_DECLARE_KERNEL)
#undef TRIREME_DECLARE_KERNEL

struct KernelEntry {
  const char* name;
  std::unique_ptr<KernelInstance> (*prepare)(const Call& call);
};
#define TRIREME_KERNEL_ENTRY(name) {#name, prepare_##name},

}  // namespace trireme::kernels
