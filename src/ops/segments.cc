#include "ops/segments.h"

namespace trireme::ops {

Dim rows_of_splits(const TypeContext& c, std::size_t i) {
  const Type& splits = c.operands[i];
  require(!splits.splits_of.empty(), c.operand_texts[i] + " is not splits of rows",
          "splits come from a ragged input or from row_splits()");
  return *Dim::parse(splits.splits_of);
}

Type type_by_sequence(const TypeContext& c, Numbers numbers) {
  Type x = c.operands[0];
  const Dim rows = rows_of_splits(c, 1);
  require(is(x.dtype, numbers) && x.dtype != DType::u8 && x.dtype != DType::boolean,
          c.operand_texts[0] + " cannot be combined by sequence", "cast it to f32 or i64 first");
  require(
      x.rank() >= 1 && x.shape[0] == rows,
      "the splits are not those of the rows: " + c.operand_texts[0] + " and " + c.operand_texts[1],
      "sequences of one structure share the symbol of their first dimension");
  x.shape[0] = c.operands[1].shape[0] - 1;
  return x;
}

Type splits_type(std::int64_t sequences, std::int64_t rows) {
  return {DType::i64, {sequences + 1}, std::to_string(rows)};
}

std::vector<Sample> segment_samples() {
  std::vector<Sample> samples;
  for (const auto& [sequences, rows] : kSplitSamples) {
    for (const std::vector<std::int64_t>& row : {std::vector<std::int64_t>{}, {7}, {3, 2}}) {
      std::vector<std::int64_t> shape = row;
      shape.insert(shape.begin(), rows);
      Sample s;
      s.operands = {type_of(shape), splits_type(sequences, rows)};
      samples.push_back(s);
    }
  }
  samples.push_back(samples.front());
  samples.back().operands[0].dtype = DType::f64;
  samples.push_back(samples.front());
  samples.back().operands[0].dtype = DType::i64;
  return samples;
}

}  // namespace trireme::ops
