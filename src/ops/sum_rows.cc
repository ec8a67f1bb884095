#include <algorithm>
#include <map>

#include "ops/common.h"
#include "ops/flops.h"

namespace trireme::ops {
namespace {

std::vector<Type> sum_rows_type(const TypeContext& c) {
  const Type& rows = c.operands[0];
  const Type& values = c.operands[1];
  require(rows.dtype == DType::i64 && rows.rank() == 1,
          "sum_rows needs i64 rows of rank 1, not " + c.operand_texts[0],
          "reshape it to one axis and cast it to i64");
  require(is(values.dtype, Numbers::floats),
          "sum_rows needs float values, not " + c.operand_texts[1]);
  require(values.rank() >= 1 && values.shape[0] == rows.shape[0],
          "sum_rows needs one value for each row: " + c.operand_texts[0] + " and " +
              c.operand_texts[1]);
  return {rows, values};
}

void sum_rows_reference(const Reference& r) {
  const std::vector<double>& rows = r.operands[0]->data;
  const std::vector<double>& values = r.operands[1]->data;
  const std::size_t width = rows.empty() ? 0 : values.size() / rows.size();
  std::map<double, std::vector<double>> sums;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0) continue;
    std::vector<double>& sum = sums.try_emplace(rows[i], width, 0.0).first->second;
    for (std::size_t j = 0; j < width; ++j) sum[j] += values[i * width + j];
  }
  std::fill(r.results[0]->data.begin(), r.results[0]->data.end(), -1.0);
  std::size_t k = 0;
  for (const auto& [row, sum] : sums) {
    r.results[0]->data[k] = row;
    std::copy(sum.begin(), sum.end(),
              r.results[1]->data.begin() + static_cast<std::ptrdiff_t>(k++ * width));
  }
}

Sample sum_rows_sample(std::int64_t count, std::vector<std::int64_t> row, double low, double high,
                       DType dtype = DType::f32) {
  Sample s;
  row.insert(row.begin(), count);
  s.operands = {type_of({count}, DType::i64), type_of(std::move(row), dtype)};
  s.ranges = {{low, high}, {-2, 2}};
  return s;
}

}  // namespace

Op sum_rows() {
  Op op("sum_rows(rows, values) -> distinct, sums");
  op.doc =
      "The distinct row numbers in the i64 list `rows`, ascending, and a sum of values for "
      "each.\n"
      "The sum adds values[i] for all i with that row number, in order of i.\n"
      "Negative row numbers and their values are left out.\n"
      "Both results are as long as the operands; unused entries at the end are -1 and zeros.\n"
      "`values` is f32 or f64; the op has no gradient.";
  op.traits = bits(Trait::library);
  op.flops = flop_per_element_of(1);
  op.no_gradient_reason = "it belongs to updates of parameters";
  op.type = sum_rows_type;
  op.library_kernel = "sum_rows";
  op.reference = sum_rows_reference;
  op.torch_reference =
      "(lambda r, v: (lambda u, at: (F.pad(u, (0, len(x[0]) - len(u)), value=-1), "
      "torch.zeros_like(x[1]).index_add(0, at, v)))(*torch.unique(r, return_inverse=True)))"
      "(x[0][x[0] >= 0], x[1][x[0] >= 0])";
  op.samples = {sum_rows_sample(9, {37}, 0, 5),     sum_rows_sample(30, {2, 3}, -3, 9),
                sum_rows_sample(6, {}, 0, 1e12),    sum_rows_sample(1, {4}, 5, 6),
                sum_rows_sample(0, {3}, 0, 5),      sum_rows_sample(3, {2}, -4, 0),
                sum_rows_sample(500, {7}, 0, 5000), sum_rows_sample(8, {5}, 0, 3, DType::f64)};
  return op;
}

}  // namespace trireme::ops
