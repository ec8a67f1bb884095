#include "trireme/fft.h"

#include <cmath>
#include <string>

#include "nn/axes.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme {
namespace {

// One transform along one axis.
class Axis {
 public:
  Axis(const char* what, const Value& x, bool is_complex, const FftOptions& options)
      : what_(what), x_(x), is_complex_(is_complex), options_(options) {
    if (!is_arithmetic_float(x.dtype())) refuse("x must be f32 or f64", "cast it: cast(x, f32)");
    if (is_complex && (x.rank() < 1 || x.dim(-1) != Dim(2))) {
      refuse("x must be complex numbers [..., 2]",
             "the last dimension has the real and the imaginary part: stack({re, im}, -1)");
    }
    axis_ = nn::axis_below(what, x, options.axis, x.rank() - (is_complex ? 1 : 0));
    if (!size().is_constant()) {
      refuse("axis " + std::to_string(axis_) + " has no constant size", "transform another axis");
    }
    if (options.n < 0) refuse("n is " + std::to_string(options.n), "0 is the size of the axis");
  }

  Value forward(bool real) const {
    const std::int64_t points = options_.n == 0 ? size().constant() : options_.n;
    const Value x = line(points);
    const Value y = real ? real_fft(x) : complex_fft(x);
    return back(y, true, factor(points, FftNorm::forward));
  }
  Value inverse() const {
    const std::int64_t points = options_.n == 0 ? size().constant() : options_.n;
    return back(complex_fft(line(points), {.inverse = true}), true,
                factor(points, FftNorm::backward));
  }
  Value inverse_real() const {
    const std::int64_t points = options_.n == 0 ? 2 * (size().constant() - 1) : options_.n;
    const Value x = line(points < 1 ? points : points / 2 + 1);
    return back(inverse_real_fft(x, {.size = points}), false, factor(points, FftNorm::backward));
  }

 private:
  [[noreturn]] void refuse(const std::string& message, const std::string& hint) const {
    nn::fail_layer(what_, message, hint, x_);
  }
  const Dim& size() const { return x_.shape()[axis_]; }
  double factor(std::int64_t points, FftNorm scaled) const {
    const auto n = static_cast<double>(points);
    if (options_.norm == FftNorm::ortho) return 1 / std::sqrt(n);
    return options_.norm == scaled ? 1 / n : 1;
  }
  // Returns x with the axis cut or filled to `count`, and moved after all others.
  Value line(std::int64_t count) const {
    if (count < 1) {
      refuse("there are no points to transform", "n, or the size of the axis, is at least 1");
    }
    Value x = x_;
    Shape zeros(x.shape().size(), 0), limits = x.shape();
    limits[axis_] = count;
    if (count < size().constant()) x = slice(x, {.starts = zeros, .limits = limits});
    if (count > size().constant()) {
      Shape high = zeros;
      high[axis_] = count - size().constant();
      x = pad(x, {.low = zeros, .high = high});
    }
    return moved(x, is_complex_);
  }
  Value moved(const Value& x, bool is_complex) const {
    const int last = x.rank() - (is_complex ? 2 : 1), axis = static_cast<int>(axis_);
    return axis == last ? x : swap_axes(x, axis, last);
  }
  Value back(const Value& y, bool is_complex, double factor) const {
    const Value whole = moved(y, is_complex);
    return factor == 1 ? whole : whole * factor;
  }

  const char* what_;
  Value x_;
  bool is_complex_;
  FftOptions options_;
  std::size_t axis_ = 0;
};

// The options of axis i of two, 0 or 1.
FftOptions of_axis(const char* what, const Value& x, const Fft2Options& options, std::size_t i) {
  if (options.axes.size() != 2 || (!options.s.empty() && options.s.size() != 2)) {
    nn::fail_layer(what, "two axes are needed, and s with two sizes or none", "", x);
  }
  return {.n = options.s.empty() ? 0 : options.s[i],
          .axis = static_cast<int>(options.axes[i]),
          .norm = options.norm};
}

void require_two_axes(const char* what, const Value& x, const Fft2Options& options,
                      bool is_complex) {
  const int rank = x.rank() - (is_complex ? 1 : 0);
  const auto axis = [&](std::size_t i) {
    return nn::axis_below(what, x, of_axis(what, x, options, i).axis, rank);
  };
  if (axis(0) == axis(1)) nn::fail_layer(what, "the two axes are the same", "", x);
}

}  // namespace

Value fft(const Value& x, const FftOptions& options, SourceLocation where) {
  const nn::LocationScope at(x, "fft", where);
  return Axis("fft", x, true, options).forward(false);
}

Value ifft(const Value& x, const FftOptions& options, SourceLocation where) {
  const nn::LocationScope at(x, "ifft", where);
  return Axis("ifft", x, true, options).inverse();
}

Value rfft(const Value& x, const FftOptions& options, SourceLocation where) {
  const nn::LocationScope at(x, "rfft", where);
  return Axis("rfft", x, false, options).forward(true);
}

Value irfft(const Value& x, const FftOptions& options, SourceLocation where) {
  const nn::LocationScope at(x, "irfft", where);
  return Axis("irfft", x, true, options).inverse_real();
}

Value fft2(const Value& x, const Fft2Options& options, SourceLocation where) {
  const nn::LocationScope at(x, "fft2", where);
  require_two_axes("fft2", x, options, true);
  const Value y = Axis("fft2", x, true, of_axis("fft2", x, options, 1)).forward(false);
  return Axis("fft2", y, true, of_axis("fft2", x, options, 0)).forward(false);
}

Value ifft2(const Value& x, const Fft2Options& options, SourceLocation where) {
  const nn::LocationScope at(x, "ifft2", where);
  require_two_axes("ifft2", x, options, true);
  const Value y = Axis("ifft2", x, true, of_axis("ifft2", x, options, 1)).inverse();
  return Axis("ifft2", y, true, of_axis("ifft2", x, options, 0)).inverse();
}

Value rfft2(const Value& x, const Fft2Options& options, SourceLocation where) {
  const nn::LocationScope at(x, "rfft2", where);
  require_two_axes("rfft2", x, options, false);
  const Value y = Axis("rfft2", x, false, of_axis("rfft2", x, options, 1)).forward(true);
  return Axis("rfft2", y, true, of_axis("rfft2", x, options, 0)).forward(false);
}

Value irfft2(const Value& x, const Fft2Options& options, SourceLocation where) {
  const nn::LocationScope at(x, "irfft2", where);
  require_two_axes("irfft2", x, options, true);
  const Value y = Axis("irfft2", x, true, of_axis("irfft2", x, options, 0)).inverse();
  return Axis("irfft2", y, true, of_axis("irfft2", x, options, 1)).inverse_real();
}

}  // namespace trireme
