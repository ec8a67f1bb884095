#pragma once

// Discrete Fourier transforms as numpy.fft has them. Complex numbers are real tensors whose last
// dimension has size 2: the real and the imaginary part, as torch.view_as_real() makes them. Axes
// are those of the numbers, without that dimension: axis -1 of [N, T, 2] is T. All values are f32
// or f64. The functions are composed of ops, so they are differentiated and compiled like ops.
// Transformed axes have constant sizes, and other axes may have symbols. A line with an element
// that is not finite gives NaN. Invalid arguments throw Error(usage) with the function, the
// caller's line and the value.

#include <cstdint>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"

namespace trireme {

// The factor of transforms of n numbers.
enum class FftNorm : std::uint8_t {
  backward,  // 1 forward, 1 / n for the inverse
  ortho,     // 1 / sqrt(n) for both
  forward,   // 1 / n forward, 1 for the inverse
};

struct FftOptions {
  // The number of points: the axis is cut to it, or filled with zeros at its end. 0: the size of
  // the axis; for irfft() of m numbers 2 (m - 1).
  std::int64_t n = 0;
  int axis = -1;
  FftNorm norm = FftNorm::backward;
};
// The transform of complex numbers [..., n, 2]: y[k] is the sum of x[j] * exp(-2 pi i j k / n).
TRIREME_API Value fft(const Value& x, const FftOptions& options = {},
                      SourceLocation where = SourceLocation::current());
// Its inverse.
TRIREME_API Value ifft(const Value& x, const FftOptions& options = {},
                       SourceLocation where = SourceLocation::current());
// The first n / 2 + 1 numbers, rounded down, of the transform of real numbers [..., n]: complex
// numbers [..., n / 2 + 1, 2]. The others would be conjugates of these.
TRIREME_API Value rfft(const Value& x, const FftOptions& options = {},
                       SourceLocation where = SourceLocation::current());
// Its inverse: complex numbers [..., m, 2] become n real ones. For an odd number of points, set n.
// The imaginary parts of the first number, and of the last one of an even n, have no effect.
TRIREME_API Value irfft(const Value& x, const FftOptions& options = {},
                        SourceLocation where = SourceLocation::current());

// Transforms over two axes, such as the rows and columns of images.
struct Fft2Options {
  std::vector<std::int64_t> s = {};           // the number of points of each axis, as FftOptions::n
  std::vector<std::int64_t> axes = {-2, -1};  // rfft2() and irfft2() halve the last of them
  FftNorm norm = FftNorm::backward;
};
TRIREME_API Value fft2(const Value& x, const Fft2Options& options = {},
                       SourceLocation where = SourceLocation::current());
TRIREME_API Value ifft2(const Value& x, const Fft2Options& options = {},
                        SourceLocation where = SourceLocation::current());
TRIREME_API Value rfft2(const Value& x, const Fft2Options& options = {},
                        SourceLocation where = SourceLocation::current());
TRIREME_API Value irfft2(const Value& x, const Fft2Options& options = {},
                         SourceLocation where = SourceLocation::current());

}  // namespace trireme
