#include "ops/ctc.h"
#include "ops/segments.h"

namespace trireme::ops {

Type ctc_type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const Type& labels = c.operands[2];
  require(is(x.dtype, Numbers::floats) && x.rank() == 2,
          "log-probabilities must be floats [rows, classes], not " + c.operand_texts[0]);
  require(x.shape[0] == rows_of_splits(c, 1),
          "the splits are not those of the log-probabilities: " + c.operand_texts[0] + " and " +
              c.operand_texts[1],
          "use sequence::splits() of the log-probabilities");
  require(labels.dtype == DType::i64 && labels.rank() == 1,
          "labels must be i64 of rank 1, not " + c.operand_texts[2], "cast them to i64");
  require(labels.shape[0] == rows_of_splits(c, 3),
          "the label splits are not those of the labels: " + c.operand_texts[2] + " and " +
              c.operand_texts[3],
          "use sequence::splits() of the labels");
  require(c.operands[1].shape == c.operands[3].shape,
          "the numbers of sequences of labels and of rows differ: " + c.operand_texts[1] + " and " +
              c.operand_texts[3],
          "both must be ragged over the same batch");
  const std::int64_t blank = get_attribute<std::int64_t>(c.attributes, "blank");
  require(blank >= 0 && (!x.shape[1].is_constant() || blank < x.shape[1].constant()),
          "the blank is class " + std::to_string(blank) + ", which is not a class of " +
              c.operand_texts[0]);
  return {x.dtype, {c.operands[1].shape[0] - 1}};
}

namespace {

using Labels = std::vector<std::size_t>;

// Returns the labels of an alignment: merges equal neighbors, then drops blanks.
Labels collapsed(const Labels& alignment, std::size_t blank) {
  Labels labels;
  for (std::size_t t = 0; t < alignment.size(); ++t) {
    if (alignment[t] != blank && (t == 0 || alignment[t] != alignment[t - 1])) {
      labels.push_back(alignment[t]);
    }
  }
  return labels;
}

// Increments `digits` as a number of base `base`. Returns false after the last number.
bool advance(Labels& digits, std::size_t base) {
  for (std::size_t& digit : digits) {
    if (++digit < base) return true;
    digit = 0;
  }
  return false;
}

}  // namespace

void for_each_ctc_alignment(
    const Reference& r,
    const std::function<void(std::size_t, const std::vector<std::size_t>&, double)>& visit) {
  const RefTensor& x = *r.operands[0];
  const auto classes = static_cast<std::size_t>(x.shape[1]);
  const auto blank =
      static_cast<std::size_t>(get_attribute<std::int64_t>(r.op.attributes, "blank"));
  const auto at = [&](int operand, std::size_t i) {
    return static_cast<std::size_t>(r.operands[static_cast<std::size_t>(operand)]->data[i]);
  };
  for (std::size_t i = 0; i + 1 < r.operands[1]->data.size(); ++i) {
    Labels labels;
    for (std::size_t k = at(3, i); k < at(3, i + 1); ++k) labels.push_back(at(2, k));
    const std::size_t begin = at(1, i);
    Labels alignment(at(1, i + 1) - begin, 0);
    do {
      if (collapsed(alignment, blank) != labels) continue;
      double total = 0;
      for (std::size_t t = 0; t < alignment.size(); ++t) {
        total += x.data[(begin + t) * classes + alignment[t]];
      }
      visit(i, alignment, total);
    } while (advance(alignment, classes));
  }
}

std::vector<double> ctc_totals(const Reference& r) {
  std::vector<double> sums(r.operands[1]->data.size() - 1, 0.0);
  for_each_ctc_alignment(
      r, [&](std::size_t i, const Labels&, double logarithm) { sums[i] += std::exp(logarithm); });
  for (double& sum : sums) sum = std::log(sum);
  return sums;
}

std::vector<Sample> ctc_samples() {
  struct Sizes {
    std::int64_t sequences, rows, classes, labels, blank;
    DType dtype = DType::f32;
  };
  std::vector<Sample> samples;
  for (const Sizes& s :
       {Sizes{3, 9, 3, 4, 0}, Sizes{1, 4, 4, 2, 3}, Sizes{2, 7, 3, 0, 2}, Sizes{3, 0, 4, 1, 0},
        Sizes{0, 0, 3, 0, 0}, Sizes{4, 12, 2, 5, 1}, Sizes{2, 6, 3, 3, 0, DType::f64}}) {
    Sample sample;
    sample.operands = {type_of({s.rows, s.classes}, s.dtype), splits_type(s.sequences, s.rows),
                       type_of({s.labels}, DType::i64), splits_type(s.sequences, s.labels)};
    sample.attributes = {{"blank", s.blank}};
    const double first = s.blank == 0 ? 1 : 0;  // labels are not blanks
    const double last = static_cast<double>(s.blank == 0 ? s.classes : s.blank);
    sample.ranges = {{-2, 0}, {0, 0}, {first, last}, {0, 0}};
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace trireme::ops
