#pragma once

// The loops over one row of scores that attention.cc needs between matrix products, for AVX-512,
// AVX2 or any processor. NaN is kept.

#include <cstdint>

namespace trireme::kernels {

template <class T>
struct AttentionRows {
  // The largest of n numbers; -infinity if there is none. NaN may be left out.
  T (*max)(const T* x, std::int64_t n);
  // Replaces x by exp((x - shift) * scale) and returns the sum. f32: below exp(-87) it is 0. It
  // is 1 where x equals the shift. x * scale - shift may be far from 0 there, because a fused
  // multiply-add rounds the difference only.
  double (*exp)(T* x, std::int64_t n, T scale, T shift);
  void (*scale)(T* x, std::int64_t n, T factor);
  // Replaces dp by p * (dp - shift) * scale.
  void (*gradient)(T* dp, const T* p, std::int64_t n, T shift, T scale);
};

// The fastest for this processor.
template <class T>
const AttentionRows<T>& attention_rows();
template <>
const AttentionRows<float>& attention_rows();
template <>
const AttentionRows<double>& attention_rows();

}  // namespace trireme::kernels
