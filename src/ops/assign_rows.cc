#include <algorithm>

#include "base/error.h"
#include "ops/common.h"
#include "ops/flops.h"

namespace trireme::ops {
namespace {

std::vector<Type> assign_rows_type(const TypeContext& c) {
  const Type& parameter = c.operands[0];
  const Type& rows = c.operands[1];
  const Type& values = c.operands[2];
  require(rows.dtype == DType::i64 && rows.rank() == 1,
          "assign_rows needs i64 rows of rank 1, not " + c.operand_texts[1],
          "reshape it to one axis and cast it to i64");
  require(
      parameter.rank() >= 1 && values.rank() == parameter.rank() &&
          values.dtype == parameter.dtype && values.shape[0] == rows.shape[0] &&
          std::equal(parameter.shape.begin() + 1, parameter.shape.end(), values.shape.begin() + 1),
      "assign_rows needs one row of values for each row number: the parameter is " +
          parameter.str() + ", the rows are " + rows.str() + " and their values " + values.str());
  return {};
}

// evaluate() passes the parameter as a result.
void assign_rows_reference(const Reference& r) {
  RefTensor& parameter = *r.results[0];
  const std::vector<double>& rows = r.operands[1]->data;
  const std::vector<double>& values = r.operands[2]->data;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0) continue;
    if (rows[i] >= static_cast<double>(parameter.shape[0])) {
      fail_data("assign_rows: a row is outside [0, rows)");
    }
    const std::size_t width = values.size() / rows.size();
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                parameter.data.begin() +
                    static_cast<std::ptrdiff_t>(rows[i]) * static_cast<std::ptrdiff_t>(width));
  }
}

Sample assign_rows_sample(std::vector<std::int64_t> table, std::int64_t count, double low = 0,
                          DType dtype = DType::f32) {
  Sample s;
  std::vector<std::int64_t> values = table;
  values[0] = count;
  const auto rows = static_cast<double>(table[0]);
  s.operands = {type_of(std::move(table), dtype), type_of({count}, DType::i64),
                type_of(std::move(values), dtype)};
  s.ranges = {{-2, 2}, {low, rows}, {-2, 2}};
  return s;
}

}  // namespace

Op assign_rows() {
  Op op("assign_rows(parameter, rows, values) -> ()");
  op.doc =
      "Sets rows of a parameter in place: row rows[i] becomes values[i], in order of i.\n"
      "All other rows stay unchanged and cost nothing.\n"
      "`rows` is i64 of rank 1; values[i] has the shape and dtype of a row.\n"
      "Negative row numbers are skipped; one beyond the last row is Error(data) at run time.\n"
      "Runs on several threads if the row numbers ascend, as those of sum_rows do.\n"
      "The first operand must be a parameter.";
  op.traits = Trait::side_effect | Trait::library | Trait::not_differentiable;
  op.flops = no_flops();
  op.type = assign_rows_type;
  op.library_kernel = "assign_rows";
  op.reference = assign_rows_reference;
  op.torch_reference =
      "(lambda y: ([y.__setitem__(r, v) for r, v in zip(x[1].tolist(), x[2]) if r >= 0], y)[1])"
      "(x[0].clone())";
  op.samples = {assign_rows_sample({9, 37}, 4),     assign_rows_sample({5, 2, 3}, 6, -3),
                assign_rows_sample({7}, 3),         assign_rows_sample({4, 3}, 0),
                assign_rows_sample({1, 5}, 2),      assign_rows_sample({3, 2}, 1, 0, DType::i64),
                assign_rows_sample({2000, 8}, 1500)};
  return op;
}

}  // namespace trireme::ops
