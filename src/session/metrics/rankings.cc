// Metrics of ranking groups: the rows of one query are compared with each other. Rows of a group
// may be in different batches.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "nn/layer.h"
#include "session/metrics/checks.h"
#include "trireme/functions.h"
#include "trireme/metrics.h"
#include "trireme/ops.h"

namespace trireme {
namespace {

struct RankedRow {
  double group, score, relevance;
};
using Rows = std::vector<RankedRow>;
using Iterator = Rows::const_iterator;

// The end of the rows whose score equals that of `first`.
Iterator end_of_tie(Iterator first, Iterator end) {
  return std::find_if(first, end, [&](const RankedRow& row) { return row.score != first->score; });
}

double discount(std::size_t position) { return 1 / std::log2(static_cast<double>(position) + 2); }

// (2^relevance - 1) / 2^scale, exact for tiny relevances. Quotients of gains do not depend on the
// scale.
double gain_of(const RankedRow& row, double scale) {
  if (scale > 0) return std::exp2(row.relevance - scale) - std::exp2(-scale);
  return row.relevance < 1 ? std::expm1(row.relevance * std::log(2)) : std::exp2(row.relevance) - 1;
}

// 0, or the largest relevance if gains would overflow.
double scale_of(Iterator begin, Iterator end) {
  double largest = 0;
  for (Iterator row = begin; row != end; ++row) largest = std::max(largest, row->relevance);
  return largest > 512 ? largest : 0;
}

// The sum of discounted gains of the first `k` places. Rows with equal scores share the discounts
// of their places: McSherry and Najork, "Computing information retrieval performance measures
// efficiently in the presence of tied scores", 2008.
double discounted_gain(Iterator begin, Iterator end, std::size_t k, double scale) {
  double sum = 0;
  for (Iterator first = begin; first != end;) {
    const Iterator last = end_of_tie(first, end);
    double discounts = 0, gains = 0;
    for (Iterator row = first; row != last; ++row) {
      const auto position = static_cast<std::size_t>(row - begin);
      if (position < k) discounts += discount(position);
      gains += gain_of(*row, scale);
    }
    sum += gains * discounts / static_cast<double>(last - first);
    first = last;
  }
  return sum;
}

double ndcg_of(Iterator begin, Iterator end, std::size_t k) {
  const double scale = scale_of(begin, end);
  std::vector<double> gains;
  for (Iterator row = begin; row != end; ++row) gains.push_back(gain_of(*row, scale));
  std::sort(gains.begin(), gains.end(), std::greater<>());
  double best = 0;
  for (std::size_t i = 0; i < std::min(k, gains.size()); ++i) best += gains[i] * discount(i);
  return discounted_gain(begin, end, k, scale) / best;
}

// The mean over the relevant rows of the share of relevant rows among those with at least their
// score.
double average_precision_of(Iterator begin, Iterator end, std::size_t) {
  double sum = 0, relevant = 0;
  for (Iterator first = begin; first != end;) {
    const Iterator last = end_of_tie(first, end);
    const auto here = static_cast<double>(
        std::count_if(first, last, [](const RankedRow& row) { return row.relevance > 0; }));
    relevant += here;
    sum += here * relevant / static_cast<double>(last - begin);
    first = last;
  }
  return sum / relevant;
}

// One over the place of the first relevant row, after all other rows with its score.
double reciprocal_rank_of(Iterator begin, Iterator end, std::size_t k) {
  for (Iterator first = begin; first != end;) {
    const Iterator last = end_of_tie(first, end);
    const auto others =
        std::count_if(first, last, [](const RankedRow& row) { return !(row.relevance > 0); });
    if (others < last - first) {
      const auto place = static_cast<std::size_t>(first - begin + others + 1);
      return place <= k ? 1 / static_cast<double>(place) : 0;
    }
    first = last;
  }
  return 0;
}

// 1 if a relevant row is among the first k.
double hit_of(Iterator begin, Iterator end, std::size_t k) {
  return reciprocal_rank_of(begin, end, k) > 0 ? 1 : 0;
}

Rows sorted_rows(const std::string& metric, const Tensor& all) {
  Rows rows;
  for (std::int64_t i = 0; i < all.dim(0); ++i) {
    const double* n = all.data<double>() + 3 * i;
    if (std::isnan(n[1])) fail_data(metric + ": a score is NaN");
    if (!(n[2] >= 0) || std::isinf(n[2])) {
      fail_data(fmt::format("{}: relevance {} is not a finite number, at least 0", metric, n[2]));
    }
    rows.push_back({n[0], n[1], n[2]});
  }
  std::sort(rows.begin(), rows.end(), [](const RankedRow& a, const RankedRow& b) {
    return a.group != b.group ? a.group < b.group : a.score > b.score;
  });
  return rows;
}

using OfGroup = double (*)(Iterator begin, Iterator end, std::size_t k);

// The mean over the groups that have a relevant row.
double mean_over_groups(const std::string& metric, const Tensor& all, OfGroup of_group,
                        std::size_t k) {
  const Rows rows = sorted_rows(metric, all);
  double sum = 0;
  std::int64_t groups = 0;
  for (Iterator begin = rows.begin(); begin != rows.end();) {
    const Iterator end = std::find_if(
        begin, rows.end(), [&](const RankedRow& row) { return row.group != begin->group; });
    if (std::any_of(begin, end, [](const RankedRow& row) { return row.relevance > 0; })) {
      sum += of_group(begin, end, k);
      ++groups;
    }
    begin = end;
  }
  return groups == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(groups);
}

Value as_column(const Value& x) {
  return cast(reshape(x, {.shape = {product(x.shape()), 1}}), {.dtype = f64});
}

Metric ranking_metric(const char* stem, OfGroup of_group, Value score, Value relevance, Value group,
                      std::int64_t k, const SourceLocation& where) {
  const nn::LocationScope at(score, stem, where);
  check_pairs(stem, score, relevance);
  if (!is_integer(group.dtype()) || product(group.shape()) != product(score.shape())) {
    fail_usage(
        fmt::format("{}: group must be integers, one for each score\n  score  {}\n  group  {}",
                    stem, score.str(), group.str()));
  }
  if (k < 0) fail_usage(fmt::format("{}: k is {}, but must be at least 0", stem, k));
  const std::string name = k == 0 ? stem : fmt::format("{}_{}", stem, k);
  const std::size_t places = k == 0 ? std::numeric_limits<std::size_t>::max() : std::size_t(k);
  return {
      .name = name,
      .value = concat({as_column(group), as_column(score), as_column(relevance)}, {.axis = 1}),
      .combine = Metric::Combine::join,
      .finish = [name, of_group, places](
                    const Tensor& all) { return mean_over_groups(name, all, of_group, places); },
      .larger_better = true};
}

}  // namespace

Metric ndcg(Value score, Value relevance, Value group, RankingOptions options,
            SourceLocation where) {
  return ranking_metric("ndcg", ndcg_of, score, relevance, group, options.k, where);
}

Metric grouped_average_precision(Value score, Value relevance, Value group, SourceLocation where) {
  return ranking_metric("map", average_precision_of, score, relevance, group, 0, where);
}

Metric reciprocal_rank(Value score, Value relevance, Value group, RankingOptions options,
                       SourceLocation where) {
  return ranking_metric("mrr", reciprocal_rank_of, score, relevance, group, options.k, where);
}

Metric hit_rate(Value score, Value relevance, Value group, RankingOptions options,
                SourceLocation where) {
  return ranking_metric("hit_rate", hit_of, score, relevance, group, options.k, where);
}

}  // namespace trireme
