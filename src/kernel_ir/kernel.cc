#include "kernel_ir/kernel.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "kernel_ir/scalar.h"

namespace trireme::kernel_ir {
namespace {

constexpr const char* kOpNames[] = {
    "constant", "size",  "loop_var", "load",  "accumulator", "accumulator_index",
    "neg",      "abs",   "sqrt",     "floor", "ceil",        "round_even",
    "trunc",    "not",   "popcount", "exp",   "log",         "tanh",
    "sigmoid",  "erf",   "erfc",     "sin",   "cos",         "tan",
    "atan",     "log1p", "expm1",    "cast",  "bitcast",     "add",
    "sub",      "mul",   "div",      "rem",   "min",         "max",
    "pow",      "and",   "or",       "xor",   "shl",         "shr",
    "dot4",     "dot2",  "eq",       "ne",    "lt",          "le",
    "select",   "fma"};

constexpr const char* kReduceNames[] = {"sum", "prod", "min", "max", "argmin", "argmax"};

std::size_t hash_of(const Expr& e) {
  std::uint64_t h = static_cast<std::uint64_t>(e.op) * 16 + static_cast<std::uint64_t>(e.type);
  const auto mix = [&h](std::uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
  };
  mix(static_cast<std::uint32_t>(e.index));
  mix(static_cast<std::uint64_t>(e.integer));
  mix(std::bit_cast<std::uint64_t>(e.number));
  for (const ExprId arg : e.args) mix(static_cast<std::uint32_t>(arg));
  return static_cast<std::size_t>(h);
}

Expr normalized(Expr e) {
  if (e.op != ExprOp::constant) return e;
  if (!is_float(e.type)) {
    e.integer = wrap(e.type, e.integer);
    e.number = 0;
    return e;
  }
  e.integer = 0;
  e.number = rounded_to(e.type, e.number);
  if (std::isnan(e.number)) e.number = std::numeric_limits<double>::quiet_NaN();
  return e;
}

}  // namespace

int argument_count(ExprOp op) {
  if (op < ExprOp::neg) return 0;
  if (op < ExprOp::add) return 1;
  return op < ExprOp::select ? 2 : 3;
}

const char* name_of(ExprOp op) { return kOpNames[static_cast<std::size_t>(op)]; }
const char* name_of(ReduceOp op) { return kReduceNames[static_cast<std::size_t>(op)]; }

bool Expr::operator==(const Expr& other) const {
  return op == other.op && type == other.type && index == other.index && integer == other.integer &&
         std::bit_cast<std::uint64_t>(number) == std::bit_cast<std::uint64_t>(other.number) &&
         args[0] == other.args[0] && args[1] == other.args[1] && args[2] == other.args[2];
}

ExprId Kernel::add(const Expr& given) {
  const Expr e = normalized(given);
  const std::size_t hash = hash_of(e);
  const auto [first, last] = ids_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (expr(it->second) == e) return it->second;
  }
  const auto id = static_cast<ExprId>(exprs_.size());
  exprs_.push_back(e);
  ids_.emplace(hash, id);
  return id;
}

bool fits_buffer(DType load, DType element) {
  const bool byte = element == DType::u8 || element == DType::i8;
  return load == element || (byte && (load == DType::u32 || load == DType::i32)) ||
         (element == DType::i16 && load == DType::i32);
}

Stmt make_loop(LoopKind kind, std::int32_t loop_var, ExprId extent, std::vector<Stmt> body,
               std::int32_t lanes, std::int32_t unroll) {
  Stmt s{.kind = StmtKind::loop};
  s.loop_kind = kind;
  s.loop_var = loop_var;
  s.extent = extent;
  s.body = std::move(body);
  s.lanes = lanes;
  s.unroll = unroll;
  return s;
}

Stmt make_declare(std::int32_t accumulator, ReduceOp reduce, DType type) {
  Stmt s{.kind = StmtKind::declare};
  s.accumulator = accumulator;
  s.reduce = reduce;
  s.type = type;
  return s;
}

Stmt make_accumulate(std::int32_t accumulator, ReduceOp reduce, DType type, ExprId value,
                     ExprId index) {
  Stmt s{.kind = StmtKind::accumulate};
  s.accumulator = accumulator;
  s.reduce = reduce;
  s.type = type;
  s.value = value;
  s.index = index;
  return s;
}

Stmt make_store(std::int32_t buffer, ExprId index, ExprId value, ExprId guard) {
  Stmt s{.kind = StmtKind::store};
  s.buffer = buffer;
  s.index = index;
  s.value = value;
  s.guard = guard;
  return s;
}

namespace {

bool declares(const std::vector<Stmt>& body, std::int32_t accumulator) {
  for (const Stmt& s : body) {
    if (s.kind == StmtKind::declare && s.accumulator == accumulator) return true;
  }
  return false;
}

}  // namespace

const Expr* product_added(const Kernel& kernel, const Stmt& accumulate) {
  if (accumulate.reduce != ReduceOp::sum || !is_arithmetic_float(accumulate.type)) return nullptr;
  const Expr& value = kernel.expr(accumulate.value);
  return value.op == ExprOp::mul ? &value : nullptr;
}

std::vector<const Stmt*> fed_by(const Stmt& loop) {
  std::vector<const Stmt*> fed;
  const auto note = [&](const Stmt* s) {
    if (declares(loop.body, s->accumulator)) return;
    for (const Stmt* known : fed) {
      if (known->accumulator == s->accumulator) return;
    }
    fed.push_back(s);
  };
  for (const Stmt& s : loop.body) {
    if (s.kind == StmtKind::accumulate) note(&s);
    if (s.kind == StmtKind::loop) {
      for (const Stmt* inner : fed_by(s)) note(inner);
    }
  }
  return fed;
}

bool is_index(const Kernel& kernel, ExprId id) {
  const Expr& e = kernel.expr(id);
  if (e.type != DType::i64) return false;
  switch (e.op) {
    case ExprOp::size:
    case ExprOp::loop_var: return true;
    case ExprOp::constant: return e.integer >= 0 && e.integer < std::int64_t{1} << 52;
    case ExprOp::add:
    case ExprOp::mul:
    case ExprOp::div:
    case ExprOp::rem:
    case ExprOp::min:
    case ExprOp::max: return is_index(kernel, e.args[0]) && is_index(kernel, e.args[1]);
    default: return false;
  }
}

}  // namespace trireme::kernel_ir
