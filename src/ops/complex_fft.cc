#include "ops/fft.h"

namespace trireme::ops {
namespace {

std::vector<Type> complex_fft_type(const TypeContext& c) {
  require_complex_line("complex_fft", c);
  return {c.operands[0]};
}

void complex_fft_reference(const Reference& r) {
  const RefTensor& x = *r.operands[0];
  std::vector<double>& y = r.results[0]->data;
  const double sign = get_attribute<bool>(r.op.attributes, "inverse") ? 1 : -1;
  const auto n = static_cast<std::size_t>(x.shape.end()[-2]);
  for (std::size_t line = 0; line < x.data.size(); line += 2 * n) {
    ComplexNumbers numbers;
    for (std::size_t j = 0; j < n; ++j) {
      numbers.emplace_back(x.data[line + 2 * j], x.data[line + 2 * j + 1]);
    }
    numbers = transform_by_definition(numbers, sign);
    for (std::size_t k = 0; k < n; ++k) {
      y[line + 2 * k] = numbers[k].real();
      y[line + 2 * k + 1] = numbers[k].imag();
    }
  }
}

Sample complex_fft_sample(std::vector<std::int64_t> shape, bool inverse, DType dtype = DType::f32) {
  Sample s;
  s.operands = {type_of(std::move(shape), dtype)};
  s.attributes = {{"inverse", inverse}};
  return s;
}

}  // namespace

Op complex_fft() {
  Op op("complex_fft(x; inverse: bool = false)");
  op.doc =
      "The discrete Fourier transform of each line of complex numbers, without a scale.\n"
      "The operand x is [..., n, 2], f32 or f64.\n"
      "The last dimension has the real and imaginary parts.\n"
      "Number k of the result is the sum of x[j] * exp(-2 pi i j k / n).\n"
      "With `inverse`, the exponent is positive.\n"
      "The number n is a constant of at least 1.\n"
      "Computed in f64; every n takes about n log n operations.\n"
      "If an element of a line is not finite, the line becomes NaN.\n"
      "fft() and ifft() have an axis, a size and a scale.";
  op.traits = bits(Trait::library);
  op.type = complex_fft_type;
  op.row_wise = lines_row_wise(2);
  op.mixed_axes = line_axes(2);
  op.flops = [](const ir::Op& o) {
    const Shape& shape = o.operands[0]->type.shape;
    return fft_flops(shape, shape.end()[-2].constant());
  };
  op.library_kernel = "complex_fft";
  op.reference = complex_fft_reference;
  op.gradient_ignores_operands = true;
  op.gradient = [](GradientContext& c) {
    const bool inverse = get_attribute<bool>(c.op().attributes, "inverse");
    c.accumulate(0, complex_fft(c.gradient(), {.inverse = !inverse}));
  };
  op.torch_reference =
      "torch.view_as_real((torch.fft.ifft if inverse else torch.fft.fft)("
      "torch.view_as_complex(x[0].contiguous()), norm='forward' if inverse else 'backward'))";
  op.samples = {complex_fft_sample({8, 2}, false),
                complex_fft_sample({3, 12, 2}, true),
                complex_fft_sample({2, 2, 7, 2}, false),
                complex_fft_sample({1, 2}, true),
                complex_fft_sample({2, 53, 2}, false),
                complex_fft_sample({106, 2}, true),
                complex_fft_sample({0, 4, 2}, false),
                complex_fft_sample({3, 30, 2}, false, DType::f64),
                complex_fft_sample({59, 2}, true, DType::f64)};
  return op;
}

}  // namespace trireme::ops
