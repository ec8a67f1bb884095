// The ROC curve, the precision-recall curve and the area under the latter, exact.

#include <cmath>
#include <limits>

#include "nn/layer.h"
#include "session/metrics/checks.h"
#include "session/metrics/examples.h"
#include "trireme/metrics.h"

namespace trireme {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The elements with at least a score.
struct Above {
  double score = kInfinity, positives = 0, negatives = 0;
};

// One for each distinct score, falling.
std::vector<Above> counts_above(std::string_view metric, const Tensor& all) {
  const std::vector<std::pair<double, bool>> examples = sorted_examples(metric, all);
  std::vector<Above> counts;
  Above sum;
  for (std::size_t i = examples.size(); i > 0;) {
    sum.score = examples[i - 1].first;
    for (; i > 0 && examples[i - 1].first == sum.score; --i) {
      (examples[i - 1].second ? sum.positives : sum.negatives) += 1;
    }
    counts.push_back(sum);
  }
  return counts;
}

// Whether the step to b is that from b to c: b is in the middle of a straight line.
bool is_midpoint(const Above& a, const Above& b, const Above& c) {
  return b.positives - a.positives == c.positives - b.positives &&
         b.negatives - a.negatives == c.negatives - b.negatives;
}

std::vector<Above> without_midpoints(const std::vector<Above>& counts) {
  std::vector<Above> kept;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const bool inside = i > 0 && i + 1 < counts.size();
    if (inside && is_midpoint(counts[i - 1], counts[i], counts[i + 1])) continue;
    kept.push_back(counts[i]);
  }
  return kept;
}

double rate_of(double part, double all) { return all == 0 ? kNoNumber : part / all; }

Tensor points_tensor(const std::vector<double>& numbers) {
  return Tensor::from<double>({static_cast<std::int64_t>(numbers.size()) / 3, 3}, numbers);
}

Tensor roc_points(const Tensor& all, bool drop_intermediate) {
  std::vector<Above> counts = counts_above("roc_curve", all);
  const Above last = counts.back();
  if (drop_intermediate) counts = without_midpoints(counts);
  counts.insert(counts.begin(), Above{});
  std::vector<double> points;
  for (const Above& at : counts) {
    points.insert(points.end(), {rate_of(at.negatives, last.negatives),
                                 rate_of(at.positives, last.positives), at.score});
  }
  return points_tensor(points);
}

Tensor pr_points(const Tensor& all) {
  const std::vector<Above> counts = counts_above("pr_curve", all);
  std::vector<double> points;
  const double positives = counts.back().positives;
  for (auto at = counts.rbegin(); at != counts.rend(); ++at) {
    points.insert(points.end(), {at->positives / (at->positives + at->negatives),
                                 rate_of(at->positives, positives), at->score});
  }
  points.insert(points.end(), {1, positives == 0 ? kNoNumber : 0, kInfinity});
  return points_tensor(points);
}

double precision_sum(const Tensor& all) {
  double sum = 0, before = 0;
  for (const Above& at : counts_above("average_precision", all)) {
    sum += (at.positives - before) * (at.positives / (at.positives + at.negatives));
    before = at.positives;
  }
  return rate_of(sum, before);
}

}  // namespace

Metric roc_curve(Value score, Value label, RocOptions options, SourceLocation where) {
  const nn::LocationScope at(score, "roc_curve", where);
  return {.name = "roc_curve",
          .value = score_label_pairs("roc_curve", score, label),
          .combine = Metric::Combine::join,
          .finish_tensor = [drop = options.drop_intermediate](const Tensor& all) {
            return roc_points(all, drop);
          }};
}

Metric pr_curve(Value score, Value label, SourceLocation where) {
  const nn::LocationScope at(score, "pr_curve", where);
  return {.name = "pr_curve",
          .value = score_label_pairs("pr_curve", score, label),
          .combine = Metric::Combine::join,
          .finish_tensor = pr_points};
}

Metric average_precision(Value score, Value label, SourceLocation where) {
  const nn::LocationScope at(score, "average_precision", where);
  return {.name = "average_precision",
          .value = score_label_pairs("average_precision", score, label),
          .combine = Metric::Combine::join,
          .finish = precision_sum,
          .larger_better = true};
}

}  // namespace trireme
