#include "nn/initialize.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/philox.h"
#include "nn/random.h"

namespace trireme::nn {
namespace {

struct Fans {
  double in = 1, out = 1;
};

// Matrices are [in, out]; tensors of higher rank are [out, in, ...], where the rest is the window.
Fans fans_of(const std::vector<std::int64_t>& shape) {
  if (shape.empty()) return {};
  const auto size = [&](std::size_t i) { return static_cast<double>(shape[i]); };
  if (shape.size() == 1) return {size(0), size(0)};
  if (shape.size() == 2) return {size(0), size(1)};
  double window = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) window *= size(i);
  return {size(1) * window, size(0) * window};
}

double number(const Initializer& initializer, const char* name, double fallback) {
  if (!has_attribute(initializer.attributes, name)) return fallback;
  return get_attribute<double>(initializer.attributes, name);
}

using Numbers = std::vector<double>;
using Span = std::span<double>;

void fill_uniform(Span v, const Random& random, double low, double high) {
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = low + (high - low) * random.uniform(i);
}

void fill_normal(Span v, const Random& random, double mean, double stddev) {
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = mean + stddev * random.normal(i);
}

// Rejected numbers are redrawn from other positions reserved for the element; about 1 in 22 needs a
// redraw.
void fill_truncated(Span v, const Random& random, double mean, double stddev) {
  for (std::size_t i = 0; i < v.size(); ++i) {
    double z = 0;
    std::uint64_t draws = 0;
    do {
      z = random.normal((draws++ << 40) + i);
    } while (std::abs(z) > 2);
    v[i] = mean + stddev * z;
  }
}

// Gram-Schmidt on vectors of normal numbers along the shorter side, run twice for accuracy.
void fill_orthogonal(Span v, const Random& random, std::int64_t rows, double gain) {
  if (v.empty()) return;
  const auto r = static_cast<std::size_t>(rows);
  const std::size_t columns = v.size() / r;
  const std::size_t count = std::min(r, columns), length = std::max(r, columns);
  std::vector<Numbers> basis(count, Numbers(length));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < length; ++j) basis[i][j] = random.normal(i * length + j);
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t other = 0; other < i; ++other) {
        double dot = 0;
        for (std::size_t j = 0; j < length; ++j) dot += basis[i][j] * basis[other][j];
        for (std::size_t j = 0; j < length; ++j) basis[i][j] -= dot * basis[other][j];
      }
    }
    double norm = 0;
    for (const double x : basis[i]) norm += x * x;
    for (double& x : basis[i]) x /= std::sqrt(norm);
  }
  for (std::size_t i = 0; i < r; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      v[i * columns + j] = gain * (r <= columns ? basis[i][j] : basis[j][i]);
    }
  }
}

// Returns false if there is no initializer of that name.
bool fill(Span v, const Initializer& init, const std::vector<std::int64_t>& shape,
          const Random& random) {
  const Fans fans = fans_of(shape);
  const double gain = number(init, "gain", 1);
  // Standard deviations. That of a uniform number in [-b, b] is b / sqrt(3).
  const double xavier = gain * std::sqrt(2 / std::max(1.0, fans.in + fans.out));
  const double kaiming = gain / std::sqrt(std::max(1.0, fans.in));
  const double mean = number(init, "mean", 0), stddev = number(init, "stddev", 1);
  const double root3 = std::sqrt(3.0);
  const std::string& name = init.name;
  if (name == "constant") {
    std::fill(v.begin(), v.end(), number(init, "value", 0));
  } else if (name == "uniform") {
    fill_uniform(v, random, number(init, "low", 0), number(init, "high", 1));
  } else if (name == "normal") {
    fill_normal(v, random, mean, stddev);
  } else if (name == "truncated_normal") {
    fill_truncated(v, random, mean, stddev);
  } else if (name == "xavier_uniform") {
    fill_uniform(v, random, -root3 * xavier, root3 * xavier);
  } else if (name == "xavier_normal") {
    fill_normal(v, random, 0, xavier);
  } else if (name == "kaiming_uniform") {
    fill_uniform(v, random, -root3 * kaiming, root3 * kaiming);
  } else if (name == "kaiming_normal") {
    fill_normal(v, random, 0, kaiming);
  } else if (name == "values") {
    const auto& given = get_attribute<Numbers>(init.attributes, "values");
    if (given.size() != v.size()) {
      fail_usage("the initializer values has " + std::to_string(given.size()) + " numbers for " +
                 std::to_string(v.size()) + " elements");
    }
    std::copy(given.begin(), given.end(), v.begin());
  } else if (name == "orthogonal") {
    fill_orthogonal(v, random, shape.empty() ? 1 : shape[0], gain);
  } else {
    return false;
  }
  return true;
}

}  // namespace

Tensor initialize(const ir::Parameter& parameter, std::uint64_t seed) {
  const ir::Type& type = parameter.value->type;
  const Initializer& init = parameter.initializer;
  const std::vector<std::int64_t> shape = evaluate(type.shape, {});
  const std::string what = "parameter " + parameter.name() + " : " + type.str();
  if (init.name != "constant" && !is_arithmetic_float(type.dtype)) {
    fail_usage(what + " cannot be initialized by " + init.name + ", which supports only floats");
  }
  // A fast path: optimizers have several states of zeros per table.
  if (init.name == "constant" && number(init, "value", 0) == 0) return Tensor(type.dtype, shape);
  Tensor wide(DType::f64, shape);
  const Span numbers(wide.data<double>(), static_cast<std::size_t>(wide.elements()));
  if (!fill(numbers, init, shape, Random(seed, stream_named(parameter.name())))) {
    const std::string near = nearest(
        init.name, {"constant", "uniform", "normal", "truncated_normal", "xavier_uniform",
                    "xavier_normal", "kaiming_uniform", "kaiming_normal", "orthogonal", "values"});
    fail_usage(what + ": there is no initializer " + init.name +
               (near.empty() ? "" : "; did you mean " + near + "?"));
  }
  // Any initializer may set one row to zero: the padding row of an embedding.
  if (has_attribute(init.attributes, "zero_row") && !shape.empty() && shape[0] > 0) {
    const auto width = static_cast<std::ptrdiff_t>(numbers.size()) / shape[0];
    const auto row = get_attribute<std::int64_t>(init.attributes, "zero_row");
    if (row < 0 || row >= shape[0]) fail_usage(what + " has no row " + std::to_string(row));
    std::fill_n(numbers.begin() + row * width, width, 0.0);
  }
  return wide.cast(type.dtype);
}

}  // namespace trireme::nn
