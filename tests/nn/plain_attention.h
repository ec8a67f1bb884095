#pragma once

// Attention in plain loops in double precision, one sequence at a time. The oracle of
// ragged_attention_test.

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "trireme/session.h"

namespace trireme {

using PlainRows = std::vector<std::vector<double>>;

inline PlainRows plain_rows(const Tensor& matrix, std::int64_t begin, std::int64_t end) {
  const Tensor wide = matrix.cast(DType::f64);
  const std::int64_t width = matrix.dim(1);
  PlainRows rows;
  for (std::int64_t i = begin; i < end; ++i) {
    rows.emplace_back(wide.data<double>() + i * width, wide.data<double>() + (i + 1) * width);
  }
  return rows;
}

// Uses the parameters of layer `name`: "query.weight" and so on.
class PlainAttention {
 public:
  PlainAttention(const std::map<std::string, Tensor>& parameters, const std::string& name,
                 std::size_t heads)
      : parameters_(parameters), name_(name), heads_(heads) {}

  PlainRows operator()(const PlainRows& queries, const PlainRows& memory, bool causal) const {
    const PlainRows q = linear("query", queries), k = linear("key", memory);
    const PlainRows v = linear("value", memory);
    PlainRows seen;
    for (std::size_t i = 0; i < q.size(); ++i) {
      std::vector<double> row(q[i].size());
      const std::size_t keys = causal ? std::min(i + 1, k.size()) : k.size();
      for (std::size_t head = 0; head < heads_; ++head) attend(q[i], k, v, keys, head, row);
      seen.push_back(row);
    }
    return linear("out", seen);
  }

 private:
  void attend(const std::vector<double>& q, const PlainRows& k, const PlainRows& v,
              std::size_t keys, std::size_t head, std::vector<double>& row) const {
    const std::size_t width = q.size() / heads_, begin = head * width;
    std::vector<double> powers;
    double all = 0;
    for (std::size_t j = 0; j < keys; ++j) {
      double dot = 0;
      for (std::size_t c = begin; c < begin + width; ++c) dot += q[c] * k[j][c];
      all += powers.emplace_back(std::exp(dot / std::sqrt(static_cast<double>(width))));
    }
    for (std::size_t j = 0; j < keys; ++j) {
      for (std::size_t c = begin; c < begin + width; ++c) row[c] += powers[j] / all * v[j][c];
    }
  }

  PlainRows linear(const std::string& layer, const PlainRows& x) const {
    const Tensor weight = parameters_.at(name_ + "/" + layer + ".weight");
    const PlainRows w = plain_rows(weight, 0, weight.dim(0));
    const auto bias = parameters_.find(name_ + "/" + layer + ".bias");
    PlainRows result;
    for (const std::vector<double>& row : x) {
      std::vector<double> y(w[0].size());
      if (bias != parameters_.end()) y = bias->second.cast(DType::f64).to_vector<double>();
      for (std::size_t i = 0; i < row.size(); ++i) {
        for (std::size_t j = 0; j < y.size(); ++j) y[j] += row[i] * w[i][j];
      }
      result.push_back(y);
    }
    return result;
  }

  std::map<std::string, Tensor> parameters_;
  std::string name_;
  std::size_t heads_;
};

}  // namespace trireme
