#include "ops/fft.h"

namespace trireme::ops {
namespace {

std::vector<Type> inverse_real_fft_type(const TypeContext& c) {
  const std::int64_t numbers = require_complex_line("inverse_real_fft", c);
  const auto size = get_attribute<std::int64_t>(c.attributes, "size");
  require(size >= 1 && size / 2 + 1 == numbers,
          "inverse_real_fft of " + c.operand_texts[0] + " cannot have size " + std::to_string(size),
          "n complex numbers are half of a spectrum of size 2 n - 2 or 2 n - 1");
  Shape shape = c.operands[0].shape;
  shape.pop_back();
  shape.back() = Dim(size);
  return {Type{c.operands[0].dtype, shape, ""}};
}

void inverse_real_fft_reference(const Reference& r) {
  const RefTensor& x = *r.operands[0];
  const auto n = static_cast<std::size_t>(r.results[0]->shape.back());
  const std::size_t half = n / 2 + 1;
  std::size_t next = 0;
  for (std::size_t line = 0; line < x.data.size(); line += 2 * half) {
    ComplexNumbers numbers(n);
    for (std::size_t k = 0; k < half; ++k) {
      const std::complex<double> number(x.data[line + 2 * k], x.data[line + 2 * k + 1]);
      const bool is_real = (n - k) % n == k;
      numbers[k] = is_real ? number.real() : number;
      if (!is_real) numbers[n - k] = std::conj(number);
    }
    for (const auto& number : transform_by_definition(numbers, 1)) {
      r.results[0]->data[next++] = number.real();
    }
  }
}

Sample inverse_real_fft_sample(std::vector<std::int64_t> shape, std::int64_t size,
                               DType dtype = DType::f32) {
  Sample s;
  s.operands = {type_of(std::move(shape), dtype)};
  s.attributes = {{"size", size}};
  return s;
}

}  // namespace

Op inverse_real_fft() {
  Op op("inverse_real_fft(x; size: int)");
  op.doc =
      "The lines of `size` real numbers whose real_fft() is x, times `size`.\n"
      "The operand x is [..., size / 2 + 1, 2], rounded down, f32 or f64.\n"
      "Its last dimension has the real and imaginary parts; the result is [..., size].\n"
      "The imaginary part of x[0], and of the last number if `size` is even, has no effect.\n"
      "Computed in f64; every size takes about n log n operations.\n"
      "If an element of a line is not finite, the line becomes NaN.\n"
      "irfft() has an axis and a scale.";
  op.traits = bits(Trait::library);
  op.type = inverse_real_fft_type;
  op.row_wise = lines_row_wise(2);
  op.mixed_axes = line_axes(2);
  op.flops = [](const ir::Op& o) {
    const Shape& shape = o.results[0]->type.shape;
    return fft_flops(shape, shape.back().constant());
  };
  op.library_kernel = "inverse_real_fft";
  op.reference = inverse_real_fft_reference;
  op.gradient_ignores_operands = true;
  op.gradient = [](GradientContext& c) {
    const Value g = c.gradient();
    const std::int64_t size = g.dim(-1).constant();
    c.accumulate(0, real_fft(g) * spectrum_weights(g, size, 2));
  };
  op.torch_reference =
      "torch.fft.irfft(torch.view_as_complex(x[0].contiguous()), size, norm='forward')";
  op.samples = {inverse_real_fft_sample({5, 2}, 8),
                inverse_real_fft_sample({3, 7, 2}, 12),
                inverse_real_fft_sample({2, 2, 4, 2}, 7),
                inverse_real_fft_sample({1, 2}, 1),
                inverse_real_fft_sample({2, 2}, 2),
                inverse_real_fft_sample({2, 2}, 3),
                inverse_real_fft_sample({2, 27, 2}, 53),
                inverse_real_fft_sample({60, 2}, 118),
                inverse_real_fft_sample({0, 3, 2}, 4),
                inverse_real_fft_sample({3, 16, 2}, 30, DType::f64)};
  return op;
}

}  // namespace trireme::ops
