// Fourier transforms, and the windows and filters that go with them.

#include <cmath>
#include <numbers>
#include <vector>

#include "onnx/ops/operators.h"
#include "onnx/ops/slices.h"
#include "onnx/tensor.h"
#include "trireme/fft.h"
#include "trireme/functions.h"
#include "trireme/indexing.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

constexpr double kPi = std::numbers::pi;

// Real numbers [..., 1] as complex ones [..., 2].
Value as_complex(const Value& x) {
  if (!(x.dim(-1) == Dim(1))) return x;
  return concat({x, zeros_like(x)}, {.axis = -1});
}

// Before version 20 the axis is an attribute, and counts all axes from the front.
void import_dft(NodeContext& n) {
  const Value x = n.value(0);
  std::int64_t given = n.version() < 20 ? n.integer("axis", 1) : -2;
  if (n.version() >= 20 && n.has(2))
    given = static_cast<std::int64_t>(n.known_number(2, "the axis"));
  const int axis = n.axis(given, x.rank());
  n.require(axis < x.rank() - 1 && x.dim(axis).is_constant(),
            "it transforms axis " + std::to_string(axis) + " of " + x.str());
  const bool inverse = n.integer("inverse", 0) != 0, one_sided = n.integer("onesided", 0) != 0;
  FftOptions options{.axis = axis};
  if (n.has(1)) options.n = static_cast<std::int64_t>(n.known_number(1, "the number of points"));
  if (inverse && one_sided) return n.set(0, unsqueeze(irfft(as_complex(x), options), x.rank() - 1));
  if (inverse) return n.set(0, ifft(as_complex(x), options));
  const Value y = fft(as_complex(x), options);
  if (!one_sided) return n.set(0, y);
  n.set(0, part_of(y, axis, 0, y.dim(axis).constant() / 2 + 1));
}

// Frames of the signal [batch, length, 1 or 2], times a window, transformed.
void import_stft(NodeContext& n) {
  Value x = n.value(0);
  const auto step = static_cast<std::int64_t>(n.known_number(1, "the step of frames"));
  n.require(x.rank() == 3 && x.dim(1).is_constant() && step > 0, "its signal is " + x.str());
  const std::int64_t length = x.dim(1).constant();
  std::int64_t frame = length;
  if (n.has(3)) frame = static_cast<std::int64_t>(n.known_number(3, "the length of frames"));
  else if (n.has(2)) frame = n.value(2).dim(0).constant();
  n.require(frame > 0 && frame <= length, "its frames have " + std::to_string(frame) + " elements");
  const std::int64_t frames = (length - frame) / step + 1;
  const Shape grid = {frames, frame};
  const Value at = iota(n.program(), {.shape = grid, .axis = 0}) * static_cast<double>(step) +
                   iota(n.program(), {.shape = grid, .axis = 1});
  Value parts = gather(x, at, {.axis = 1});  // [batch, frames, frame, 1 or 2]
  if (n.has(2)) parts = parts * reshape(n.value(2), {.shape = {frame, 1}});
  const Value y = fft(as_complex(parts), {.axis = 2});
  n.set(0, n.integer("onesided", 1) != 0 ? part_of(y, 2, 0, frame / 2 + 1) : y);
}

// --- Windows -----------------------------------------------------------------------------------

ElementType output_type(const NodeContext& n) {
  return static_cast<ElementType>(n.integer("output_datatype", static_cast<int>(ElementType::f32)));
}

void set_numbers(NodeContext& n, std::vector<std::int64_t> shape,
                 const std::vector<double>& numbers) {
  Item item;
  item.type = output_type(n);
  n.require(carrier_of(item.type).has_value(), "its result is of " + name_of(item.type));
  item.known = Tensor::from(std::move(shape), numbers).cast(*carrier_of(item.type));
  n.set(0, std::move(item));
}

// a - b cos(2 pi i / n) + c cos(4 pi i / n).
void cosines(NodeContext& n, double a, double b, double c) {
  const auto size = static_cast<std::int64_t>(n.known_number(0, "the size of a window"));
  n.require(size >= 0 && size < 1'000'000'000,
            "its window has " + std::to_string(size) + " elements");
  const auto period = static_cast<double>(n.integer("periodic", 1) != 0 ? size : size - 1);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < size; ++i) {
    const double turn = 2 * kPi * static_cast<double>(i) / period;
    numbers.push_back(a - b * std::cos(turn) + c * std::cos(2 * turn));
  }
  set_numbers(n, {size}, numbers);
}

void import_hann(NodeContext& n) { cosines(n, 0.5, 0.5, 0); }
void import_hamming(NodeContext& n) { cosines(n, 25.0 / 46, 21.0 / 46, 0); }
void import_blackman(NodeContext& n) { cosines(n, 0.42, 0.5, 0.08); }

// Triangles over the bins of a spectrum, at equal distances on the mel scale.
void import_mel(NodeContext& n) {
  const auto bins = static_cast<std::int64_t>(n.known_number(0, "the number of bins"));
  const auto length = static_cast<std::int64_t>(n.known_number(1, "the number of points"));
  const double rate = n.known_number(2, "the sample rate");
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(n.known_number(3, "a frequency")),
               high = mel(n.known_number(4, "a frequency"));
  n.require(bins >= 0 && bins < 100'000 && length >= 0 && length < 100'000'000 && rate > 0,
            "its numbers are out of range");
  const std::int64_t rows = length / 2 + 1;
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < bins + 2; ++i) {
    const double at = low + (high - low) / static_cast<double>(bins + 2) * static_cast<double>(i);
    const double hertz = 700 * (std::pow(10, at / 2595) - 1);
    edges.push_back(
        static_cast<std::int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate)));
    n.require(edges.back() >= 0 && edges.back() <= rows,
              "a frequency is beyond half of the sample rate");
  }
  std::vector<double> numbers(static_cast<std::size_t>(rows * bins));
  const auto put = [&](std::int64_t row, std::int64_t column, double number) {
    if (row < rows) numbers[static_cast<std::size_t>(row * bins + column)] = number;
  };
  for (std::int64_t i = 0; i < bins; ++i) {
    const std::int64_t left = edges[static_cast<std::size_t>(i)],
                       center = edges[static_cast<std::size_t>(i) + 1],
                       right = edges[static_cast<std::size_t>(i) + 2];
    if (center == left) put(center, i, 1);
    for (std::int64_t j = left; j <= center && center > left; ++j)
      put(j, i, static_cast<double>(j - left) / static_cast<double>(center - left));
    for (std::int64_t j = center; j < right; ++j)
      put(j, i, static_cast<double>(right - j) / static_cast<double>(right - center));
  }
  set_numbers(n, {rows, bins}, numbers);
}

constexpr Operator kSpectralOperators[] = {
    {"", "BlackmanWindow", import_blackman, {.widens = false, .takes_items = true}},
    {"", "DFT", import_dft},
    {"", "HammingWindow", import_hamming, {.widens = false, .takes_items = true}},
    {"", "HannWindow", import_hann, {.widens = false, .takes_items = true}},
    {"", "MelWeightMatrix", import_mel, {.widens = false, .takes_items = true}},
    {"", "STFT", import_stft},
};

}  // namespace

Operators spectral_operators() { return kSpectralOperators; }

}  // namespace trireme::onnx
