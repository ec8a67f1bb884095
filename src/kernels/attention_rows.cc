#include "kernels/attention_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace trireme::kernels {

namespace {

#define TRIREME_INLINE __attribute__((always_inline)) inline

constexpr std::int64_t kLanes = 16;
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Ints = std::int32_t __attribute__((vector_size(kLanes * sizeof(std::int32_t))));

// Calls body with each full vector of x, and with the rest, filled up with `fill`.
template <class Body>
TRIREME_INLINE void for_vectors(float* x, std::int64_t n, float fill, const Body& body) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Floats v;
    std::memcpy(&v, x + i, sizeof v);
    body(v, i);
    std::memcpy(x + i, &v, sizeof v);
  }
  if (i == n) return;
  float rest[kLanes];
  std::fill(rest, rest + kLanes, fill);
  std::copy(x + i, x + n, rest);
  Floats v;
  std::memcpy(&v, rest, sizeof v);
  body(v, i);
  std::memcpy(rest, &v, sizeof v);
  std::copy(rest, rest + (n - i), x + i);
}

// exp of numbers up to about 88 with an error of 2 units in the last place; the polynomial is that
// of Cephes' expf (Moshier).
TRIREME_INLINE void exp_in_place(Floats& x) {
  const Floats low = Floats{} - 87.0f, high = Floats{} + 88.0f;
  const Ints tiny = x < low;
  x = x < low ? low : x;
  x = x > high ? high : x;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  Floats n = x * 1.44269504088896341f + kRound;
  Ints bits;
  std::memcpy(&bits, &n, sizeof bits);
  n -= kRound;
  const Floats r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Floats y = r * 1.9875691500e-4f + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.0f;
  bits = (bits - std::bit_cast<std::int32_t>(kRound) + 127) << 23;
  Floats power;
  std::memcpy(&power, &bits, sizeof power);
  y *= power;
  std::memcpy(&bits, &y, sizeof bits);
  bits &= ~tiny;
  std::memcpy(&x, &bits, sizeof x);
}

TRIREME_INLINE float max_of(const float* x, std::int64_t n) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  Floats most = Floats{} + kNone;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Floats v;
    std::memcpy(&v, x + i, sizeof v);
    most = v > most ? v : most;
  }
  float lanes[kLanes];
  std::memcpy(lanes, &most, sizeof lanes);
  float result = kNone;
  for (const float lane : lanes) result = std::max(result, lane);
  for (; i < n; ++i) result = std::max(result, x[i]);
  return result;
}

TRIREME_INLINE double exp_of(float* x, std::int64_t n, float scale, float shift) {
  Floats sums{};
  for_vectors(x, n, -std::numeric_limits<float>::max(),
              [&](Floats& v, std::int64_t i) __attribute__((always_inline)) {
                v = (v - shift) * scale;
                exp_in_place(v);
                if (i + kLanes <= n) sums += v;
              });
  double sum = 0;
  for (std::int64_t i = n / kLanes * kLanes; i < n; ++i) sum += static_cast<double>(x[i]);
  float lanes[kLanes];
  std::memcpy(lanes, &sums, sizeof lanes);
  for (const float lane : lanes) sum += static_cast<double>(lane);
  return sum;
}

TRIREME_INLINE void scale_of(float* x, std::int64_t n, float factor) {
  for_vectors(x, n, 0,
              [&](Floats& v, std::int64_t) __attribute__((always_inline)) { v *= factor; });
}

TRIREME_INLINE void gradient_of(float* dp, const float* p, std::int64_t n, float shift,
                                float scale) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Floats d, q;
    std::memcpy(&d, dp + i, sizeof d);
    std::memcpy(&q, p + i, sizeof q);
    d = q * (d - shift) * scale;
    std::memcpy(dp + i, &d, sizeof d);
  }
  for (; i < n; ++i) dp[i] = p[i] * (dp[i] - shift) * scale;
}

// The same four loops, compiled for one kind of processor.
#define TRIREME_ATTENTION_ROWS(Name, target)                                                     \
  struct Name {                                                                                  \
    target static float max(const float* x, std::int64_t n) { return max_of(x, n); }             \
    target static double exp(float* x, std::int64_t n, float scale, float shift) {               \
      return exp_of(x, n, scale, shift);                                                         \
    }                                                                                            \
    target static void scale(float* x, std::int64_t n, float factor) { scale_of(x, n, factor); } \
    target static void gradient(float* dp, const float* p, std::int64_t n, float shift,          \
                                float scale) {                                                   \
      gradient_of(dp, p, n, shift, scale);                                                       \
    }                                                                                            \
    static constexpr AttentionRows<float> kTable{max, exp, scale, gradient};                     \
  };

TRIREME_ATTENTION_ROWS(AnyRows, )
#if defined(__x86_64__)
TRIREME_ATTENTION_ROWS(Avx2Rows, __attribute__((target("avx2,fma"))))
TRIREME_ATTENTION_ROWS(Avx512Rows, __attribute__((target("avx512f"))))
#endif

struct DoubleRows {
  static double max(const double* x, std::int64_t n) {
    double result = -std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < n; ++i) result = std::max(result, x[i]);
    return result;
  }
  static double exp(double* x, std::int64_t n, double scale, double shift) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += x[i] = std::exp((x[i] - shift) * scale);
    return sum;
  }
  static void scale(double* x, std::int64_t n, double factor) {
    for (std::int64_t i = 0; i < n; ++i) x[i] *= factor;
  }
  static void gradient(double* dp, const double* p, std::int64_t n, double shift, double scale) {
    for (std::int64_t i = 0; i < n; ++i) dp[i] = p[i] * (dp[i] - shift) * scale;
  }
  static constexpr AttentionRows<double> kTable{max, exp, scale, gradient};
};

}  // namespace

template <>
const AttentionRows<float>& attention_rows() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") > 0) return Avx512Rows::kTable;
  if (__builtin_cpu_supports("avx2") > 0 && __builtin_cpu_supports("fma") > 0) {
    return Avx2Rows::kTable;
  }
#endif
  return AnyRows::kTable;
}

template <>
const AttentionRows<double>& attention_rows() {
  return DoubleRows::kTable;
}

}  // namespace trireme::kernels
