#pragma once

// Sums of lines of numbers, as base/summation.h says. Sums of integers wrap.

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "base/summation.h"

namespace trireme::kernels {

template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

// Whether a kernel that adds `updates` numbers to `places` sums keeps them in f64. It then needs at
// most a quarter of the memory of the updates. Otherwise a sum has few additions on average.
template <class T>
bool adds_in_f64(std::int64_t places, std::int64_t updates) {
  return std::is_same_v<T, float> && updates > kMaxAdditions && updates / 8 >= places;
}

// y[j] = line(0)[j] + ... + line(count - 1)[j] for j in [0, columns); 0 if count is 0.
template <class T, class Line>
void add_in_order(std::int64_t count, std::int64_t columns, const Line& line, T* y) {
  if (count == 0) {
    std::fill_n(y, columns, T{0});
    return;
  }
  std::copy_n(line(0), columns, y);
  for (std::int64_t i = 1; i < count; ++i) {
    const T* x = line(i);
    for (std::int64_t j = 0; j < columns; ++j) y[j] = sum_of(y[j], x[j]);
  }
}

// add_lines() for more than kMaxAdditions lines of f32. A function of its own, because its totals
// would slow down the many calls with few lines.
template <class Line>
[[gnu::noinline]] void add_in_blocks(std::int64_t count, std::int64_t columns, const Line& line,
                                     float* y) {
  constexpr std::int64_t kWidth = 256;
  std::array<double, kWidth> totals;
  for (std::int64_t from = 0; from < columns; from += kWidth) {
    const std::int64_t width = std::min(kWidth, columns - from);
    std::fill_n(totals.begin(), width, 0.0);
    for (std::int64_t i = 0; i < count; i += kMaxAdditions) {
      const auto in_block = [&](std::int64_t k) { return line(i + k) + from; };
      add_in_order(std::min(kMaxAdditions, count - i), width, in_block, y + from);
      for (std::int64_t j = 0; j < width; ++j) {
        totals[static_cast<std::size_t>(j)] += static_cast<double>(y[from + j]);
      }
    }
    for (std::int64_t j = 0; j < width; ++j) {
      y[from + j] = static_cast<float>(totals[static_cast<std::size_t>(j)]);
    }
  }
}

// add_in_order(), but f32 within the error above. `line(i)` returns a pointer to `columns` numbers,
// which do not overlap with y.
template <class T, class Line>
void add_lines(std::int64_t count, std::int64_t columns, const Line& line, T* y) {
  if constexpr (std::is_same_v<T, float>) {
    if (count > kMaxAdditions) return add_in_blocks(count, columns, line, y);
  }
  add_in_order(count, columns, line, y);
}

}  // namespace trireme::kernels
