// Discrete Fourier transforms of the last axis by kissfft, in double and without a scale.
// complex_fft: x [..., n, 2], y [..., n, 2]. Attribute: inverse.
// real_fft: x [..., n], y [..., n / 2 + 1, 2]. inverse_real_fft: x [..., n / 2 + 1, 2], y [..., n].
// The last axis of size 2 has real and imaginary parts. A line with an element that is not finite
// gives NaN.

#include <algorithm>
#include <cmath>
#include <complex>
#include <kissfft/kissfft.hh>
#include <limits>
#include <numbers>

#include "kernels/families.h"
#include "kernels/lines.h"

namespace trireme::kernels {

namespace {

using Complex = std::complex<double>;
using Line = std::vector<Complex>;

// Returns exp(sign * 2 pi i numerator / denominator).
Complex root_of_one(std::int64_t numerator, std::int64_t denominator, double sign) {
  const double turn = static_cast<double>(numerator) / static_cast<double>(denominator);
  return std::polar(1.0, sign * 2 * std::numbers::pi * turn);
}

std::int64_t largest_prime_factor(std::int64_t n) {
  std::int64_t largest = 1;
  for (std::int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(n, largest);
}

// A transform of n complex numbers. kissfft needs n times the largest prime factor p of n steps, so
// for a large p the transform becomes a convolution (Bluestein 1970, "A linear filtering approach
// to the computation of discrete Fourier transform"), whose length is a power of 2.
class Transform {
 public:
  Transform(std::int64_t n, bool inverse)
      : n_(static_cast<std::size_t>(n)), plan_(1, false), back_(1, false) {
    constexpr std::int64_t kLargestFactor = 50;
    if (largest_prime_factor(n) <= kLargestFactor) {
      plan_ = kissfft<double>(n_, inverse);
      return;
    }
    std::size_t length = 1;
    while (length < 2 * n_ - 1) length *= 2;
    plan_ = kissfft<double>(length, false);
    back_ = kissfft<double>(length, true);
    Line chirp(length);
    for (std::int64_t j = 0; j < n; ++j) {
      const auto i = static_cast<std::size_t>(j);
      // j * j modulo 2 n, so that the angle stays exact
      chirp_.push_back(root_of_one(j * j % (2 * n), 2 * n, inverse ? 1 : -1));
      chirp[i] = chirp[i == 0 ? 0 : length - i] =
          std::conj(chirp_[i]) / static_cast<double>(length);
    }
    filter_.resize(length);
    padded_.resize(length);
    spectrum_.resize(length);
    plan_.transform(chirp.data(), filter_.data());
  }

  // Changes nothing that another copy of this object uses.
  void run(const Complex* x, Complex* y) {
    if (chirp_.empty()) return plan_.transform(x, y);
    std::fill(padded_.begin(), padded_.end(), Complex());
    for (std::size_t j = 0; j < n_; ++j) padded_[j] = x[j] * chirp_[j];
    plan_.transform(padded_.data(), spectrum_.data());
    for (std::size_t j = 0; j < filter_.size(); ++j) spectrum_[j] *= filter_[j];
    back_.transform(spectrum_.data(), padded_.data());
    for (std::size_t j = 0; j < n_; ++j) y[j] = padded_[j] * chirp_[j];
  }

 private:
  std::size_t n_;
  kissfft<double> plan_, back_;
  Line chirp_, filter_, padded_, spectrum_;  // empty if kissfft transforms n numbers itself
};

template <class T>
bool read_line(const T* from, std::size_t count, std::vector<double>& to) {
  bool finite = true;
  for (std::size_t i = 0; i < count; ++i) {
    finite &= std::isfinite(from[i]);
    to[i] = static_cast<double>(from[i]);
  }
  return finite;
}

// A transform of one line of numbers. Each thread uses a copy.
class ComplexLine {
 public:
  ComplexLine(std::int64_t n, bool inverse) : transform_(n, inverse) {}
  void run(const double* x, double* y) {
    transform_.run(reinterpret_cast<const Complex*>(x), reinterpret_cast<Complex*>(y));
  }

 private:
  Transform transform_;
};

// An even number n of real numbers is transformed as n / 2 complex numbers x[2 j] + i x[2 j + 1]
// (Press et al., "Numerical Recipes", section 12.3).
class RealLine {
 public:
  explicit RealLine(std::int64_t n)
      : n_(static_cast<std::size_t>(n)),
        transform_(n % 2 == 0 ? n / 2 : n, false),
        in_(n_),
        out_(n_) {
    for (std::int64_t k = 0; k <= n / 2; ++k) roots_.push_back(root_of_one(k, n, -1));
  }
  void run(const double* x, double* y) {
    auto* to = reinterpret_cast<Complex*>(y);
    if (n_ % 2 == 0) {
      const std::size_t half = n_ / 2;
      transform_.run(reinterpret_cast<const Complex*>(x), out_.data());
      for (std::size_t k = 0; k <= half; ++k) {
        const Complex a = out_[k % half], b = std::conj(out_[(half - k) % half]);
        to[k] = (a + b) * 0.5 + roots_[k] * (a - b) * Complex(0, -0.5);
      }
      to[half] = to[half].real();
    } else {
      std::copy(x, x + n_, in_.begin());
      transform_.run(in_.data(), out_.data());
      std::copy(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(n_ / 2 + 1), to);
    }
    to[0] = to[0].real();
  }

 private:
  std::size_t n_;
  Transform transform_;
  Line in_, out_, roots_;
};

class InverseRealLine {
 public:
  explicit InverseRealLine(std::int64_t n)
      : n_(static_cast<std::size_t>(n)),
        transform_(n % 2 == 0 ? n / 2 : n, true),
        half_(n_ / 2 + 1),
        in_(n_),
        out_(n_) {
    for (std::int64_t k = 0; k <= n / 2; ++k) roots_.push_back(root_of_one(k, n, 1));
  }
  // The imaginary parts of the first number, and of the last one of an even n, are not read.
  void run(const double* x, double* y) {
    const auto* from = reinterpret_cast<const Complex*>(x);
    std::copy(from, from + half_.size(), half_.begin());
    half_[0] = half_[0].real();
    if (n_ % 2 == 0) {
      const std::size_t half = n_ / 2;
      half_[half] = half_[half].real();
      for (std::size_t k = 0; k < half; ++k) {
        const Complex a = half_[k], b = std::conj(half_[half - k]);
        in_[k] = a + b + roots_[k] * (a - b) * Complex(0, 1);
      }
      transform_.run(in_.data(), reinterpret_cast<Complex*>(y));
      return;
    }
    for (std::size_t k = 0; k < half_.size(); ++k) {
      in_[(n_ - k) % n_] = std::conj(half_[k]);
      in_[k] = half_[k];
    }
    transform_.run(in_.data(), out_.data());
    for (std::size_t j = 0; j < n_; ++j) y[j] = out_[j].real();
  }

 private:
  std::size_t n_;
  Transform transform_;
  Line half_, in_, out_, roots_;
};

template <class T, class OfLine>
class Fft : public KernelInstance {
 public:
  Fft(OfLine line, std::int64_t lines, std::int64_t reads, std::int64_t writes)
      : line_(std::move(line)), lines_(lines), reads_(reads), writes_(writes) {}

  void run(void* const* tensors, void*, device::Device& device) override {
    const auto* x = static_cast<const T*>(tensors[0]);
    auto* y = static_cast<T*>(tensors[1]);
    run_lines(lines_, 8 * reads_, device, [&](std::int64_t begin, std::int64_t end, int) {
      OfLine line = line_;
      std::vector<double> in(static_cast<std::size_t>(reads_));
      std::vector<double> out(static_cast<std::size_t>(writes_));
      for (std::int64_t i = begin; i < end; ++i) {
        const bool finite = read_line(x + i * reads_, in.size(), in);
        if (finite) line.run(in.data(), out.data());
        T* to = y + i * writes_;
        for (std::size_t j = 0; j < out.size(); ++j) {
          to[j] = finite ? static_cast<T>(out[j]) : std::numeric_limits<T>::quiet_NaN();
        }
      }
    });
  }

 private:
  OfLine line_;
  std::int64_t lines_, reads_, writes_;
};

// `rank` is the rank of one line of x, and so of the axes that are transformed.
template <class OfLine>
std::unique_ptr<KernelInstance> prepare_fft(const char* name, const Call& call, std::size_t rank,
                                            OfLine line) {
  const Sizes &x = call.tensors[0].shape, &y = call.tensors[1].shape;
  const std::int64_t lines = elements(Sizes(x.begin(), x.end() - static_cast<int>(rank)));
  const std::int64_t reads = lines == 0 ? 0 : elements(x) / lines;
  const std::int64_t writes = lines == 0 ? 0 : elements(y) / lines;
  if (call.tensors[0].dtype != call.tensors[1].dtype) fail_call(name, call, "the dtypes differ");
  switch (call.tensors[0].dtype) {
    case DType::f32:
      return std::make_unique<Fft<float, OfLine>>(std::move(line), lines, reads, writes);
    case DType::f64:
      return std::make_unique<Fft<double, OfLine>>(std::move(line), lines, reads, writes);
    default: fail_call(name, call, "the numbers are f32 or f64");
  }
}

// Returns the size of an axis counted from the end, which a transform needs to be at least 1.
std::int64_t transformed_size(const char* name, const Call& call, std::size_t tensor, int axis) {
  require_tensors(name, call, 2);
  const Sizes& shape = call.tensors[tensor].shape;
  if (static_cast<int>(shape.size()) < axis || shape.end()[-axis] < 1) {
    fail_call(name, call, "there are no numbers to transform");
  }
  return shape.end()[-axis];
}

}  // namespace

std::unique_ptr<KernelInstance> prepare_complex_fft(const Call& call) {
  constexpr const char* kKernel = "complex_fft";
  const std::int64_t n = transformed_size(kKernel, call, 0, 2);
  return prepare_fft(kKernel, call, 2, ComplexLine(n, flag(call, "inverse")));
}

std::unique_ptr<KernelInstance> prepare_real_fft(const Call& call) {
  constexpr const char* kKernel = "real_fft";
  return prepare_fft(kKernel, call, 1, RealLine(transformed_size(kKernel, call, 0, 1)));
}

std::unique_ptr<KernelInstance> prepare_inverse_real_fft(const Call& call) {
  constexpr const char* kKernel = "inverse_real_fft";
  return prepare_fft(kKernel, call, 2, InverseRealLine(transformed_size(kKernel, call, 1, 1)));
}

}  // namespace trireme::kernels
