#include "distributed/collectives/ring.h"

namespace trireme::distributed {
namespace {

template <class T>
void add(T* __restrict sum, const T* __restrict more, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += more[i];
}

template <class T>
void divide_all(T* values, std::size_t count, int by) {
  const T divisor = static_cast<T>(by);
  for (std::size_t i = 0; i < count; ++i) values[i] /= divisor;
}

}  // namespace

void accumulate(float* sum, const float* more, std::size_t count) { add(sum, more, count); }
void accumulate(double* sum, const double* more, std::size_t count) { add(sum, more, count); }
// Wraps around, like unsigned sums.
void accumulate(std::int64_t* sum, const std::int64_t* more, std::size_t count) {
  add(reinterpret_cast<std::uint64_t*>(sum), reinterpret_cast<const std::uint64_t*>(more), count);
}
void divide(float* values, std::size_t count, int by) { divide_all(values, count, by); }
void divide(double* values, std::size_t count, int by) { divide_all(values, count, by); }
void divide(std::int64_t* values, std::size_t count, int by) { divide_all(values, count, by); }

}  // namespace trireme::distributed
