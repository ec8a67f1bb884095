#include "ops/matrices.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"

namespace trireme::ops {

void require_matrices(const char* op, const TypeContext& c, int operand, bool square) {
  const auto i = static_cast<std::size_t>(operand);
  const Type& x = c.operands[i];
  require(is_arithmetic_float(x.dtype) && x.rank() >= 2,
          std::string(op) + " needs matrices [..., m, n] of f32 or f64, not " + c.operand_texts[i]);
  require(!square || x.shape.end()[-1] == x.shape.end()[-2],
          std::string(op) + " needs square matrices, not " + c.operand_texts[i]);
}

Shape with_matrix(const Shape& stack, const Shape& matrix) {
  Shape shape(stack.begin(), stack.end() - 2);
  shape.insert(shape.end(), matrix.begin(), matrix.end());
  return shape;
}

bool matrices_row_wise(const ir::Op& op, const std::vector<bool>& rows) {
  return op.operands[0]->type.rank() > 2 &&
         std::all_of(rows.begin(), rows.end(), [](bool has_rows) { return has_rows; });
}

std::vector<int> matrix_axes(const ir::Op& op) {
  const int rank = op.operands[0]->type.rank();
  return {rank - 2, rank - 1};
}

std::function<void(const Reference&)> matrix_reference(const char* failure, MatrixLoop f,
                                                       std::vector<int> result_axes) {
  return [failure, f = std::move(f), result_axes = std::move(result_axes)](const Reference& r) {
    const auto& x = *r.operands[0];
    std::int64_t count = 1;
    for (std::size_t i = 0; i + 2 < x.shape.size(); ++i) count *= x.shape[i];
    for (std::int64_t i = 0; i < count; ++i) {
      std::vector<std::vector<double>> copies;
      std::vector<Matrix> operands, results;
      for (const RefTensor* operand : r.operands) {
        const std::int64_t rows = operand->shape.end()[-2], columns = operand->shape.end()[-1];
        const double* from = operand->data.data() + i * rows * columns;
        copies.emplace_back(from, from + rows * columns);
        operands.push_back({copies.back().data(), rows, columns});
      }
      for (std::size_t j = 0; j < r.results.size(); ++j) {
        const auto& shape = r.results[j]->shape;
        const std::int64_t columns = result_axes[j] > 0 ? shape.end()[-1] : 1;
        const std::int64_t rows = result_axes[j] > 1 ? shape.end()[-2] : 1;
        results.push_back({r.results[j]->data.data() + i * rows * columns, rows, columns});
      }
      if (!f(operands, results)) fail_data(failure);
    }
  };
}

Value transposed(const Value& x) {
  std::vector<std::int64_t> permutation;
  for (int i = 0; i < x.rank() - 2; ++i) permutation.push_back(i);
  permutation.push_back(x.rank() - 1);
  permutation.push_back(x.rank() - 2);
  return transpose(x, {.permutation = permutation});
}

Value symmetric_part(const Value& x) { return (x + transposed(x)) * 0.5; }

Value lower_part(const Value& x, double factor) {
  const Shape matrix(x.shape().end() - 2, x.shape().end());
  const auto numbers = [&](std::int64_t axis) {
    return emit_in(*x.get()->program, "iota",
                   {{"axis", axis}, {"dtype", DType::i64}, {"shape", matrix}},
                   SourceLocation::current())
        .front();
  };
  const Value rows = numbers(0), columns = numbers(1);
  const Value diagonal = factor == 0 ? filled_like(x, 0) : x * factor;
  const Value at_most = where(equal(rows, columns), diagonal, 0.0);
  return where(columns < rows, x, at_most);
}

Value as_rows(const Value& a) {
  Shape shape = a.shape();
  shape.insert(shape.end() - 1, 1);
  return reshape(a, {.shape = shape});
}

}  // namespace trireme::ops
