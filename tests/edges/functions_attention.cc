#include <limits>

#include "functions.h"
#include "trireme/attention.h"
#include "trireme/functions.h"

namespace trireme::edges {
namespace {

using Values = std::vector<Value>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kWidth = 2;  // of queries, keys and values

// Rows of `steps` vectors.
Value vectors(const Value& rows, std::int64_t steps) {
  return reshape(rows, {.shape = {batch, steps, kWidth}});
}

Value results(const Value& y, std::int64_t queries) {
  return reshape(y, {.shape = {batch, queries * kWidth}});
}

Source queries(DType dtype) {
  return {{{0, 0}, {1, -2}, {1e20, 0}, {kInfinity, 1}, {kNan, 0}}, true, dtype};
}

// One query and two keys, which are the values too.
void add_with_matrix(std::vector<Function>& all) {
  const auto sources = [](const Source& mask) {
    return [mask](DType d) { return std::vector{rows(d, 4), queries(d), mask}; };
  };
  const auto build = [](const Values& x) {
    const Value key = vectors(x[0], 2);
    const Value mask = reshape(x[2], {.shape = {batch, 1, 2}});
    return Values{
        results(nn::scaled_dot_product_attention(vectors(x[1], 1), key, key, {.mask = mask}), 1)};
  };
  const std::string torch =
      "exact.attention(x[1].reshape(-1, 1, 2), x[0].reshape(-1, 2, 2), x[2][:, None])";
  const Source added{{{0, 0}, {-kInfinity, 0}, {0, -1e4}, {-kInfinity, -kInfinity}, {kInfinity, 0}},
                     true,
                     DType::f32};
  all.push_back({.name = "attention",
                 .torch = torch,
                 .sources = sources(added),
                 .build = build,
                 .dtypes = {DType::f32}});
  all.push_back({.name = "attention",
                 .torch = torch,
                 .sources = sources({{{1, 1}, {0, 1}, {0, 0}}, true, DType::boolean}),
                 .build = build,
                 .dtypes = {DType::f32, DType::f64}});
}

// Adds attention in blocks of `count` queries. x[0] has the keys, x[1] the queries, and `others`
// the values and which keys are used, or nothing. `torch` has more arguments of
// exact.blockwise_attention().
void add_blockwise(std::vector<Function>& all, std::int64_t count, std::int64_t keys,
                   const std::function<std::vector<Source>(DType)>& sources,
                   const std::string& torch, const std::function<Value(const Values&)>& build) {
  const std::string shapes = "x[1].reshape(-1, " + std::to_string(count) +
                             ", 2), x[0].reshape(-1, " + std::to_string(keys) + ", 2)";
  all.push_back({.name = "attention blockwise",
                 .torch = "exact.blockwise_attention(" + shapes + torch + ")",
                 .sources = sources,
                 .build = [=](const Values& x) { return Values{results(build(x), count)}; },
                 .dtypes = {DType::f32, DType::f64}});
}

void add_blocks(std::vector<Function>& all) {
  const Source used{{{1, 1}, {0, 1}, {0, 0}}, true, DType::boolean};
  add_blockwise(
      all, 1, 2, [=](DType d) { return std::vector{rows(d, 4), queries(d), used}; }, ", used=x[2]",
      [](const Values& x) {
        const Value key = vectors(x[0], 2);
        return nn::scaled_dot_product_attention(vectors(x[1], 1), key, key,
                                                {.key_mask = x[2], .blockwise = true});
      });
  // Keys that are not finite, with finite values.
  add_blockwise(
      all, 1, 2,
      [](DType d) {
        const Source value{{{1, 2, 3, 4}, {0, 0, 0, 0}}, true, d};
        return std::vector{rows(d, 4), queries(d), value};
      },
      ", value=x[2].reshape(-1, 2, 2)",
      [](const Values& x) {
        return nn::scaled_dot_product_attention(vectors(x[1], 1), vectors(x[0], 2),
                                                vectors(x[2], 2), {.blockwise = true});
      });
  // More queries than keys. Query 0 attends to key 0, the others to both.
  add_blockwise(
      all, 3, 2,
      [](DType d) {
        const Source query{
            {{0, 0, 1, -2, 0.5, 0}, {1, 1, kInfinity, 1, 1, 1}, {kNan, 0, 1, -2, 1e20, 0}},
            true,
            d};
        return std::vector{rows(d, 4), query};
      },
      ", causal=True",
      [](const Values& x) {
        const Value key = vectors(x[0], 2);
        return nn::scaled_dot_product_attention(vectors(x[1], 3), key, key,
                                                {.causal = true, .blockwise = true});
      });
  // Without key 0, query 0 has none.
  add_blockwise(
      all, 2, 2,
      [=](DType d) {
        const Source query{{{0, 0, 1, -2}, {1, 1, kInfinity, 1}, {kNan, 0, 1, -2}}, true, d};
        return std::vector{rows(d, 4), query, used};
      },
      ", used=x[2], causal=True",
      [](const Values& x) {
        const Value key = vectors(x[0], 2);
        return nn::scaled_dot_product_attention(
            vectors(x[1], 2), key, key, {.key_mask = x[2], .causal = true, .blockwise = true});
      });
  // One key, full and incomplete vectors of the processor, and several blocks.
  for (const std::size_t keys : {1u, 37u, 300u}) {
    const auto count = static_cast<std::int64_t>(keys);
    add_blockwise(
        all, 1, count, [=](DType d) { return std::vector{rows(d, 2 * keys), queries(d)}; }, "",
        [=](const Values& x) {
          const Value key = vectors(x[0], count);
          return nn::scaled_dot_product_attention(vectors(x[1], 1), key, key, {.blockwise = true});
        });
  }
  add_blockwise(
      all, 1, 0, [](DType d) { return std::vector{rows(d, 0), queries(d)}; }, "",
      [](const Values& x) {
        const Value key = vectors(x[0], 0);
        return nn::scaled_dot_product_attention(vectors(x[1], 1), key, key, {.blockwise = true});
      });
}

}  // namespace

std::vector<Function> attention_functions() {
  std::vector<Function> all;
  add_with_matrix(all);
  add_blocks(all);
  return all;
}

}  // namespace trireme::edges
