#include "base/error.h"
#include "ops/common.h"
#include "ops/flops.h"

namespace trireme::ops {
namespace {

std::vector<Type> row_splits_type(const TypeContext& c) {
  const Type& lengths = c.operands[0];
  const Shape& rows = get_attribute<Shape>(c.attributes, "rows");
  require(lengths.dtype == DType::i64 && lengths.rank() == 1,
          "row_splits needs i64 lengths of rank 1, not " + c.operand_texts[0], "cast them to i64");
  require(rows.size() == 1 && (rows[0].symbol() || rows[0].is_constant()),
          "row_splits: `rows` must be one symbol or number, not " + str(rows));
  return {{DType::i64, {lengths.shape[0] + 1}, rows[0].str()}};
}

void row_splits_reference(const Reference& r) {
  double total = 0;
  for (std::size_t i = 0; i < r.operands[0]->data.size(); ++i) {
    if (r.operands[0]->data[i] < 0) fail_data("row_splits: a length is below 0");
    r.results[0]->data[i] = total;
    total += r.operands[0]->data[i];
  }
  r.results[0]->data.back() = total;
}

Sample row_splits_sample(std::int64_t count, double high) {
  Sample s;
  s.operands = {type_of({count}, DType::i64)};
  s.attributes = {{"rows", Shape{7}}};  // a name only; the PyTorch expression has no symbols
  s.ranges = {{0, high}};
  return s;
}

}  // namespace

Op row_splits() {
  Op op("row_splits(lengths; rows: shape)");
  op.doc =
      "The splits of concatenated sequences with these i64 lengths [n].\n"
      "The result [n + 1] rises from 0 to the sum of the lengths.\n"
      "It defines the symbol `rows` as that sum, so that later ops can make values with "
      "`rows` rows.\n"
      "A negative length is Error(data) at run time.";
  op.traits = Trait::library | Trait::not_differentiable | Trait::makes_splits;
  op.flops = no_flops();
  op.type = row_splits_type;
  op.library_kernel = "row_splits";
  op.reference = row_splits_reference;
  op.torch_reference = "F.pad(torch.cumsum(x[0], 0), (1, 0))";
  op.samples = {row_splits_sample(9, 5), row_splits_sample(1, 3), row_splits_sample(0, 1),
                row_splits_sample(40, 200)};
  return op;
}

}  // namespace trireme::ops
