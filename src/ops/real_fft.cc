#include "ops/fft.h"

namespace trireme::ops {
namespace {

std::vector<Type> real_fft_type(const TypeContext& c) {
  const std::int64_t n = require_real_line("real_fft", c);
  Shape shape = c.operands[0].shape;
  shape.back() = Dim(n / 2 + 1);
  shape.push_back(Dim(2));
  return {Type{c.operands[0].dtype, shape, ""}};
}

void real_fft_reference(const Reference& r) {
  const RefTensor& x = *r.operands[0];
  std::vector<double>& y = r.results[0]->data;
  const auto n = static_cast<std::size_t>(x.shape.back());
  std::size_t next = 0;
  for (std::size_t line = 0; line < x.data.size(); line += n) {
    ComplexNumbers numbers;
    for (std::size_t j = 0; j < n; ++j) numbers.emplace_back(x.data[line + j]);
    numbers = transform_by_definition(numbers, -1);
    for (std::size_t k = 0; k <= n / 2; ++k) {
      y[next++] = numbers[k].real();
      y[next++] = numbers[k].imag();
    }
  }
}

Sample real_fft_sample(std::vector<std::int64_t> shape, DType dtype = DType::f32) {
  Sample s;
  s.operands = {type_of(std::move(shape), dtype)};
  return s;
}

}  // namespace

Op real_fft() {
  Op op("real_fft(x)");
  op.doc =
      "The first half of the discrete Fourier transform of each line of real numbers, without a "
      "scale.\n"
      "The operand x is [..., n], f32 or f64, and the result [..., n / 2 + 1, 2], rounded down.\n"
      "Its last dimension has the real and imaginary parts.\n"
      "Number k is the sum of x[j] * exp(-2 pi i j k / n); number n - k would be its conjugate.\n"
      "The number n is a constant of at least 1.\n"
      "Computed in f64; every n takes about n log n operations.\n"
      "If an element of a line is not finite, the line becomes NaN.\n"
      "rfft() has an axis, a size and a scale.";
  op.traits = bits(Trait::library);
  op.type = real_fft_type;
  op.row_wise = lines_row_wise(1);
  op.mixed_axes = line_axes(1);
  op.flops = [](const ir::Op& o) {
    const Shape& shape = o.operands[0]->type.shape;
    return fft_flops(shape, shape.back().constant());
  };
  op.library_kernel = "real_fft";
  op.reference = real_fft_reference;
  op.gradient_ignores_operands = true;
  op.gradient = [](GradientContext& c) {
    const std::int64_t n = c.op().operands[0]->type.shape.back().constant();
    const Value g = c.gradient();
    c.accumulate(0, inverse_real_fft(g * spectrum_weights(g, n, 0.5), {.size = n}));
  };
  op.torch_reference = "torch.view_as_real(torch.fft.rfft(x[0]))";
  op.samples = {real_fft_sample({8}),       real_fft_sample({3, 12}),
                real_fft_sample({2, 2, 7}), real_fft_sample({1}),
                real_fft_sample({2}),       real_fft_sample({3}),
                real_fft_sample({2, 53}),   real_fft_sample({118}),
                real_fft_sample({0, 4}),    real_fft_sample({3, 30}, DType::f64)};
  return op;
}

}  // namespace trireme::ops
