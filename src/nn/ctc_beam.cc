// CTC prefix beam search on the host, over the logits of a network. It maintains a set of prefixes
// that grows, merges and shrinks by comparing whole label strings, which is not a tensor
// computation.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "trireme/structured.h"

namespace trireme::nn {
namespace {

constexpr double kLogZero = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kLogZero ? a : a + std::log1p(std::exp(b - a));
}

using Labels = std::vector<std::int64_t>;

// Logarithms of the probability that the rows so far spell a prefix, by whether the last row is a
// blank or a label.
struct Ends {
  double blank = kLogZero, label = kLogZero;
  double both() const { return log_add(blank, label); }
};
using Prefixes = std::map<Labels, Ends>;

void add(double& sum, double term) { sum = log_add(sum, term); }

// Extends each prefix by a row of log-probabilities.
Prefixes extend(const Prefixes& prefixes, std::span<const double> row, std::int64_t blank) {
  Prefixes next;
  for (const auto& [labels, ends] : prefixes) {
    const double any = ends.both();
    add(next[labels].blank, any + row[static_cast<std::size_t>(blank)]);
    if (!labels.empty()) {  // the last label is repeated
      add(next[labels].label, ends.label + row[static_cast<std::size_t>(labels.back())]);
    }
    Labels longer = labels;
    longer.push_back(0);
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (k == static_cast<std::size_t>(blank)) continue;
      longer.back() = static_cast<std::int64_t>(k);
      const bool repeated = !labels.empty() && labels.back() == longer.back();
      add(next[longer].label, (repeated ? ends.blank : any) + row[k]);
    }
  }
  return next;
}

// Returns the most probable prefixes, most probable first; equal ones keep their order.
std::vector<std::pair<Labels, Ends>> best_of(const Prefixes& prefixes, std::int64_t count) {
  std::vector<std::pair<double, Prefixes::const_iterator>> order;
  for (auto it = prefixes.begin(); it != prefixes.end(); ++it) {
    order.emplace_back(it->second.both(), it);
  }
  const auto kept = order.begin() + std::min<std::ptrdiff_t>(count, std::ssize(order));
  std::partial_sort(order.begin(), kept, order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second->first < b.second->first;
  });
  std::vector<std::pair<Labels, Ends>> best;
  for (auto it = order.begin(); it != kept; ++it) {
    if (it->first > kLogZero) best.emplace_back(*it->second);
  }
  return best;
}

// Returns row `row` of the logits as log-probabilities.
template <class T>
std::vector<double> log_softmax_of(const T* logits, std::int64_t row, std::int64_t classes) {
  std::vector<double> x(logits + row * classes, logits + (row + 1) * classes);
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!(x[k] < std::numeric_limits<double>::infinity())) {
      fail_data("ctc_beam_search: logits at [" + std::to_string(row) + ", " + std::to_string(k) +
                "] are " + (std::isnan(x[k]) ? "NaN" : "infinity"));
    }
  }
  const double top = *std::max_element(x.begin(), x.end());
  if (top == kLogZero) {
    fail_data("ctc_beam_search: all logits at [" + std::to_string(row) + "] are -infinity");
  }
  double total = 0;
  for (const double value : x) total += std::exp(value - top);
  for (double& value : x) value -= top + std::log(total);
  return x;
}

template <class T>
std::vector<CtcHypothesis> search(const T* logits, std::int64_t begin, std::int64_t end,
                                  std::int64_t classes, const CtcBeamOptions& options) {
  Prefixes prefixes;
  prefixes[{}].blank = 0;
  for (std::int64_t row = begin; row < end; ++row) {
    const auto next = best_of(extend(prefixes, log_softmax_of(logits, row, classes), options.blank),
                              options.width);
    prefixes = Prefixes(next.begin(), next.end());
  }
  std::vector<CtcHypothesis> hypotheses;
  for (auto& [labels, ends] : best_of(prefixes, options.best)) {
    hypotheses.push_back({labels, ends.both()});
  }
  return hypotheses;
}

void require(bool holds, const std::string& message) {
  if (!holds) fail_usage("ctc_beam_search: " + message);
}

}  // namespace

std::vector<std::vector<CtcHypothesis>> ctc_beam_search(const RaggedTensor& logits,
                                                        const CtcBeamOptions& options) {
  const Tensor& rows = logits.rows();
  constexpr std::int64_t kMaxWidth = 1 << 20;
  require(is_arithmetic_float(rows.dtype()) && rows.shape().size() == 2 && logits.levels() == 1,
          "logits must be f32 or f64 [rows, classes] with one level, not " + logits.type_str());
  require(options.blank >= 0 && options.blank < rows.dim(1),
          "the blank is class " + std::to_string(options.blank) + ", but there are " +
              std::to_string(rows.dim(1)) + " classes");
  require(options.width >= 1 && options.width <= kMaxWidth,
          "a width of " + std::to_string(options.width) + " is out of range: use 1 to " +
              std::to_string(kMaxWidth) + " prefixes");
  require(options.best >= 1 && options.best <= options.width,
          std::to_string(options.best) + " hypotheses are not possible with a width of " +
              std::to_string(options.width) + "\n  hint   .best must be 1 to .width");
  std::vector<std::vector<CtcHypothesis>> all;
  for (std::int64_t i = 0; i < logits.size(); ++i) {
    const std::int64_t begin = logits.row_begin(i), end = logits.row_begin(i + 1);
    all.push_back(rows.dtype() == DType::f32
                      ? search(rows.data<float>(), begin, end, rows.dim(1), options)
                      : search(rows.data<double>(), begin, end, rows.dim(1), options));
  }
  return all;
}

}  // namespace trireme::nn
