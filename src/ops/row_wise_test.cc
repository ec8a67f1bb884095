// Checks OpDef::row_wise and row_additive against the reference loops, for every sample and every
// choice of operands that have rows.

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ops/op.h"
#include "ops/reference.h"
#include "trireme/program.h"

namespace trireme::ops {
namespace {

using Flags = std::vector<bool>;
using Tensors = std::vector<RefTensor>;

// A Program of one op, run by its reference loop.
class OneOp {
 public:
  OneOp(const Op& op, const std::vector<ir::Type>& types, const Attributes& attributes) {
    ir::Program& ir = program_.ir();
    std::vector<ir::Value*> operands;
    for (std::size_t i = 0; i < types.size(); ++i) {
      operands.push_back(ir.add_input("x" + std::to_string(i), types[i]));
    }
    op_ = ir.append(ir.main(), op.name, operands, attributes, {});
  }

  const ir::Op& op() const { return *op_; }

  Tensors run(const Tensors& operands) const {
    RefTensors inputs, parameters;
    for (std::size_t i = 0; i < operands.size(); ++i) inputs["x" + std::to_string(i)] = operands[i];
    std::vector<const ir::Value*> wanted;
    for (const auto& result : op_->results) wanted.push_back(result.get());
    return evaluate(program_.ir(), inputs, parameters, wanted, {.training = false});
  }

 private:
  Program program_{"one"};
  ir::Op* op_;
};

std::size_t row_size(const RefTensor& x) {
  return x.shape[0] == 0 ? 0 : x.data.size() / static_cast<std::size_t>(x.shape[0]);
}

// Returns the rows of x with the numbers in `order`.
RefTensor rows_of(const RefTensor& x, const std::vector<std::size_t>& order) {
  std::vector<std::int64_t> shape = x.shape;
  shape[0] = static_cast<std::int64_t>(order.size());
  RefTensor y(shape);
  const std::size_t size = row_size(x);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t k = 0; k < size; ++k) y.data[i * size + k] = x.data[order[i] * size + k];
  }
  return y;
}

class RowRules : public testing::Test {
 protected:
  RefTensor random(const ir::Type& type, std::pair<double, double> range) {
    RefTensor x(evaluate_shape(type.shape));
    std::uniform_real_distribution<double> uniform(range.first, range.second);
    for (double& value : x.data) {
      const double drawn = uniform(random_);
      value = is_arithmetic_float(type.dtype) ? drawn : std::floor(drawn);
    }
    return x;
  }

  static std::vector<std::int64_t> evaluate_shape(const Shape& shape) {
    std::vector<std::int64_t> sizes;
    for (const Dim& dim : shape) sizes.push_back(dim.constant());
    return sizes;
  }

  // Calls check(sample, flags) for each choice of operands of equally many rows, at least two.
  template <class Check>
  void for_each_choice(const Op& op, const Check& check) {
    for (const Sample& sample : op.samples) {
      const std::size_t count = sample.operands.size();
      for (std::size_t bits = 1; bits < (std::size_t{1} << std::min<std::size_t>(count, 3));
           ++bits) {
        Flags rows(count);
        std::int64_t number = -1;
        bool valid = true;
        for (std::size_t i = 0; i < count; ++i) {
          valid = valid && sample.operands[i].splits_of.empty();
          rows[i] = ((bits >> i) & 1) != 0;
          if (!rows[i] || !valid) continue;
          valid = sample.operands[i].rank() > 0;
          if (!valid) break;
          const std::int64_t own = sample.operands[i].shape[0].constant();
          valid = own > 1 && (number < 0 || own == number);
          number = own;
        }
        if (valid) check(sample, rows, static_cast<std::size_t>(number));
      }
    }
  }

  Tensors operands_of(const Sample& sample) {
    Tensors operands;
    for (std::size_t i = 0; i < sample.operands.size(); ++i) {
      operands.push_back(random(sample.operands[i], range(sample, i)));
    }
    return operands;
  }

  static std::pair<double, double> range(const Sample& sample, std::size_t i) {
    return i < sample.ranges.size() ? sample.ranges[i] : std::pair(sample.low, sample.high);
  }

  std::mt19937 random_{7};
};

TEST_F(RowRules, RowWiseResultsDependOnTheirOwnRowsOnly) {
  int seen = 0;
  for (const std::string& name : catalog().names()) {
    const Op& op = *catalog().find(name);
    const bool elementwise = op.has(ir::Trait::elementwise);
    if ((!op.row_wise && !elementwise) || !op.reference || op.has(ir::Trait::random)) continue;
    for_each_choice(op, [&](const Sample& sample, const Flags& rows, std::size_t number) {
      const OneOp program(op, sample.operands, sample.attributes);
      const bool all = std::find(rows.begin(), rows.end(), false) == rows.end();
      if (op.row_wise ? !op.row_wise(program.op(), rows) : !all) return;
      ++seen;
      const Tensors operands = operands_of(sample);
      const Tensors before = program.run(operands);
      std::vector<std::size_t> order(number);
      std::iota(order.rbegin(), order.rend(), 0u);
      std::rotate(order.begin(), order.begin() + 1, order.end());
      // `moved`: rows in another order. `changed`: other numbers in all rows but the first.
      Tensors moved = operands, changed = operands;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!rows[i]) continue;
        moved[i] = rows_of(operands[i], order);
        changed[i] = random(sample.operands[i], range(sample, i));
        const std::size_t size = row_size(operands[i]);
        std::copy_n(operands[i].data.begin(), size, changed[i].data.begin());
      }
      const Tensors after = program.run(moved), others = program.run(changed);
      for (std::size_t r = 0; r < before.size(); ++r) {
        ASSERT_EQ(before[r].shape.at(0), static_cast<std::int64_t>(number)) << name;
        EXPECT_EQ(after[r].data, rows_of(before[r], order).data)
            << name << " " << program.op().result(0)->type.str();
        EXPECT_EQ(rows_of(others[r], {0}).data, rows_of(before[r], {0}).data) << name;
      }
    });
  }
  EXPECT_GT(seen, 100);
}

TEST_F(RowRules, RowAdditiveResultsAreSumsOfResultsPerRow) {
  int seen = 0;
  for (const std::string& name : catalog().names()) {
    const Op& op = *catalog().find(name);
    if (!op.row_additive) continue;
    for_each_choice(op, [&](const Sample& sample, const Flags& rows, std::size_t number) {
      const OneOp program(op, sample.operands, sample.attributes);
      if (!op.row_additive(program.op(), rows)) return;
      ++seen;
      const Tensors operands = operands_of(sample);
      const Tensors all = program.run(operands);
      std::vector<ir::Type> types = sample.operands;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i]) types[i].shape[0] = 1;
      }
      const OneOp single(op, types, sample.attributes);
      RefTensor total(all[0].shape);
      for (std::size_t row = 0; row < number; ++row) {
        Tensors own = operands;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          if (rows[i]) own[i] = rows_of(operands[i], {row});
        }
        const RefTensor part = single.run(own)[0];
        for (std::size_t k = 0; k < total.data.size(); ++k) total.data[k] += part.data[k];
      }
      for (std::size_t k = 0; k < total.data.size(); ++k) {
        EXPECT_NEAR(total.data[k], all[0].data[k], 1e-9) << name << " at " << k;
      }
    });
  }
  EXPECT_GT(seen, 5);
}

}  // namespace
}  // namespace trireme::ops
