#pragma once

// A GRU with attention to a source, in plain loops in double precision. The oracle of
// decoding_test.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "trireme/session.h"

namespace trireme {

using Row = std::vector<double>;
using Ids = std::vector<std::int64_t>;

struct Scoring {
  double length_penalty = 0;
  double coverage = 0;
};

struct PlainHypothesis {
  Ids tokens;  // `end` too
  Row state;
  Row covered;  // by row of the source
  double log_p = 0;
  bool ended = false;

  double score(const Scoring& scoring) const {
    const auto length = static_cast<double>(tokens.size());
    double result = log_p / std::pow((5 + length) / 6, scoring.length_penalty);
    for (const double c : covered) {
      result += scoring.coverage * std::log(std::clamp(c, 1e-6, 1.0));
    }
    return result;
  }
};

class PlainDecoder {
 public:
  // Feeds: "table" [words, d], "source" [rows, d] and "source.splits", "first" [n, d], "look",
  // "of_x", "of_context", "of_h" [d, 3 d or d], "out" [d, words].
  explicit PlainDecoder(const Feeds& feeds) {
    for (const auto& [name, tensor] : feeds) {
      values_[name] = tensor.cast(DType::f64).to_vector<double>();
      width_[name] = tensor.rank() == 2 ? static_cast<std::size_t>(tensor.dim(1)) : 1;
    }
  }

  std::size_t words() const { return width_.at("out"); }

  PlainHypothesis begin(std::size_t example) const {
    return {{}, row("first", example), Row(source(example).size()), 0, false};
  }

  // Returns the hypothesis extended by each word.
  std::vector<PlainHypothesis> continued(const PlainHypothesis& from, std::size_t example,
                                         std::int64_t start, std::int64_t end) const {
    PlainHypothesis next = from;
    const std::int64_t last = from.tokens.empty() ? start : from.tokens.back();
    const Row x = row("table", static_cast<std::size_t>(last));
    const Row logits = step(x, example, next);
    double all = 0;
    for (const double logit : logits) all += std::exp(logit);
    std::vector<PlainHypothesis> result;
    for (std::size_t word = 0; word < logits.size(); ++word) {
      PlainHypothesis made = next;
      made.tokens.push_back(static_cast<std::int64_t>(word));
      made.log_p += logits[word] - std::log(all);
      made.ended = made.tokens.back() == end;
      result.push_back(made);
    }
    return result;
  }

 private:
  Row row(const std::string& name, std::size_t i) const {
    const std::size_t width = width_.at(name);
    const auto begin = values_.at(name).begin() + static_cast<std::ptrdiff_t>(i * width);
    return {begin, begin + static_cast<std::ptrdiff_t>(width)};
  }
  Row times(const Row& x, const std::string& name) const {
    Row result(width_.at(name));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Row weights = row(name, i);
      for (std::size_t j = 0; j < result.size(); ++j) result[j] += x[i] * weights[j];
    }
    return result;
  }
  std::vector<Row> source(std::size_t example) const {
    const Row& splits = values_.at("source.splits");
    std::vector<Row> rows;
    for (auto i = static_cast<std::size_t>(splits[example]);
         i < static_cast<std::size_t>(splits[example + 1]); ++i) {
      rows.push_back(row("source", i));
    }
    return rows;
  }

  Row step(const Row& x, std::size_t example, PlainHypothesis& h) const {
    const std::vector<Row> rows = source(example);
    const Row query = times(h.state, "look");
    Row weights, context(query.size());
    double all = 0;
    for (const Row& r : rows) {
      double dot = 0;
      for (std::size_t i = 0; i < r.size(); ++i) dot += r[i] * query[i];
      all += weights.emplace_back(std::exp(dot));
    }
    for (std::size_t k = 0; k < rows.size(); ++k) {
      h.covered[k] += weights[k] / all;
      for (std::size_t i = 0; i < context.size(); ++i) context[i] += rows[k][i] * weights[k] / all;
    }
    const Row a = times(x, "of_x"), b = times(context, "of_context"), c = times(h.state, "of_h");
    const std::size_t d = query.size();
    const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
    for (std::size_t i = 0; i < d; ++i) {
      const double reset = sigmoid(a[i] + b[i] + c[i]);
      const double keep = sigmoid(a[d + i] + b[d + i] + c[d + i]);
      const double candidate = std::tanh(a[2 * d + i] + b[2 * d + i] + reset * c[2 * d + i]);
      h.state[i] = (1 - keep) * candidate + keep * h.state[i];
    }
    return times(h.state, "out");
  }

  std::map<std::string, Row> values_;
  std::map<std::string, std::size_t> width_;
};

inline void sort_by_score(std::vector<PlainHypothesis>& all, const Scoring& scoring) {
  std::sort(all.begin(), all.end(),
            [&](const auto& a, const auto& b) { return a.score(scoring) > b.score(scoring); });
}

// Returns every hypothesis of at most `limit` words, the best first.
inline std::vector<PlainHypothesis> enumerate(const PlainDecoder& decoder, std::size_t example,
                                              std::int64_t start, std::int64_t end,
                                              std::int64_t limit, const Scoring& scoring) {
  std::vector<PlainHypothesis> live{decoder.begin(example)}, all;
  for (std::int64_t t = 0; t < limit; ++t) {
    std::vector<PlainHypothesis> next;
    for (const PlainHypothesis& h : live) {
      for (PlainHypothesis& made : decoder.continued(h, example, start, end)) {
        (made.ended ? all : next).push_back(made);
      }
    }
    live = next;
  }
  all.insert(all.end(), live.begin(), live.end());
  sort_by_score(all, scoring);
  return all;
}

// Beam search that never stops before the limit.
inline std::vector<PlainHypothesis> plain_beam(const PlainDecoder& decoder, std::size_t example,
                                               std::int64_t start, std::int64_t end,
                                               std::int64_t limit, std::size_t beam,
                                               const Scoring& scoring) {
  std::vector<PlainHypothesis> all{decoder.begin(example)};
  for (std::int64_t t = 0; t < limit; ++t) {
    std::vector<PlainHypothesis> next;
    for (const PlainHypothesis& h : all) {
      if (h.ended) {
        next.push_back(h);
        continue;
      }
      for (PlainHypothesis& made : decoder.continued(h, example, start, end)) next.push_back(made);
    }
    sort_by_score(next, scoring);
    if (next.size() > beam) next.resize(beam);
    all = next;
  }
  return all;
}

}  // namespace trireme
