#include "functions.h"
#include "trireme/fft.h"
#include "trireme/functions.h"

namespace trireme::edges {
namespace {

using Transform = Value (*)(const Value&, const FftOptions&, SourceLocation);

Value flattened(const Value& y) {
  std::int64_t width = 1;
  for (int axis = 1; axis < y.rank(); ++axis) width *= y.dim(axis).constant();
  return reshape(y, {.shape = {batch, width}});
}

// Transforms of rows of `width` numbers, or of half as many complex numbers. `torch` has the
// options of torch.fft after a comma.
void add(std::vector<Function>& all, const std::string& name, Transform transform, bool is_complex,
         std::size_t width, const FftOptions& options = {}, const std::string& torch = "") {
  const std::string kind = is_complex ? "True" : "False";
  all.push_back({.name = name,
                 .torch = "exact.fourier('" + name + "', x[0], " + kind + torch + ")",
                 .sources = [=](DType d) { return std::vector{rows(d, width)}; },
                 .build =
                     [=](const std::vector<Value>& x) {
                       const auto count = static_cast<std::int64_t>(width / 2);
                       const Value line =
                           is_complex ? reshape(x[0], {.shape = {batch, count, 2}}) : Value(x[0]);
                       return std::vector{
                           flattened(transform(line, options, SourceLocation::current()))};
                     },
                 .dtypes = {DType::f32, DType::f64}});
}

// 37 is a prime number, and 53 one that needs another algorithm.
constexpr std::size_t kPoints[] = {1, 2, 3, 4, 5, 37, 53};

void add_sizes(std::vector<Function>& all) {
  for (const std::size_t n : kPoints) {
    add(all, "fft", fft, true, 2 * n);
    add(all, "ifft", ifft, true, 2 * n);
    add(all, "rfft", rfft, false, n);
    add(all, "irfft", irfft, true, 2 * (n / 2 + 1), {.n = static_cast<std::int64_t>(n)},
        ", n=" + std::to_string(n));
  }
}

void add_options(std::vector<Function>& all) {
  add(all, "fft", fft, true, 8, {.norm = FftNorm::ortho}, ", norm='ortho'");
  add(all, "ifft", ifft, true, 8, {.norm = FftNorm::forward}, ", norm='forward'");
  add(all, "fft", fft, true, 8, {.n = 6}, ", n=6");
  add(all, "rfft", rfft, false, 4, {.n = 7, .norm = FftNorm::forward}, ", n=7, norm='forward'");
  add(all, "irfft", irfft, true, 8, {.norm = FftNorm::ortho}, ", norm='ortho'");
  add(all, "irfft", irfft, true, 4, {.n = 8}, ", n=8");
}

// Of two rows of `width` numbers, or pairs.
void add_plane(std::vector<Function>& all, const std::string& name,
               Value (*transform)(const Value&, const Fft2Options&, SourceLocation),
               bool is_complex, std::int64_t width) {
  const std::string kind = is_complex ? "True" : "False";
  const std::size_t count = static_cast<std::size_t>(2 * width) * (is_complex ? 2 : 1);
  all.push_back({.name = name,
                 .torch = "exact.fourier('" + name + "', x[0], " + kind + ", rows=2)",
                 .sources = [=](DType d) { return std::vector{rows(d, count)}; },
                 .build =
                     [=](const std::vector<Value>& x) {
                       Shape shape = {batch, 2, width};
                       if (is_complex) shape.emplace_back(2);
                       const Value plane = reshape(x[0], {.shape = shape});
                       return std::vector{
                           flattened(transform(plane, {}, SourceLocation::current()))};
                     },
                 .dtypes = {DType::f32, DType::f64}});
}

void add_planes(std::vector<Function>& all) {
  add_plane(all, "fft2", fft2, true, 3);
  add_plane(all, "ifft2", ifft2, true, 3);
  add_plane(all, "rfft2", rfft2, false, 4);
  add_plane(all, "irfft2", irfft2, true, 3);
}

}  // namespace

std::vector<Function> transform_functions() {
  std::vector<Function> all;
  add_sizes(all);
  add_options(all);
  add_planes(all);
  return all;
}

}  // namespace trireme::edges
