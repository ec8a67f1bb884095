// Names these ops: add, broadcast, cast, dim_size, div, gather, logical_and, logical_not,
// logical_or, matmul, maximum, minimum, mul, neg, pow, reshape, scatter_add, segment_ids,
// segment_sum, where, sub, transpose

#include "transforms/simplify.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "transforms/rewrite.h"

namespace trireme::transforms {
namespace {

using Integers = std::vector<std::int64_t>;

Replacement replacement(ir::Value* value) {
  if (value == nullptr) return std::nullopt;
  return {{value}};
}

const Integers& integers(const ir::Op& op, const char* name) {
  return get_attribute<Integers>(op.attributes, name);
}

bool is_identity(const Integers& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

const ir::Op* produced_by(const ir::Value* value, const char* name) {
  return value->producer != nullptr && value->producer->name() == name ? value->producer : nullptr;
}

// --- Constants

// The number that kernels compute: integers wrap. Rules of ops compute with doubles, which are
// exact below 2^53; nullopt beyond that.
std::optional<double> wrapped(double number, DType dtype) {
  if (!is_integer(dtype)) return number;
  if (!(std::fabs(number) < 0x1p53)) return std::nullopt;
  if (size_of(dtype) == sizeof(std::int64_t)) {
    return is_unsigned(dtype) && number < 0 ? std::nullopt : std::optional(number);
  }
  const double modulus = std::exp2(8 * static_cast<double>(size_of(dtype)));
  double rest = std::fmod(std::trunc(number), modulus);
  if (rest < 0) rest += modulus;
  return !is_unsigned(dtype) && rest >= modulus / 2 ? rest - modulus : rest;
}

ir::Value* fold_constants(ir::Builder& b, const ir::Op& op) {
  if (!op.has(ir::Trait::elementwise) || !op.def->fold || op.results.size() != 1) return nullptr;
  std::vector<double> numbers;
  for (const ir::Value* operand : op.operands) {
    const std::optional<double> number = known_constant(operand);
    if (!number) return nullptr;
    numbers.push_back(*number);
  }
  if (numbers.empty()) return nullptr;
  const std::optional<double> number = wrapped(op.def->fold(op, numbers), op.result()->type.dtype);
  return number ? b.constant(op.result()->type, *number) : nullptr;
}

// --- Views

ir::Value* simplify_reshape(ir::Builder& b, const ir::Op& op) {
  ir::Value* x = op.operands[0];
  // A reshape of a parameter reads it at this place; see rewrite().
  if (x->type == op.result()->type && x->kind != ir::ValueKind::parameter) return x;
  if (const auto number = known_constant(x)) {
    return b.constant(op.result()->type, *number);
  }
  const ir::Op* inner = produced_by(x, "reshape");
  if (inner != nullptr && inner->operands[0]->kind != ir::ValueKind::parameter) {
    return b.make("reshape", {inner->operands[0]}, op.attributes);
  }
  return nullptr;
}

ir::Value* simplify_broadcast(ir::Builder& b, const ir::Op& op) {
  ir::Value* x = op.operands[0];
  if (x->type == op.result()->type) return x;
  if (const auto number = known_constant(x)) {
    return b.constant(op.result()->type, *number);
  }
  const ir::Op* inner = produced_by(x, "broadcast");
  if (inner == nullptr) return nullptr;
  Integers axes;
  for (const std::int64_t axis : integers(*inner, "axes")) {
    axes.push_back(integers(op, "axes")[static_cast<std::size_t>(axis)]);
  }
  return b.make("broadcast", {inner->operands[0]},
                {{"axes", axes}, {"shape", op.result()->type.shape}});
}

// Whether the permutation moves only dimensions of size 1.
bool moves_only_ones(const Shape& shape, const Integers& permutation) {
  std::int64_t last = -1;
  for (const std::int64_t axis : permutation) {
    if (shape[static_cast<std::size_t>(axis)] == Dim(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// Returns the positions of `axes` after a transpose.
Integers moved_axes(const Integers& axes, const Integers& permutation) {
  Integers moved;
  for (const std::int64_t axis : axes) {
    moved.push_back(std::find(permutation.begin(), permutation.end(), axis) - permutation.begin());
  }
  return moved;
}

ir::Value* simplify_transpose(ir::Builder& b, const ir::Op& op) {
  ir::Value* x = op.operands[0];
  const Integers& permutation = integers(op, "permutation");
  if (is_identity(permutation)) return x;
  if (const auto number = known_constant(x)) {
    return b.constant(op.result()->type, *number);
  }
  if (const ir::Op* inner = produced_by(x, "transpose")) {
    Integers composed;
    for (const std::int64_t axis : permutation) {
      composed.push_back(integers(*inner, "permutation")[static_cast<std::size_t>(axis)]);
    }
    return b.make("transpose", {inner->operands[0]}, {{"permutation", composed}});
  }
  if (const ir::Op* inner = produced_by(x, "broadcast")) {
    const Integers axes = moved_axes(integers(*inner, "axes"), permutation);
    if (std::is_sorted(axes.begin(), axes.end())) {
      return b.make("broadcast", {inner->operands[0]},
                    {{"axes", axes}, {"shape", op.result()->type.shape}});
    }
  }
  if (moves_only_ones(x->type.shape, permutation)) {
    return b.make("reshape", {x}, {{"shape", op.result()->type.shape}});
  }
  return nullptr;
}

// dim_size reads no elements, so it can skip ops that only compute or move them.
ir::Value* simplify_dim_size(ir::Builder& b, const ir::Op& op) {
  ir::Value* x = op.operands[0];
  const auto rank = static_cast<std::int64_t>(x->type.rank());
  Integers axes = integers(op, "axes");
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  for (const ir::Op* from = x->producer; from != nullptr; from = x->producer) {
    if (from->name() == "transpose") {
      const Integers& permutation = integers(*from, "permutation");
      for (std::int64_t& axis : axes) axis = permutation[static_cast<std::size_t>(axis)];
    } else if (!from->has(ir::Trait::elementwise) || from->operands.empty() ||
               from->operands[0]->type.shape != x->type.shape) {
      break;
    }
    x = from->operands[0];
  }
  if (x == op.operands[0]) return nullptr;
  Attributes attributes = op.attributes;
  set_attribute(attributes, "axes", axes);
  return b.make("dim_size", {x}, std::move(attributes));
}

// Whether the transpose swaps the last two dimensions and nothing else.
bool swaps_last_two(const ir::Op& transpose) {
  Integers expected(integers(transpose, "permutation").size());
  if (expected.size() < 2) return false;
  std::iota(expected.begin(), expected.end(), 0);
  std::swap(expected[expected.size() - 1], expected[expected.size() - 2]);
  return integers(transpose, "permutation") == expected;
}

ir::Value* simplify_matmul(ir::Builder& b, const ir::Op& op) {
  std::vector<ir::Value*> operands = op.operands;
  Attributes attributes = op.attributes;
  bool changed = false;
  for (int i = 0; i < 2; ++i) {
    const ir::Op* transpose = produced_by(operands[static_cast<std::size_t>(i)], "transpose");
    if (transpose == nullptr || !swaps_last_two(*transpose)) continue;
    const std::string name = i == 0 ? "transpose_a" : "transpose_b";
    set_attribute(attributes, name, !get_attribute<bool>(attributes, name));
    operands[static_cast<std::size_t>(i)] = transpose->operands[0];
    changed = true;
  }
  return changed ? b.make("matmul", operands, attributes) : nullptr;
}

// Merges two gathers of rows if the first one only reorders all rows.
ir::Value* simplify_gather(ir::Builder& b, const ir::Op& op) {
  const ir::Op* inner = produced_by(op.operands[0], "gather");
  const auto takes_rows = [](const ir::Op& gather) {
    return get_attribute<std::int64_t>(gather.attributes, "axis") == 0;
  };
  if (inner == nullptr || !takes_rows(op) || !takes_rows(*inner)) return nullptr;
  ir::Value* x = inner->operands[0];
  ir::Value* order = inner->operands[1];
  const Shape& rows = x->type.shape;
  const bool wide = product(Shape(rows.begin() + 1, rows.end())) != Dim(1);
  if (!wide || order->type.shape != Shape{rows[0]}) return nullptr;
  if (x->producer == nullptr) return nullptr;  // a parameter may be assigned in between
  ir::Value* composed = b.make("gather", {order, op.operands[1]});
  return b.make("gather", {x, composed}, op.attributes);
}

// Adding rows by the number of their sequence is a sum per sequence.
ir::Value* simplify_scatter_add(ir::Builder& b, const ir::Op& op) {
  const ir::Op* ids = produced_by(op.operands[0], "segment_ids");
  if (ids == nullptr) return nullptr;
  ir::Value* splits = ids->operands[0];
  const Shape rows = get_attribute<Shape>(op.attributes, "rows");
  if (rows != Shape{splits->type.shape[0] - Dim(1)}) return nullptr;
  return b.make("segment_sum", {op.operands[1], splits});
}

// --- Algebra

ir::Value* simplify_mul(ir::Builder& b, const ir::Op& op) {
  ir::Value *x = op.operands[0], *y = op.operands[1];
  const std::optional<double> left = known_constant(x), right = known_constant(y);
  if (right == 1.0) return x;
  if (left == 1.0) return y;
  if (right == -1.0) return b.make("neg", {x});
  if (left == -1.0) return b.make("neg", {y});
  return nullptr;
}

ir::Value* simplify_add(ir::Builder& b, const ir::Op& op) {
  ir::Value *x = op.operands[0], *y = op.operands[1];
  // For x = -0 the sum is 0, which compares equal to -0.
  if (known_constant(y) == 0.0) return x;
  if (known_constant(x) == 0.0) return y;
  const ir::Op* neg = produced_by(y, "neg");
  return neg != nullptr ? b.make("sub", {x, neg->operands[0]}) : nullptr;
}

ir::Value* simplify_sub(ir::Builder& b, const ir::Op& op) {
  ir::Value *x = op.operands[0], *y = op.operands[1];
  if (known_constant(y) == 0.0) return x;
  const ir::Op* neg = produced_by(y, "neg");
  return neg != nullptr ? b.make("add", {x, neg->operands[0]}) : nullptr;
}

ir::Value* simplify_div(ir::Builder&, const ir::Op& op) {
  return known_constant(op.operands[1]) == 1.0 ? op.operands[0] : nullptr;
}

ir::Value* simplify_pow(ir::Builder& b, const ir::Op& op) {
  ir::Value* x = op.operands[0];
  const std::optional<double> exponent = known_constant(op.operands[1]);
  if (exponent == 1.0) return x;
  return exponent == 2.0 ? b.make("mul", {x, x}) : nullptr;
}

// For ops with f(x, x) = x.
ir::Value* simplify_idempotent(ir::Builder&, const ir::Op& op) {
  return op.operands[0] == op.operands[1] ? op.operands[0] : nullptr;
}

// For ops with f(f(x)) = x.
ir::Value* simplify_involution(ir::Builder&, const ir::Op& op) {
  const ir::Op* inner = produced_by(op.operands[0], op.name().c_str());
  return inner != nullptr ? inner->operands[0] : nullptr;
}

ir::Value* simplify_cast(ir::Builder&, const ir::Op& op) {
  ir::Value* x = op.operands[0];
  return x->type == op.result()->type ? x : nullptr;
}

ir::Value* simplify_select(ir::Builder&, const ir::Op& op) {
  return op.operands[1] == op.operands[2] ? op.operands[1] : nullptr;
}

// What each op simplifies to: a function that returns the value of the op's result, or null.
struct Rule {
  std::string_view op;
  ir::Value* (*apply)(ir::Builder& b, const ir::Op& op);
};
constexpr Rule kRules[] = {
    {"add", simplify_add},
    {"broadcast", simplify_broadcast},
    {"cast", simplify_cast},
    {"dim_size", simplify_dim_size},
    {"div", simplify_div},
    {"gather", simplify_gather},
    {"logical_and", simplify_idempotent},
    {"logical_not", simplify_involution},
    {"logical_or", simplify_idempotent},
    {"matmul", simplify_matmul},
    {"maximum", simplify_idempotent},
    {"minimum", simplify_idempotent},
    {"mul", simplify_mul},
    {"neg", simplify_involution},
    {"pow", simplify_pow},
    {"reshape", simplify_reshape},
    {"scatter_add", simplify_scatter_add},
    {"where", simplify_select},
    {"sub", simplify_sub},
    {"transpose", simplify_transpose},
};

ir::Value* simplified(ir::Builder& b, const ir::Op& op) {
  if (op.results.size() != 1 || op.operands.empty()) return nullptr;
  if (ir::Value* folded = fold_constants(b, op)) return folded;
  const auto* const rule = std::lower_bound(
      std::begin(kRules), std::end(kRules), std::string_view(op.name()),
      [](const Rule& candidate, std::string_view name) { return candidate.op < name; });
  return rule != std::end(kRules) && rule->op == op.name() ? rule->apply(b, op) : nullptr;
}

}  // namespace

void simplify(ir::Program& program) {
  // A round can enable more rewrites. Chains are short, so a few rounds are enough.
  for (int round = 0; round < 8; ++round) {
    const int changed = rewrite(
        program, [&](ir::Builder& b, ir::Op& op) { return replacement(simplified(b, op)); });
    if (changed == 0) return;
  }
}

}  // namespace trireme::transforms
