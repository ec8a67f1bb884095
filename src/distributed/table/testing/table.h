#pragma once

// For tests: the table as a plain map in double precision, written from the formulas of
// trireme/optimizer.h, and batches at random.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "distributed/table/table.h"

namespace trireme::distributed {

struct OracleRow {
  std::vector<double> p, m, v;
};

class Oracle {
 public:
  Oracle(const TableOptions& options, SparseTable& initial_values)
      : options_(options), table_(initial_values) {}

  // Initial values are taken from a table that no update has met: tests of their own check those.
  OracleRow& row(Id id) {
    const auto found = rows_.find(id);
    if (found != rows_.end()) return found->second;
    const auto width = static_cast<std::size_t>(options_.width);
    std::vector<float> initial(width);
    table_.lookup({&id, 1}, initial.data(), Create::no);
    const double v = options_.rule.initial;
    return rows_[id] = {{initial.begin(), initial.end()},
                        std::vector<double>(width, 0),
                        std::vector<double>(width, v)};
  }

  void update(const std::vector<Id>& ids, const std::vector<float>& gradients,
              const UpdateStep& step) {
    std::map<Id, std::vector<double>> sums;
    const auto width = static_cast<std::size_t>(options_.width);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::vector<double>& sum = sums[ids[i]];
      sum.resize(width);
      for (std::size_t j = 0; j < width; ++j) sum[j] += gradients[i * width + j];
    }
    for (const auto& [id, g] : sums) {
      OracleRow& r = row(id);
      for (std::size_t j = 0; j < width; ++j) apply(r.p[j], r.m[j], r.v[j], g[j], step);
    }
  }
  const std::map<Id, OracleRow>& rows() const { return rows_; }

 private:
  void apply(double& p, double& m, double& v, double g, const UpdateStep& step) const {
    const RowRule& rule = options_.rule;
    const double rate = step.rate;
    switch (rule.kind) {
      case RowRule::Kind::sgd: p -= rate * g; break;
      case RowRule::Kind::adagrad:
        v += g * g;
        p -= rate * g / (std::sqrt(v) + rule.epsilon);
        break;
      case RowRule::Kind::adam: {
        const auto t = static_cast<double>(step.step);
        m = rule.beta1 * m + (1 - rule.beta1) * g;
        v = rule.beta2 * v + (1 - rule.beta2) * g * g;
        p -= rate * (m / (1 - std::pow(rule.beta1, t))) /
             (std::sqrt(v / (1 - std::pow(rule.beta2, t))) + rule.epsilon);
        break;
      }
      case RowRule::Kind::ftrl: {
        const double s = (std::sqrt(v + g * g) - std::sqrt(v)) / rate;
        m += g - s * p;
        v += g * g;
        p = std::abs(m) <= rule.l1
                ? 0
                : -(m - std::copysign(rule.l1, m)) / ((rule.beta + std::sqrt(v)) / rate + rule.l2);
        break;
      }
    }
  }

  TableOptions options_;
  SparseTable& table_;
  std::map<Id, OracleRow> rows_;
};

class Batches {
 public:
  explicit Batches(unsigned seed) : random_(seed) {}

  // Of `different` ids, the ends of the range among them, so that many come twice.
  std::vector<Id> ids(std::size_t n, std::uint64_t different) {
    std::vector<Id> ids(n);
    for (Id& id : ids) {
      const std::uint64_t i = random_() % different;
      id = i == 0 ? 0 : i == 1 ? ~std::uint64_t{0} : i < different / 2 ? i : i << 40;
    }
    return ids;
  }
  std::vector<float> floats(std::size_t n, float low = -1, float high = 1) {
    std::uniform_real_distribution<float> in(low, high);
    std::vector<float> values(n);
    for (float& value : values) value = in(random_);
    return values;
  }
  std::size_t below(std::size_t n) { return random_() % n; }

 private:
  std::mt19937_64 random_;
};

inline TableOptions small_options(RowRule rule = RowRule::adagrad(), int width = 5) {
  TableOptions options;
  options.name = "words";
  options.width = width;
  options.rule = rule;
  options.initializer = RowInitializer::uniform(-0.1, 0.1);
  options.seed = 7;
  return options;
}

inline std::vector<float> look_up(SparseTable& table, const std::vector<Id>& ids,
                                  Create create = Create::no) {
  std::vector<float> rows(ids.size() * static_cast<std::size_t>(table.options().width));
  table.lookup(ids, rows.data(), create);
  return rows;
}

// All rows, as bytes that are equal where the content is.
inline std::vector<RowBlock> all_blocks(SparseTable& table, const ReadOptions& options = {}) {
  std::vector<RowBlock> blocks;
  table.read(0, kSlots, options, [&](RowBlock block) { blocks.push_back(std::move(block)); });
  return blocks;
}

inline std::vector<Id> ids_of(const std::vector<RowBlock>& blocks) {
  std::vector<Id> ids;
  for (const RowBlock& block : blocks) ids.insert(ids.end(), block.ids.begin(), block.ids.end());
  std::sort(ids.begin(), ids.end());
  return ids;
}

inline void expect_same_blocks(const std::vector<RowBlock>& a, const std::vector<RowBlock>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].slot, b[i].slot);
    ASSERT_EQ(a[i].ids, b[i].ids);
    ASSERT_TRUE(a[i].records == b[i].records) << "slot " << a[i].slot;
  }
}

}  // namespace trireme::distributed
