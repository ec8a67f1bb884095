#include "kernels/product.h"

#include <cblas.h>
#include <dnnl.h>

#include <algorithm>
#include <mutex>

#include "base/error.h"
#include "kernels/one_thread.h"

namespace trireme::kernels {

namespace {

// Measured on Zen 4 (AVX-512): oneDNN is 5-15% faster than OpenBLAS down to about 16 columns, below
// it 30% slower. Measured on Zen 3 (AVX2): OpenBLAS is faster but for a few rows, where it reaches
// 7% of peak and oneDNN 27%.
bool onednn_is_faster(const Product& p) {
#if defined(__x86_64__)
  static const bool has_avx512 = __builtin_cpu_supports("avx512f") > 0;
  return has_avx512 ? p.n >= 16 : p.m <= 4;
#else
  (void)p;
  return false;
#endif
}

CBLAS_TRANSPOSE order(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

void multiply_run(const Product& p, const float* a, const float* b, float* c) {
  const float kept = p.accumulate ? 1.0f : 0.0f;
  if (onednn_is_faster(p)) {
    const OneOpenMpThread one_thread;
    const dnnl_status_t status =
        dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k, 1.0f, a,
                   p.a_stride, b, p.b_stride, kept, c, p.c_stride);
    if (status == dnnl_success) return;
    if (status != dnnl_unimplemented) fail_internal("oneDNN refused a matrix product");
  }
  cblas_sgemm(CblasRowMajor, order(p.transpose_a), order(p.transpose_b), static_cast<int>(p.m),
              static_cast<int>(p.n), static_cast<int>(p.k), 1.0f, a, static_cast<int>(p.a_stride),
              b, static_cast<int>(p.b_stride), kept, c, static_cast<int>(p.c_stride));
}

}  // namespace

void prepare_products() {
  static std::once_flag once;
  std::call_once(once, [] { openblas_set_num_threads(1); });
}

void multiply(const Product& whole, const float* a, const float* b, float* c) {
  // A transposed operand of many rows is packed in runs that fit the caches: 100 GFLOP/s instead of
  // 80 without it, for 6720 rows on Sapphire Rapids.
  constexpr std::int64_t kRun = 512;
  Product p = whole;
  p.k = whole.transpose_a ? std::min(kRun, whole.k) : whole.k;
  for (std::int64_t from = 0; from < whole.k; from += p.k) {
    p.k = std::min(p.k, whole.k - from);
    p.accumulate = whole.accumulate || from > 0;
    multiply_run(p, a, b, c);
    a += p.k * (p.transpose_a ? p.a_stride : 1);
    b += p.k * (p.transpose_b ? 1 : p.b_stride);
  }
}

void multiply(const Product& p, const double* a, const double* b, double* c) {
  cblas_dgemm(CblasRowMajor, order(p.transpose_a), order(p.transpose_b), static_cast<int>(p.m),
              static_cast<int>(p.n), static_cast<int>(p.k), 1.0, a, static_cast<int>(p.a_stride), b,
              static_cast<int>(p.b_stride), p.accumulate ? 1.0 : 0.0, c,
              static_cast<int>(p.c_stride));
}

}  // namespace trireme::kernels
