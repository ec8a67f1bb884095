#include <algorithm>
#include <cmath>
#include <limits>

#include "functions.h"

namespace trireme::edges {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Limits {
  double denormal, smallest, epsilon, largest;  // smallest is normal
};

Limits limits_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::min(),
              std::numeric_limits<double>::epsilon(), std::numeric_limits<double>::max()};
    case DType::bf16: return {0x1p-133, 0x1p-126, 0x1p-7, 0x1.fep127};
    case DType::f16: return {0x1p-24, 0x1p-14, 0x1p-10, 65504};
    default:
      return {std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(),
              std::numeric_limits<float>::epsilon(), std::numeric_limits<float>::max()};
  }
}

// The value that a tensor of this dtype holds.
double held(double x, DType dtype) {
  return Tensor::from<double>({1}, {x}).cast(dtype).cast(DType::f64).data<double>()[0];
}

// With both signs, each once, as `dtype` holds them. Infinity and NaN are added.
std::vector<double> both_signs(const std::vector<double>& sizes, DType dtype) {
  std::vector<double> all;
  for (const double size : sizes) {
    const double x = held(size, dtype);
    if (!std::isfinite(x)) continue;
    if (x == 0 && size != 0) continue;  // too small for this dtype
    if (std::find(all.begin(), all.end(), x) != all.end()) continue;
    all.push_back(x);
    all.push_back(-x);
  }
  all.insert(all.end(), {kInfinity, -kInfinity, kNan});
  return all;
}

// Repeats the numbers until there are `width`.
std::vector<double> cycled(const std::vector<double>& numbers, std::size_t width) {
  std::vector<double> row(width);
  for (std::size_t i = 0; i < width; ++i) row[i] = numbers[i % numbers.size()];
  return row;
}

}  // namespace

std::vector<double> points_of(DType dtype) {
  const Limits l = limits_of(dtype);
  return both_signs({0,
                     l.denormal,
                     37 * l.denormal,
                     l.smallest,
                     1e-30,
                     1e-20,
                     1e-8,
                     1e-4,
                     0.1,
                     0.25,
                     0.5,
                     1 - l.epsilon,
                     1,
                     1 + l.epsilon,
                     1.5,
                     2,
                     2.5,
                     3,
                     3.5,
                     4,
                     6,
                     8.5,
                     20,
                     60,
                     88.5,
                     103.5,
                     355,
                     700,
                     745.5,
                     1000,
                     30000,
                     1e5,
                     1e10,
                     1e15,
                     1e20,
                     1e30,
                     1e150,
                     l.largest / 2,
                     l.largest},
                    dtype);
}

std::vector<double> few_points_of(DType dtype) {
  const Limits l = limits_of(dtype);
  return both_signs({0, l.denormal, l.smallest, 1e-8, 0.5, 1, 1.5, 2, 3, 60, 1e10, l.largest},
                    dtype);
}

std::vector<std::vector<double>> rows_of(DType dtype, std::size_t width) {
  const Limits l = limits_of(dtype);
  const std::vector<std::vector<double>> patterns = {{0},
                                                     {-0.0, 0, 0, -0.0},
                                                     {1},
                                                     {2, 2, 1, 1},
                                                     {1, 2, 2, -3},
                                                     {-1, -1, -2, -2},
                                                     {kNan, 1, 2, 3},
                                                     {1, 2, kNan, 3},
                                                     {kNan, 1, kNan, 2},
                                                     {kNan},
                                                     {kInfinity, 1, 2, 3},
                                                     {1, 2, 3, kInfinity},
                                                     {kInfinity, kInfinity, 1, 0},
                                                     {-kInfinity, 1, 2, 3},
                                                     {1, 2, 3, -kInfinity},
                                                     {-kInfinity},
                                                     {kInfinity},
                                                     {kInfinity, -kInfinity, 0, 1},
                                                     {kNan, kInfinity, -kInfinity, 0},
                                                     {l.denormal, 0, 3 * l.denormal, l.denormal},
                                                     {l.smallest, 2 * l.smallest, -l.smallest, 0},
                                                     {1e-20, 2e-20, 1e-20, -1e-20},
                                                     {l.largest, 0, 1, -1},
                                                     {l.largest, -l.largest, l.largest, 1},
                                                     {l.largest},
                                                     {1000, 1001, 1002, 1003},
                                                     {88, 89, 90, 91},
                                                     {500, -500, 0, 5},
                                                     {-1000, -1001, -999, -1000},
                                                     {0.5, -1.25, 3, 2}};
  if (width == 0) return {{}, {}};
  std::vector<std::vector<double>> all;
  for (const std::vector<double>& pattern : patterns) {
    std::vector<double> row = cycled(pattern, width);
    for (double& x : row) x = held(x, dtype);
    all.push_back(std::move(row));
  }
  return all;
}

Source numbers(DType dtype, const std::vector<double>& values) {
  Source source{{}, false, dtype};
  for (const double x : values) source.entries.push_back({x});
  return source;
}

Source points(DType dtype) { return numbers(dtype, points_of(dtype)); }
Source few_points(DType dtype) { return numbers(dtype, few_points_of(dtype)); }
Source rows(DType dtype, std::size_t width) { return {rows_of(dtype, width), true, dtype}; }

Tensor weights(DType dtype, const std::vector<std::int64_t>& shape) {
  Tensor tensor(DType::f64, shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.data<double>()[i] = 1 + 0.5 * static_cast<double>(i % 3);
  }
  return tensor.cast(dtype);
}

}  // namespace trireme::edges
