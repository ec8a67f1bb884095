// Emitter: expressions and loads.

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "base/error.h"
#include "codegen/llvm/emitter.h"

namespace trireme::codegen {

using kernel_ir::BufferRole;
using kernel_ir::Expr;
using kernel_ir::ExprId;
using kernel_ir::ExprOp;
using kernel_ir::kNoExpr;
using llvm::Value;

namespace {

llvm::Align element_alignment(DType type) { return llvm::Align(size_of(type)); }

}  // namespace

unsigned Emitter::lanes() const {
  if (vector_level_ < 0) return 0;
  return static_cast<unsigned>(scopes_[static_cast<std::size_t>(vector_level_)].loop->lanes);
}

Value* Emitter::splat(Value* scalar) { return b_.CreateVectorSplat(lanes(), scalar); }

// 0, step, 2 * step ...
Value* Emitter::lane_numbers(llvm::Type* integer, std::int64_t step) {
  std::vector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < lanes(); ++i) {
    numbers.push_back(llvm::ConstantInt::getSigned(integer, step * i));
  }
  return llvm::ConstantVector::get(numbers);
}

// --- Where expressions are placed ---

// A load may leave its innermost loop and stand before it, where that loop is sure to run. It
// leaves another loop only if the loops inside are sure to run too.
int Emitter::load_level(int level) const {
  for (int d = depth(); d > level + 1; --d) {
    const Expr& extent = kernel_.expr(scopes_[static_cast<std::size_t>(d)].loop->extent);
    if (extent.op != ExprOp::constant || extent.integer <= 0) return d - 1;
  }
  return level;
}

Emitter::Info Emitter::info(ExprId id) {
  std::optional<Info>& known = infos_[static_cast<std::size_t>(id)];
  if (known) return *known;
  const Expr& e = kernel_.expr(id);
  Info result;
  for (const ExprId arg : e.args) {
    if (arg == kNoExpr) continue;
    const Info a = info(arg);
    result.level = std::max(result.level, a.level);
    result.varying = result.varying || a.varying;
    result.pinned = result.pinned || a.pinned;
  }
  if (e.op == ExprOp::loop_var) {
    for (int d = depth(); d > 0; --d) {
      if (scopes_[static_cast<std::size_t>(d)].loop->loop_var == e.index) {
        result.level = d;
        break;
      }
    }
    result.varying = result.level == vector_level_;
  } else if (e.op == ExprOp::accumulator || e.op == ExprOp::accumulator_index) {
    const Accumulator& a = accumulators_.at(e.index);
    result.level = a.level;
    result.varying = a.varying;
  } else if (e.op == ExprOp::load) {
    result.level = load_level(result.level);
    if (kernel_.buffers[static_cast<std::size_t>(e.index)].role == BufferRole::scratch) {
      result.pinned = true;
    }
  }
  if (result.pinned) result.level = depth();
  infos_[static_cast<std::size_t>(id)] = result;
  return result;
}

Value* Emitter::find(std::int64_t key, const Info& info) const {
  const auto look = [key](const std::unordered_map<std::int64_t, Value*>& values) -> Value* {
    const auto it = values.find(key);
    return it == values.end() ? nullptr : it->second;
  };
  if (info.pinned) return look(scopes_.back().body);
  const int deepest = std::min(info.level + 1, depth());
  for (int d = 0; d <= deepest; ++d) {
    const Scope& scope = scopes_[static_cast<std::size_t>(d)];
    if (Value* found = look(scope.hoisted)) return found;
    if (d <= info.level) {
      if (Value* found = look(scope.body)) return found;
    }
  }
  return nullptr;
}

void Emitter::remember(std::int64_t key, const Info& info, Value* value) {
  if (info.level == depth()) {
    scopes_.back().body[key] = value;
  } else {
    scopes_[static_cast<std::size_t>(info.level) + 1].hoisted[key] = value;
  }
}

// The caller restores the insertion point.
void Emitter::go_to_level(int level) {
  if (level < depth()) b_.SetInsertPoint(scopes_[static_cast<std::size_t>(level) + 1].before);
}

// --- Values ---

Value* Emitter::scalar(ExprId id) {
  const Expr& e = kernel_.expr(id);
  if (e.op == ExprOp::constant) return scalar_constant(context_, e);
  if (e.op == ExprOp::size) return sizes_[static_cast<std::size_t>(e.index)];
  const Info i = info(id);
  if (i.varying) fail_internal("codegen: a value that differs between lanes is used as one");
  const std::int64_t key = key_of(id, 0);
  if (Value* known = find(key, i)) return known;
  Value* result = compute(id, false, i);
  remember(key, i, result);
  return result;
}

Value* Emitter::vector(ExprId id) {
  const Info i = info(id);
  const std::int64_t key = key_of(id, lanes());
  if (kernel_.expr(id).op == ExprOp::constant) return splat(scalar(id));
  if (Value* known = find(key, i)) return known;
  Value* result = nullptr;
  if (i.varying) {
    result = compute(id, true, i);
  } else {
    Value* single = scalar(id);
    const IrBuilder::InsertPointGuard guard(b_);
    go_to_level(i.level);
    result = splat(single);
  }
  remember(key, i, result);
  return result;
}

Value* Emitter::value(ExprId id) { return lanes() == 0 ? scalar(id) : vector(id); }

Value* Emitter::compute(ExprId id, bool as_vector, const Info& info) {
  const Expr& e = kernel_.expr(id);
  const IrBuilder::InsertPointGuard guard(b_);
  if (e.op == ExprOp::load) {
    go_to_level(info.level);
    return as_vector ? load_vector(e) : load_scalar(e);
  }
  if (argument_count(e.op) == 0) {
    go_to_level(info.level);
    return loop_value(e, as_vector);
  }
  Value* args[3] = {};
  for (int i = 0; i < argument_count(e.op); ++i) {
    args[i] = as_vector ? vector(e.args[i]) : scalar(e.args[i]);
  }
  go_to_level(info.level);
  const bool division = e.op == ExprOp::div || e.op == ExprOp::rem;
  if (division && as_vector && is_index(kernel_, e.args[0]) && is_index(kernel_, e.args[1])) {
    return emit_index_division(b_, e.op == ExprOp::div, args[0], args[1]);
  }
  if (e.op == ExprOp::cast) {
    const DType from = kernel_.expr(e.args[0]).type;
    if (from != e.type && (is_half(from) || is_half(e.type))) {
      return emit_half_cast(b_, e.type, from, args[0], instructions_.f16);
    }
  }
  if (e.op == ExprOp::dot4) {
    Value* zero = llvm::Constant::getNullValue(args[0]->getType());
    const bool bytes = is_unsigned(kernel_.expr(e.args[0]).type);
    return emit_dot4(b_, instructions_, zero, args[0], args[1], bytes);
  }
  if (e.op == ExprOp::dot2) {
    Value* zero = llvm::Constant::getNullValue(args[0]->getType());
    return emit_dot2(b_, instructions_, zero, args[0], args[1]);
  }
  return emit_op(b_, e, kernel_.expr(e.args[e.op == ExprOp::select ? 1 : 0]).type, args);
}

// A loop variable or an accumulator.
Value* Emitter::loop_value(const Expr& e, bool as_vector) {
  if (e.op == ExprOp::loop_var) {
    for (int d = depth(); d > 0; --d) {
      const Scope& scope = scopes_[static_cast<std::size_t>(d)];
      if (scope.loop->loop_var != e.index) continue;
      if (!as_vector) return scope.index;
      return b_.CreateAdd(splat(scope.index), lane_numbers(b_.getInt64Ty()));
    }
    fail_internal("codegen: a loop variable is used outside its loop");
  }
  const Accumulator& a = accumulators_.at(e.index);
  Value* place = e.op == ExprOp::accumulator ? a.value : a.index;
  return b_.CreateLoad(with_lanes(register_type(context_, e.type), as_vector ? lanes() : 0), place);
}

// --- Addresses ---

std::optional<std::int64_t> Emitter::stride(ExprId index) {
  if (!info(index).varying) return 0;
  std::vector<Term> terms;
  split(index, 1, terms);
  std::int64_t sum = 0;
  for (const Term& term : terms) {
    const Expr& e = kernel_.expr(term.id);
    if (!info(term.id).varying) continue;
    if (e.op != ExprOp::loop_var) return std::nullopt;
    sum += term.factor;
  }
  return sum;
}

// Cuts an index into a sum of terms.
void Emitter::split(ExprId id, std::int64_t factor, std::vector<Term>& terms) const {
  const Expr& e = kernel_.expr(id);
  if (e.op == ExprOp::add || e.op == ExprOp::sub) {
    split(e.args[0], factor, terms);
    split(e.args[1], e.op == ExprOp::add ? factor : -factor, terms);
  } else if (e.op == ExprOp::mul && kernel_.expr(e.args[1]).op == ExprOp::constant) {
    const auto product = static_cast<std::uint64_t>(factor) *
                         static_cast<std::uint64_t>(kernel_.expr(e.args[1]).integer);
    split(e.args[0], static_cast<std::int64_t>(product), terms);
  } else {
    terms.push_back({factor, id});
  }
}

// The terms are summed from the outermost level in, each partial sum at its own level. Numbers come
// last: elements at a fixed distance then share the sum, and the distance is part of the address.
Value* Emitter::index_of_lane_0(ExprId index) {
  struct Placed {
    int level;
    std::int64_t factor;
    Value* value;
  };
  std::vector<Term> terms;
  split(index, 1, terms);
  std::vector<Placed> placed;
  std::int64_t distance = 0;
  for (const Term& term : terms) {
    const Expr& e = kernel_.expr(term.id);
    if (e.op == ExprOp::constant) {
      distance += term.factor * e.integer;
      continue;
    }
    const Info i = info(term.id);
    if (i.varying) {
      placed.push_back(
          {vector_level_, term.factor, scopes_[static_cast<std::size_t>(vector_level_)].index});
    } else {
      placed.push_back({i.level, term.factor, scalar(term.id)});
    }
  }
  // An insertion sort: there are few, and the order of equals must be the same everywhere.
  for (std::size_t n = 1; n < placed.size(); ++n) {
    for (std::size_t i = n; i > 0 && placed[i].level < placed[i - 1].level; --i) {
      std::swap(placed[i], placed[i - 1]);
    }
  }
  const IrBuilder::InsertPointGuard guard(b_);
  const auto here = b_.saveIP();
  Value* sum = nullptr;
  for (const Placed& p : placed) {
    b_.restoreIP(here);
    go_to_level(p.level);
    Value* term = p.factor == 1 ? p.value : b_.CreateMul(p.value, i64(p.factor));
    sum = sum == nullptr ? term : b_.CreateAdd(sum, term);
  }
  b_.restoreIP(here);
  if (sum == nullptr) return i64(distance);
  return distance == 0 ? sum : b_.CreateAdd(sum, i64(distance));
}

Value* Emitter::address(std::int32_t buffer, ExprId index) {
  const auto number = static_cast<std::size_t>(buffer);
  return b_.CreateGEP(memory_type(context_, kernel_.buffers[number].type), buffers_[number],
                      index_of_lane_0(index));
}

Value* Emitter::addresses(std::int32_t buffer, ExprId index) {
  const auto number = static_cast<std::size_t>(buffer);
  llvm::Type* element = memory_type(context_, kernel_.buffers[number].type);
  if (const std::optional<std::int64_t> step = stride(index)) {
    return b_.CreateGEP(element, address(buffer, index), lane_numbers(b_.getInt64Ty(), *step));
  }
  return b_.CreateGEP(element, buffers_[number], vector(index));
}

Value* Emitter::active(ExprId guard) {
  if (guard == kNoExpr) return mask_;
  Value* condition = vector(guard);
  return mask_ == nullptr ? condition : b_.CreateAnd(mask_, condition);
}

// --- Loads ---

// Stands at the insertion point, which may be further out than the loop that is being made.
Value* Emitter::load_scalar(const Expr& e) {
  llvm::Type* type = memory_type(context_, e.type);
  Value* place = address(e.index, e.args[0]);
  Value* condition = nullptr;
  if (e.args[1] != kNoExpr) {
    condition = scalar(e.args[1]);
    llvm::AllocaInst* zero = local(type);  // read instead where the guard is false
    b_.CreateStore(llvm::Constant::getNullValue(type), zero);
    place = b_.CreateSelect(condition, place, zero);
  }
  Value* loaded = b_.CreateAlignedLoad(
      type, place, element_alignment(kernel_.buffers[static_cast<std::size_t>(e.index)].type));
  return to_register(b_, e.type, loaded);
}

// A word of four bytes is contiguous if its index grows by four.
Value* Emitter::load_vector(const Expr& e) {
  llvm::Type* type = with_lanes(memory_type(context_, e.type), lanes());
  const DType element = kernel_.buffers[static_cast<std::size_t>(e.index)].type;
  const llvm::Align alignment = element_alignment(element);
  const auto elements = static_cast<std::int64_t>(size_of(e.type) / size_of(element));
  const std::optional<std::int64_t> step = stride(e.args[0]);
  Value* on = active(e.args[1]);
  Value* zero = llvm::Constant::getNullValue(type);
  Value* loaded = nullptr;
  if (step == elements) {
    Value* place = address(e.index, e.args[0]);
    loaded = on == nullptr ? static_cast<Value*>(b_.CreateAlignedLoad(type, place, alignment))
                           : b_.CreateMaskedLoad(type, place, alignment, on, zero);
  } else {
    Value* places = addresses(e.index, e.args[0]);
    if (on == nullptr) on = llvm::ConstantInt::getAllOnesValue(with_lanes(b_.getInt1Ty(), lanes()));
    loaded = b_.CreateMaskedGather(type, places, alignment, on, zero);
  }
  return to_register(b_, e.type, loaded);
}

}  // namespace trireme::codegen
