#include "ops/fft.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <string>

namespace trireme::ops {
namespace {

std::int64_t require_line(const char* op, const TypeContext& c, const Dim& size) {
  require(size.is_constant() && size.constant() > 0,
          std::string(op) + " needs a constant number of numbers, at least 1, not " +
              c.operand_texts[0],
          "only the other axes may have symbols or no elements");
  return size.constant();
}

}  // namespace

std::int64_t require_real_line(const char* op, const TypeContext& c) {
  const Type& x = c.operands[0];
  require(is_arithmetic_float(x.dtype) && x.rank() >= 1,
          std::string(op) + " needs [..., n] of f32 or f64, not " + c.operand_texts[0]);
  return require_line(op, c, x.shape.back());
}

std::int64_t require_complex_line(const char* op, const TypeContext& c) {
  const Type& x = c.operands[0];
  require(is_arithmetic_float(x.dtype) && x.rank() >= 2 && x.shape.back() == Dim(2),
          std::string(op) + " needs complex numbers [..., n, 2] of f32 or f64, not " +
              c.operand_texts[0],
          "the last dimension has the real and the imaginary part");
  return require_line(op, c, x.shape.end()[-2]);
}

std::function<bool(const ir::Op&, const std::vector<bool>&)> lines_row_wise(int rank) {
  return [rank](const ir::Op& op, const std::vector<bool>& rows) {
    return op.operands[0]->type.rank() > rank && rows[0];
  };
}

std::function<std::vector<int>(const ir::Op&)> line_axes(int rank) {
  return [rank](const ir::Op& op) {
    std::vector<int> axes;
    for (int i = rank; i > 0; --i) axes.push_back(op.operands[0]->type.rank() - i);
    return axes;
  };
}

Dim fft_flops(const Shape& shape, std::int64_t n) {
  const auto levels = std::bit_width(static_cast<std::uint64_t>(n - 1));
  return Dim(std::max<std::int64_t>(1, 5 * static_cast<std::int64_t>(levels) / 2)) * product(shape);
}

ComplexNumbers transform_by_definition(const ComplexNumbers& x, double sign) {
  const std::size_t n = x.size();
  ComplexNumbers y(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < n; ++j) {
      const double turn = static_cast<double>(j * k % n) / static_cast<double>(n);
      y[k] += x[j] * std::polar(1.0, sign * 2 * std::numbers::pi * turn);
    }
  }
  return y;
}

Value spectrum_weights(const Value& like, std::int64_t size, double inner) {
  const std::int64_t half = size / 2;
  const Value k =
      emit_in(*like.get()->program, "iota",
              {{"axis", std::int64_t{0}}, {"dtype", DType::i64}, {"shape", Shape{half + 1, 1}}},
              SourceLocation::current())
          .front();
  const Value one = cast(k * 0 + 1, {.dtype = like.dtype()});
  const Value others = one * inner;
  const Value first = where(equal(k, 0), one, others);
  return size % 2 == 0 ? where(equal(k, half), one, first) : first;
}

}  // namespace trireme::ops
