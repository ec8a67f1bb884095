#pragma once

// One matrix product on one thread, by the fastest library for it.

#include <cstdint>

namespace trireme::kernels {

// c[m, n] = op(a)[m, k] * op(b)[k, n], all row-major; strides are in elements, from row to row as
// stored.
struct Product {
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t a_stride = 0, b_stride = 0, c_stride = 0;
  bool accumulate = false;  // adds to c
};

// Keeps OpenBLAS from starting threads; acts once per process. Call before multiply().
void prepare_products();

// m, n and k are positive and below 2^31. Safe from several threads at once.
void multiply(const Product& product, const float* a, const float* b, float* c);
void multiply(const Product& product, const double* a, const double* b, double* c);

}  // namespace trireme::kernels
