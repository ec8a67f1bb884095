#include "transforms/simplify.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "transforms/rewrite.h"

namespace trireme::transforms {
namespace {

using Integers = std::vector<std::int64_t>;
using Replacement = std::optional<std::vector<ir::Value*>>;

Replacement replacement(ir::Value* value) {
  if (value == nullptr) return std::nullopt;
  return {{value}};
}

const Integers& integers(const ir::Op& op, const char* name) {
  return ir::get<Integers>(op.attributes, name);
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

ir::Value* fold_constants(ir::Program& program, const ir::Op& op) {
  if (!op.has(ir::Trait::elementwise) || !op.def->fold || op.results.size() != 1) return nullptr;
  std::vector<double> numbers;
  for (const ir::Value* operand : op.operands) {
    const std::optional<double> number = known_constant(operand);
    if (!number) return nullptr;
    numbers.push_back(*number);
  }
  if (numbers.empty()) return nullptr;
  return make_constant(program, op, op.result()->type, op.def->fold(op, numbers));
}

// --- Views

ir::Value* simplify_reshape(ir::Program& program, const ir::Op& op) {
  ir::Value* x = op.operands[0];
  // A reshape of a parameter reads it at this place; see rewrite().
  if (x->type == op.result()->type && x->kind != ir::ValueKind::parameter) return x;
  if (const auto number = known_constant(x)) {
    return make_constant(program, op, op.result()->type, *number);
  }
  if (const ir::Op* inner = produced_by(x, "reshape")) {
    return make(program, op, "reshape", {inner->operands[0]}, op.attributes);
  }
  return nullptr;
}

ir::Value* simplify_broadcast(ir::Program& program, const ir::Op& op) {
  ir::Value* x = op.operands[0];
  if (x->type == op.result()->type) return x;
  if (const auto number = known_constant(x)) {
    return make_constant(program, op, op.result()->type, *number);
  }
  const ir::Op* inner = produced_by(x, "broadcast");
  if (inner == nullptr) return nullptr;
  Integers axes;
  for (const std::int64_t axis : integers(*inner, "axes")) {
    axes.push_back(integers(op, "axes")[static_cast<std::size_t>(axis)]);
  }
  return make(program, op, "broadcast", {inner->operands[0]},
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

ir::Value* simplify_transpose(ir::Program& program, const ir::Op& op) {
  ir::Value* x = op.operands[0];
  const Integers& permutation = integers(op, "permutation");
  if (is_identity(permutation)) return x;
  if (const auto number = known_constant(x)) {
    return make_constant(program, op, op.result()->type, *number);
  }
  if (const ir::Op* inner = produced_by(x, "transpose")) {
    Integers composed;
    for (const std::int64_t axis : permutation) {
      composed.push_back(integers(*inner, "permutation")[static_cast<std::size_t>(axis)]);
    }
    return make(program, op, "transpose", {inner->operands[0]}, {{"permutation", composed}});
  }
  if (const ir::Op* inner = produced_by(x, "broadcast")) {
    const Integers axes = moved_axes(integers(*inner, "axes"), permutation);
    if (std::is_sorted(axes.begin(), axes.end())) {
      return make(program, op, "broadcast", {inner->operands[0]},
                  {{"axes", axes}, {"shape", op.result()->type.shape}});
    }
  }
  if (moves_only_ones(x->type.shape, permutation)) {
    return make(program, op, "reshape", {x}, {{"shape", op.result()->type.shape}});
  }
  return nullptr;
}

// dim_size reads no elements, so it can skip ops that only compute or move them.
ir::Value* simplify_dim_size(ir::Program& program, const ir::Op& op) {
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
  ir::set(attributes, "axes", axes);
  return make(program, op, "dim_size", {x}, std::move(attributes));
}

// Whether the transpose swaps the last two dimensions and nothing else.
bool swaps_last_two(const ir::Op& transpose) {
  Integers expected(integers(transpose, "permutation").size());
  if (expected.size() < 2) return false;
  std::iota(expected.begin(), expected.end(), 0);
  std::swap(expected[expected.size() - 1], expected[expected.size() - 2]);
  return integers(transpose, "permutation") == expected;
}

ir::Value* simplify_matmul(ir::Program& program, const ir::Op& op) {
  std::vector<ir::Value*> operands = op.operands;
  Attributes attributes = op.attributes;
  bool changed = false;
  for (int i = 0; i < 2; ++i) {
    const ir::Op* transpose = produced_by(operands[static_cast<std::size_t>(i)], "transpose");
    if (transpose == nullptr || !swaps_last_two(*transpose)) continue;
    const std::string name = i == 0 ? "transpose_a" : "transpose_b";
    ir::set(attributes, name, !ir::get<bool>(attributes, name));
    operands[static_cast<std::size_t>(i)] = transpose->operands[0];
    changed = true;
  }
  return changed ? make(program, op, "matmul", operands, attributes) : nullptr;
}

// Merges two gathers of rows if the first one only reorders all rows.
ir::Value* simplify_gather(ir::Program& program, const ir::Op& op) {
  const ir::Op* inner = produced_by(op.operands[0], "gather");
  const auto takes_rows = [](const ir::Op& gather) {
    return ir::get<std::int64_t>(gather.attributes, "axis") == 0;
  };
  if (inner == nullptr || !takes_rows(op) || !takes_rows(*inner)) return nullptr;
  ir::Value* x = inner->operands[0];
  ir::Value* order = inner->operands[1];
  const Shape& rows = x->type.shape;
  const bool wide = product(Shape(rows.begin() + 1, rows.end())) != Dim(1);
  if (!wide || order->type.shape != Shape{rows[0]}) return nullptr;
  if (x->producer == nullptr) return nullptr;  // a parameter may be assigned in between
  ir::Value* composed = make(program, op, "gather", {order, op.operands[1]});
  return make(program, op, "gather", {x, composed}, op.attributes);
}

// Adding rows by the number of their sequence is a sum per sequence.
ir::Value* simplify_scatter_add(ir::Program& program, const ir::Op& op) {
  const ir::Op* ids = produced_by(op.operands[0], "segment_ids");
  if (ids == nullptr) return nullptr;
  ir::Value* splits = ids->operands[0];
  const Shape rows = ir::get<Shape>(op.attributes, "rows");
  if (rows != Shape{splits->type.shape[0] - Dim(1)}) return nullptr;
  return make(program, op, "segment_sum", {op.operands[1], splits});
}

// --- Algebra

ir::Value* simplify_binary(ir::Program& program, const ir::Op& op) {
  const std::string& name = op.name();
  ir::Value* a = op.operands[0];
  ir::Value* b = op.operands[1];
  const std::optional<double> left = known_constant(a), right = known_constant(b);
  if (name == "mul") {
    if (right == 1.0) return a;
    if (left == 1.0) return b;
    if (right == -1.0) return make(program, op, "neg", {a});
    if (left == -1.0) return make(program, op, "neg", {b});
  } else if (name == "add") {
    // For x = -0 the sum is 0, which compares equal to -0.
    if (right == 0.0) return a;
    if (left == 0.0) return b;
    if (const ir::Op* neg = produced_by(b, "neg")) {
      return make(program, op, "sub", {a, neg->operands[0]});
    }
  } else if (name == "sub") {
    if (right == 0.0) return a;
    if (const ir::Op* neg = produced_by(b, "neg")) {
      return make(program, op, "add", {a, neg->operands[0]});
    }
  } else if (name == "div") {
    if (right == 1.0) return a;
  } else if (name == "pow") {
    if (right == 1.0) return a;
    if (right == 2.0) return make(program, op, "mul", {a, a});
  } else if (name == "maximum" || name == "minimum" || name == "logical_and" ||
             name == "logical_or") {
    if (a == b) return a;
  }
  return nullptr;
}

ir::Value* simplify_unary(const ir::Op& op) {
  ir::Value* x = op.operands[0];
  if (op.name() == "neg" || op.name() == "logical_not") {
    const ir::Op* inner = produced_by(x, op.name().c_str());
    return inner != nullptr ? inner->operands[0] : nullptr;
  }
  if (op.name() == "cast" && x->type == op.result()->type) return x;
  return nullptr;
}

ir::Value* simplified(ir::Program& program, const ir::Op& op) {
  if (op.results.size() != 1 || op.operands.empty()) return nullptr;
  if (ir::Value* folded = fold_constants(program, op)) return folded;
  if (op.name() == "reshape") return simplify_reshape(program, op);
  if (op.name() == "broadcast") return simplify_broadcast(program, op);
  if (op.name() == "transpose") return simplify_transpose(program, op);
  if (op.name() == "matmul") return simplify_matmul(program, op);
  if (op.name() == "dim_size") return simplify_dim_size(program, op);
  if (op.name() == "gather") return simplify_gather(program, op);
  if (op.name() == "scatter_add") return simplify_scatter_add(program, op);
  if (op.name() == "select" && op.operands[1] == op.operands[2]) return op.operands[1];
  if (!op.has(ir::Trait::elementwise)) return nullptr;
  if (op.operands.size() == 1) return simplify_unary(op);
  if (op.operands.size() == 2) return simplify_binary(program, op);
  return nullptr;
}

}  // namespace

void simplify(ir::Program& program) {
  // A round can enable more rewrites. Chains are short, so a few rounds are enough.
  for (int round = 0; round < 8; ++round) {
    const int changed =
        rewrite(program, [&](ir::Op& op) { return replacement(simplified(program, op)); });
    if (changed == 0) return;
  }
}

}  // namespace trireme::transforms
