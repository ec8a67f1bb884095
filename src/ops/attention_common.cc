#include <string>

#include "ops/attention.h"
#include "ops/segments.h"

namespace trireme::ops {

namespace {

// The rank of queries, keys and values: [rows, heads, width] or [batch, steps, heads, width].
std::size_t rank_of(std::size_t other_count) { return other_count == 2 ? 3 : 4; }

void check_shapes(const TypeContext& c, std::size_t rank) {
  const Type &query = c.operands[0], &key = c.operands[1], &value = c.operands[2];
  const std::string all =
      c.operand_texts[0] + ", " + c.operand_texts[1] + ", " + c.operand_texts[2];
  require(
      is_arithmetic_float(query.dtype) && key.dtype == query.dtype && value.dtype == query.dtype,
      "queries, keys and values must all be f32 or all f64, not " + all);
  const auto has_rank = [&](const Type& x) { return x.shape.size() == rank; };
  require(has_rank(query) && has_rank(key) && has_rank(value),
          "queries, keys and values must be [" + std::string(rank == 3 ? "rows" : "batch, steps") +
              ", heads, width], not " + all,
          "rows of sequences need the splits of the queries and those of the keys");
  const auto constant = [&](const Type& x, std::size_t axis) {
    return x.shape[axis].is_constant() && x.shape[axis].constant() > 0;
  };
  bool constants = true;
  for (const Type* x : {&query, &key, &value}) {
    constants = constants && constant(*x, rank - 1) && constant(*x, rank - 2);
  }
  require(constants, "heads and widths must be constants above 0: " + all);
  require(query.shape[rank - 1] == key.shape[rank - 1] &&
              key.shape[rank - 2] == value.shape[rank - 2] && key.shape[0] == value.shape[0] &&
              (rank == 3 || (key.shape[1] == value.shape[1] && query.shape[0] == key.shape[0])),
          "queries and keys need one width, keys and values the same steps and heads: " + all);
  require(query.shape[rank - 2].constant() % key.shape[rank - 2].constant() == 0,
          "the heads of queries must be a multiple of the heads of keys: " + all);
}

void check_splits_of(const TypeContext& c, std::size_t others) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    require(c.operands[i].shape[0] == rows_of_splits(c, others + i),
            "the splits are not those of the rows: " + c.operand_texts[i] + " and " +
                c.operand_texts[others + i],
            "sequence::splits() of the rows returns them");
  }
  require(c.operands[others].shape == c.operands[others + 1].shape,
          "the numbers of sequences of queries and of keys differ: " + c.operand_texts[others] +
              " and " + c.operand_texts[others + 1]);
}

}  // namespace

void check_attention(const TypeContext& c, std::size_t others) {
  const std::size_t count = c.operands.size() - others;
  require(c.operands.size() >= others && count <= 2,
          "attention has at most two operands after its tensors: which keys are used, or the "
          "splits of queries and keys");
  check_shapes(c, rank_of(count));
  if (count == 1) {
    const Type& used = c.operands[others];
    const Shape& key = c.operands[1].shape;
    require(used.dtype == DType::boolean && used.shape == Shape{key[0], key[1]},
            "which keys are used must be boolean [batch, keys], not " + c.operand_texts[others]);
  }
  if (count == 2) check_splits_of(c, others);
  const double scale = get_attribute<double>(c.attributes, "scale");
  require(std::isfinite(scale) && scale > 0,
          "the scale of attention must be a number above 0, not " + std::to_string(scale));
}

Type attention_type(const TypeContext& c, bool width) {
  Type type{c.operands[0].dtype, c.operands[0].shape};
  if (width) type.shape.back() = c.operands[2].shape.back();
  else type.shape.pop_back();
  return type;
}

Dim attention_flops(const ir::Op& op, std::int64_t products) {
  const Shape& query = op.operands[0]->type.shape;
  const Shape& key = op.operands[1]->type.shape;
  const Dim keys = key.size() == 3 ? key[0] : key[1];
  return Dim(2 * products) * product(Shape(query.begin(), query.end() - 1)) * keys *
         (query.back() + op.operands[2]->type.shape.back());
}

void for_each_query(const Reference& r, std::size_t others,
                    const std::function<void(const AttentionQuery&)>& visit) {
  const auto& query = r.operands[0]->shape;
  const auto& key = r.operands[1]->shape;
  const std::size_t count = r.operands.size() - others;
  const bool causal = get_attribute<bool>(r.op.attributes, "causal");
  const std::int64_t heads = query.end()[-2], per_key = heads / key.end()[-2];
  const std::int64_t sequences = count == 2 ? r.operands[others]->shape[0] - 1 : query[0];
  const auto begin = [&](std::size_t of, std::int64_t i) {
    if (count != 2) return i * r.operands[of]->shape[1];
    return static_cast<std::int64_t>(r.operands[others + of]->data[static_cast<std::size_t>(i)]);
  };
  for (std::int64_t i = 0; i < sequences; ++i) {
    for (std::int64_t row = begin(0, i); row < begin(0, i + 1); ++row) {
      AttentionQuery q{row, 0, 0, {}};
      for (std::int64_t k = begin(1, i); k < begin(1, i + 1); ++k) {
        if (causal && k - begin(1, i) > row - begin(0, i)) break;
        if (count == 1 && r.operands[others]->data[static_cast<std::size_t>(k)] == 0) continue;
        q.keys.push_back(k);
      }
      for (q.head = 0; q.head < heads; ++q.head) {
        q.key_head = q.head / per_key;
        visit(q);
      }
    }
  }
}

double& attention_at(RefTensor& x, std::int64_t row, std::int64_t head, std::int64_t column) {
  const bool has_columns = column >= 0;
  const std::int64_t width = has_columns ? x.shape.back() : 1;
  const std::int64_t heads = has_columns ? x.shape.end()[-2] : x.shape.back();
  const std::int64_t place = (row * heads + head) * width + (has_columns ? column : 0);
  return x.data[static_cast<std::size_t>(place)];
}

double attention_at(const RefTensor& x, std::int64_t row, std::int64_t head, std::int64_t column) {
  return attention_at(const_cast<RefTensor&>(x), row, head, column);
}

std::vector<double> attention_scores(const Reference& r, const AttentionQuery& query) {
  const double scale = get_attribute<double>(r.op.attributes, "scale");
  std::vector<double> scores;
  for (const std::int64_t key : query.keys) {
    double score = 0;
    for (std::int64_t j = 0; j < r.operands[0]->shape.back(); ++j) {
      score += attention_at(*r.operands[0], query.row, query.head, j) *
               attention_at(*r.operands[1], key, query.key_head, j);
    }
    scores.push_back(score * scale);
  }
  return scores;
}

namespace {

struct SampleSizes {
  std::int64_t sequences, queries, keys, heads, key_heads, width, value_width;
  bool causal = false, used = false, ragged = false;
  DType dtype = DType::f32;
};

Sample attention_sample(const SampleSizes& s, bool gradient) {
  const auto tensor = [&](std::int64_t steps, std::vector<std::int64_t> rest) {
    rest.insert(rest.begin(), steps);
    if (!s.ragged) rest.insert(rest.begin(), s.sequences);
    return type_of(rest, s.dtype);
  };
  Sample sample;
  sample.operands = {tensor(s.queries, {s.heads, s.width}), tensor(s.keys, {s.key_heads, s.width}),
                     tensor(s.keys, {s.key_heads, s.value_width})};
  sample.ranges.assign(3, {-2, 2});
  if (gradient) {
    sample.operands.push_back(tensor(s.queries, {s.heads}));
    sample.operands.push_back(tensor(s.queries, {s.heads, s.value_width}));
    sample.operands.push_back(tensor(s.queries, {s.heads}));
    // Logarithms of sums that exponentials of scores may have.
    sample.ranges.insert(sample.ranges.end(), {{3, 5}, {-2, 2}, {-2, 2}});
  }
  if (s.used) {
    sample.operands.push_back(type_of({s.sequences, s.keys}, DType::boolean));
    sample.ranges.emplace_back(0, 2);
  }
  if (s.ragged) {
    sample.operands.push_back(splits_type(s.sequences, s.queries));
    sample.operands.push_back(splits_type(s.sequences, s.keys));
    sample.ranges.insert(sample.ranges.end(), {{0, 0}, {0, 0}});
  }
  sample.attributes = {{"causal", s.causal}, {"scale", 0.5}};
  // log_sums may be -infinity, which has no finite differences.
  sample.check_gradient = s.keys > 0 && !(s.used && s.causal);
  return sample;
}

}  // namespace

std::vector<Sample> attention_samples(bool gradient) {
  constexpr bool kCausal = true, kUsed = true, kRagged = true;
  const std::vector<SampleSizes> all = {{2, 5, 7, 3, 3, 4, 4},
                                        {1, 6, 6, 4, 2, 3, 5, kCausal},
                                        {2, 3, 5, 2, 1, 2, 1, false, kUsed},
                                        {2, 9, 4, 2, 2, 3, 3, kCausal, kUsed},
                                        {1, 150, 300, 1, 1, 3, 2},
                                        {1, 270, 270, 2, 1, 2, 2, kCausal},
                                        {4, 11, 13, 2, 2, 3, 4, false, false, kRagged},
                                        {5, 17, 9, 4, 2, 2, 3, kCausal, false, kRagged},
                                        {3, 6, 0, 1, 1, 2, 2, false, false, kRagged},
                                        {0, 0, 0, 1, 1, 2, 2, false, false, kRagged},
                                        {2, 0, 3, 1, 1, 2, 2},
                                        {2, 3, 0, 1, 1, 2, 2},
                                        {2, 5, 5, 2, 2, 3, 3, false, false, false, DType::f64}};
  std::vector<Sample> samples;
  for (const SampleSizes& s : all) samples.push_back(attention_sample(s, gradient));
  return samples;
}

}  // namespace trireme::ops
