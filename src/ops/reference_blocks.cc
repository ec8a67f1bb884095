#include "ops/reference_blocks.h"

#include <algorithm>

#include "base/error.h"
#include "base/philox.h"
#include "ir/recurrence.h"

namespace trireme::ops {
namespace {

using Tensors = std::vector<RefTensor>;
using Operands = std::vector<const RefTensor*>;

std::int64_t row_size(const RefTensor& tensor) {
  std::int64_t size = 1;
  for (std::size_t i = 1; i < tensor.shape.size(); ++i) size *= tensor.shape[i];
  return size;
}

RefTensor rows_of(const RefTensor& tensor, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> shape = tensor.shape;
  shape[0] = end - begin;
  RefTensor result(shape);
  const std::int64_t size = row_size(tensor);
  std::copy(tensor.data.begin() + begin * size, tensor.data.begin() + end * size,
            result.data.begin());
  return result;
}

void put_rows(const RefTensor& rows, std::int64_t begin, RefTensor& tensor) {
  std::copy(rows.data.begin(), rows.data.end(), tensor.data.begin() + begin * row_size(tensor));
}

Tensors copied(const Operands& operands) {
  Tensors tensors;
  for (const RefTensor* operand : operands) tensors.push_back(*operand);
  return tensors;
}

// The rows of an outer value that belong to a dimension of the step.
struct Range {
  std::int64_t begin, end;
};

// rnn(), one sequence after the other and one row after the other.
class Rnn {
 public:
  Rnn(const ir::Op& op, const Operands& operands, const SymbolSizes& sizes, std::uint64_t seed,
      const RunBlock& run)
      : rnn_(op), operands_(operands), sizes_(sizes), seed_(seed), run_(run) {
    for (std::size_t i = 0; i < rnn_.states; ++i) results_.push_back(*operands[1 + i]);
    for (std::size_t i = rnn_.states; i < op.results.size(); ++i) {
      results_.emplace_back(trireme::evaluate(op.results[i]->type.shape, sizes));
    }
  }

  Tensors run_all() {
    const std::vector<double>& splits = operands_[0]->data;
    for (sequence_ = 0; sequence_ + 1 < static_cast<std::int64_t>(splits.size()); ++sequence_) {
      const auto begin = static_cast<std::int64_t>(splits[static_cast<std::size_t>(sequence_)]);
      const auto end = static_cast<std::int64_t>(splits[static_cast<std::size_t>(sequence_) + 1]);
      for (std::int64_t t = 0; t < end - begin; ++t) {
        row_ = rnn_.reverse ? end - 1 - t : begin + t;
        step();
      }
    }
    return std::move(results_);
  }

 private:
  Range range(const Dim& inside, bool by_row) const {
    if (inside == rnn_.dims.active) {
      const std::int64_t at = by_row ? row_ : sequence_;
      return {at, at + 1};
    }
    for (std::size_t i = 0; i < rnn_.body.arguments.size(); ++i) {
      const ir::Type& type = rnn_.body.arguments[i]->type;
      if (rnn_.is_sequence(i) != by_row || type.splits_of != inside.str()) continue;
      const Range parent = range(type.shape[0] - Dim(1), by_row);
      const std::vector<double>& splits = operands_[1 + i]->data;
      return {static_cast<std::int64_t>(splits[static_cast<std::size_t>(parent.begin)]),
              static_cast<std::int64_t>(splits[static_cast<std::size_t>(parent.end)])};
    }
    fail_internal("rnn: there are no splits of " + inside.str());
  }

  // Stores the outer rows of a value in the step; returns false if it has none.
  bool has_rows(const ir::Type& inside, bool by_row, Range* rows) const {
    if (inside.rank() == 0) return false;
    const Dim dim = inside.splits_of.empty() ? inside.shape[0] : inside.shape[0] - Dim(1);
    if (!rnn_.dims.is_inside(dim)) return false;
    *rows = range(dim, by_row);
    return true;
  }

  RefTensor argument(std::size_t i) const {
    const ir::Type& inside = rnn_.body.arguments[i]->type;
    const RefTensor& whole = i < rnn_.states ? results_[i] : *operands_[1 + i];
    Range rows{};
    if (!has_rows(inside, rnn_.is_sequence(i), &rows)) return whole;
    if (inside.splits_of.empty() || inside.splits_of == rnn_.op.operands[1 + i]->type.splits_of) {
      return rows_of(whole, rows.begin, rows.end);
    }
    RefTensor splits = rows_of(whole, rows.begin, rows.end + 1);
    const double first = splits.data[0];
    for (double& split : splits.data) split -= first;
    return splits;
  }

  void step() {
    SymbolSizes sizes = sizes_;
    sizes[rnn_.dims.active.str()] = 1;
    for (const bool by_row : {false, true}) {
      for (const auto& [inside, outside] : by_row ? rnn_.dims.of_sequences : rnn_.dims.of_others) {
        const Range rows = range(inside, by_row);
        sizes[inside.str()] = rows.end - rows.begin;
      }
    }
    Tensors arguments;
    for (std::size_t i = 0; i < rnn_.body.arguments.size(); ++i) arguments.push_back(argument(i));
    const Tensors outputs = run_(rnn_.body, std::move(arguments), sizes,
                                 seed_of_run(seed_, static_cast<std::uint64_t>(row_)));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Range rows{};
      if (has_rows(rnn_.body.results[i]->type, i >= rnn_.states, &rows)) {
        put_rows(outputs[i], rows.begin, results_[i]);
      } else {
        results_[i] = outputs[i];
      }
    }
  }

  const ir::Recurrence rnn_;
  const Operands& operands_;
  const SymbolSizes& sizes_;
  std::uint64_t seed_;
  const RunBlock& run_;
  Tensors results_;
  std::int64_t sequence_ = 0, row_ = 0;
};

Tensors run_while(const ir::Op& op, const Operands& operands, const SymbolSizes& sizes,
                  std::uint64_t seed, const RunBlock& run) {
  Tensors values = copied(operands);
  const auto limit = get_attribute<std::int64_t>(op.attributes, "limit");
  std::int64_t steps = 0;
  for (; run(*op.blocks[0], values, sizes, seed_of_run(seed, static_cast<std::uint64_t>(steps)))[0]
             .data[0] != 0;
       ++steps) {
    if (steps == limit) fail_data("while_loop: more steps than its limit");
    Tensors next =
        run(*op.blocks[1], values, sizes, seed_of_run(seed, static_cast<std::uint64_t>(steps)));
    std::move(next.begin(), next.end(), values.begin());
  }
  values.resize(op.results.size() - 1);
  values.emplace_back(std::vector<std::int64_t>{});
  values.back().data[0] = static_cast<double>(steps);
  return values;
}

Tensors run_scan(const ir::Op& op, const Operands& operands, const SymbolSizes& sizes,
                 std::uint64_t seed, const RunBlock& run) {
  const auto carried =
      static_cast<std::size_t>(get_attribute<std::int64_t>(op.attributes, "carried"));
  const auto sequences =
      static_cast<std::size_t>(get_attribute<std::int64_t>(op.attributes, "sequences"));
  const std::int64_t length = get_attribute<Shape>(op.attributes, "length")[0].evaluate(sizes);
  const bool reverse = get_attribute<bool>(op.attributes, "reverse");
  Tensors results;
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    results.push_back(i < carried ? *operands[i]
                                  : RefTensor(trireme::evaluate(op.results[i]->type.shape, sizes)));
  }
  for (std::int64_t t = 0; t < length; ++t) {
    const std::int64_t at = reverse ? length - 1 - t : t;
    Tensors arguments = copied(operands);
    for (std::size_t i = 0; i < carried; ++i) arguments[i] = results[i];
    for (std::size_t i = carried; i < carried + sequences; ++i) {
      arguments[i] = rows_of(*operands[i], at, at + 1);
      arguments[i].shape.erase(arguments[i].shape.begin());
    }
    Tensors outputs = run(*op.blocks[0], std::move(arguments), sizes,
                          seed_of_run(seed, static_cast<std::uint64_t>(at)));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (i < carried) {
        results[i] = std::move(outputs[i]);
      } else {
        put_rows(outputs[i], at, results[i]);
      }
    }
  }
  return results;
}

}  // namespace

std::vector<RefTensor> run_with_blocks(const ir::Op& op, const Operands& operands,
                                       const SymbolSizes& sizes, std::uint64_t seed,
                                       const RunBlock& run) {
  if (op.name() == "cond") {
    const Operands values(operands.begin() + 1, operands.end());
    return run(*op.blocks[operands[0]->data[0] != 0 ? 0 : 1], copied(values), sizes, seed);
  }
  if (op.name() == "while_loop") return run_while(op, operands, sizes, seed, run);
  if (op.name() == "scan") return run_scan(op, operands, sizes, seed, run);
  if (op.name() == "rnn") return Rnn(op, operands, sizes, seed, run).run_all();
  fail_usage("evaluate: " + op.name() + " has no reference loop");
}

}  // namespace trireme::ops
