// Emitter: functions, loops, accumulators and stores.

#include <llvm/IR/Verifier.h>

#include "base/error.h"
#include "codegen/llvm/emitter.h"
#include "kernel_ir/scalar.h"

namespace trireme::codegen {

using kernel_ir::BufferRole;
using kernel_ir::ExprOp;
using kernel_ir::kNoExpr;
using kernel_ir::LoopKind;
using kernel_ir::ReduceOp;
using kernel_ir::Stmt;
using kernel_ir::StmtKind;
using llvm::BasicBlock;
using llvm::Value;

namespace {

bool has_index(const Stmt& s) {
  return s.reduce == ReduceOp::argmin || s.reduce == ReduceOp::argmax;
}

}  // namespace

BasicBlock* Emitter::new_block(const char* name) {
  return BasicBlock::Create(context_, name, function_);
}

llvm::AllocaInst* Emitter::local(llvm::Type* type) {
  BasicBlock& entry = function_->getEntryBlock();
  IrBuilder at_entry(&entry, entry.begin());
  return at_entry.CreateAlloca(type);
}

Value* Emitter::identity(const Stmt& s, unsigned lanes) {
  const kernel_ir::Scalar value = identity_of(s.reduce, s.type);
  llvm::Constant* one = scalar_constant(
      context_,
      {.op = ExprOp::constant, .type = s.type, .integer = value.integer, .number = value.number});
  return lanes == 0 ? one : b_.CreateVectorSplat(lanes, one);
}

// --- Functions ---

// The body is a function of its own whose buffers are arguments, so that they can be marked as not
// overlapping; the function called from outside only unpacks.
void Emitter::emit(const char* name, const llvm::AttrBuilder& attributes) {
  llvm::Type* ptr = b_.getPtrTy();
  llvm::Type* word = b_.getInt64Ty();
  std::vector<llvm::Type*> types(kernel_.buffers.size(), ptr);
  types.resize(types.size() + kernel_.sizes.size() + 2, word);
  auto* body = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                      llvm::Function::InternalLinkage, "body", module_);
  auto* outer =
      llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, word, word}, false),
                             llvm::Function::ExternalLinkage, name, module_);
  for (llvm::Function* f : {body, outer}) {
    f->addFnAttrs(attributes);
    f->setDoesNotThrow();
  }
  body->addFnAttr(llvm::Attribute::NoInline);
  for (unsigned i = 0; i < kernel_.buffers.size(); ++i) {
    body->addParamAttr(i, llvm::Attribute::NoAlias);
  }

  b_.SetInsertPoint(BasicBlock::Create(context_, "entry", outer));
  std::vector<Value*> args;
  for (std::size_t i = 0; i < types.size() - 2; ++i) {
    const bool buffer = i < kernel_.buffers.size();
    const std::size_t number = buffer ? i : i - kernel_.buffers.size();
    Value* place = b_.CreateConstGEP1_64(types[i], outer->getArg(buffer ? 0 : 1), number);
    args.push_back(b_.CreateLoad(types[i], place));
  }
  args.push_back(outer->getArg(2));
  args.push_back(outer->getArg(3));
  b_.CreateCall(body, args);
  b_.CreateRetVoid();

  emit_body(body);
}

void Emitter::emit_body(llvm::Function* function) {
  function_ = function;
  unsigned next = 0;
  while (buffers_.size() < kernel_.buffers.size()) buffers_.push_back(function->getArg(next++));
  while (sizes_.size() < kernel_.sizes.size()) sizes_.push_back(function->getArg(next++));
  Value* begin = function->getArg(next);
  Value* end = function->getArg(next + 1);
  infos_.resize(kernel_.exprs().size());
  new_block("entry");
  b_.SetInsertPoint(new_block("start"));
  scopes_.emplace_back();
  scalar_loop(kernel_.root, begin, end);
  scopes_.pop_back();
  b_.CreateRetVoid();
  b_.SetInsertPoint(&function->getEntryBlock());  // after all allocas
  b_.CreateBr(function->getEntryBlock().getNextNode());
}

// --- Loops ---

void Emitter::block(const std::vector<Stmt>& body) {
  for (const Stmt& s : body) {
    switch (s.kind) {
      case StmtKind::loop: loop(s); break;
      case StmtKind::declare: declare(s); break;
      case StmtKind::accumulate: accumulate(s); break;
      case StmtKind::store: store(s); break;
    }
  }
}

// Runs what `body` makes only where condition is true.
template <class Body>
void Emitter::guarded(Value* condition, Body body) {
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    if (constant->isOne()) body();
    return;
  }
  BasicBlock* then = new_block("then");
  BasicBlock* after = new_block("after");
  b_.CreateCondBr(condition, then, after);
  b_.SetInsertPoint(then);
  body();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

// for (i = begin; i < end; i += step), known to run at least once.
template <class Body>
void Emitter::counted(Value* begin, Value* end, std::int64_t step, Body body) {
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* header = new_block("loop");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(begin, before);
  body(i);
  Value* next = b_.CreateNSWAdd(i, i64(step));
  i->addIncoming(next, b_.GetInsertBlock());
  BasicBlock* exit = new_block("exit");
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), header, exit);
  b_.SetInsertPoint(exit);
}

void Emitter::enter(const Stmt& s) {
  BasicBlock* run = new_block("run");
  Scope scope;
  scope.loop = &s;
  scope.before = b_.CreateBr(run);
  scopes_.push_back(std::move(scope));
  infos_.assign(infos_.size(), std::nullopt);
  b_.SetInsertPoint(run);
}

void Emitter::leave() {
  scopes_.pop_back();
  infos_.assign(infos_.size(), std::nullopt);
}

void Emitter::loop(const Stmt& s) {
  Value* extent = scalar(s.extent);
  if (s.loop_kind == LoopKind::vector) return vector_loop(s, extent);
  scalar_loop(s, i64(0), extent);
}

void Emitter::scalar_loop(const Stmt& s, Value* begin, Value* end) {
  guarded(b_.CreateICmpSLT(begin, end), [&] {
    enter(s);
    counted(begin, end, 1, [&](Value* i) {
      scopes_.back().index = i;
      block(s.body);
    });
    leave();
  });
}

void Emitter::vector_loop(const Stmt& s, Value* extent) {
  const std::vector<const Stmt*> fed = fed_by(s);
  const int unroll = fed.empty() ? 1 : s.unroll;
  const std::int64_t step = std::int64_t{s.lanes} * unroll;
  partials_.clear();
  for (const Stmt* f : fed) partials_.push_back(make_partials(*f, s.lanes, unroll));
  guarded(b_.CreateICmpSGT(extent, i64(0)), [&] {
    enter(s);
    vector_level_ = depth();
    Value* main_end = b_.CreateAnd(extent, i64(-step));
    guarded(b_.CreateICmpSGT(main_end, i64(0)), [&] { vector_main(s, main_end, unroll); });
    if (step > 1) {
      guarded(b_.CreateICmpSLT(main_end, extent),
              [&] { vector_remainder(s, main_end, extent, unroll); });
    }
    vector_level_ = -1;
    leave();
  });
  for (const Partials& p : partials_) combine_partials(p);
  partials_.clear();
}

// All steps whose lanes are all on and which fill the unrolled body.
void Emitter::vector_main(const Stmt& s, Value* end, int unroll) {
  counted(i64(0), end, std::int64_t{s.lanes} * unroll, [&](Value* i) {
    for (int u = 0; u < unroll; ++u) {
      use_partials(u);
      vector_body(s, b_.CreateNSWAdd(i, i64(std::int64_t{s.lanes} * u)), nullptr);
    }
  });
}

// The rest, with a mask.
void Emitter::vector_remainder(const Stmt& s, Value* begin, Value* end, int unroll) {
  const auto step = [&](Value* i) {
    Value* left = b_.CreateSub(end, i);
    left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, i64(s.lanes));
    Value* count = splat(b_.CreateTrunc(left, b_.getInt32Ty()));
    vector_body(s, i, b_.CreateICmpSLT(lane_numbers(b_.getInt32Ty()), count));
  };
  if (unroll == 1) {
    use_partials(0);
    return step(begin);
  }
  spill_partials(true, unroll);
  counted(begin, end, s.lanes, [&](Value* i) {
    use_partials(b_.CreateUDiv(b_.CreateSub(i, begin), i64(s.lanes)));
    step(i);
  });
  spill_partials(false, unroll);
}

void Emitter::vector_body(const Stmt& s, Value* index, Value* mask) {
  scopes_.back().index = index;
  scopes_.back().body.clear();
  mask_ = mask;
  block(s.body);
  mask_ = nullptr;
}

// --- Accumulators ---

void Emitter::declare(const Stmt& s) {
  Accumulator a{.declaration = &s, .level = depth(), .varying = vector_level_ >= 0};
  llvm::Type* type = with_lanes(register_type(context_, s.type), lanes());
  a.value = local(type);
  b_.CreateStore(identity(s, lanes()), a.value);
  if (has_index(s)) {
    llvm::Type* word = with_lanes(b_.getInt64Ty(), lanes());
    a.index = local(word);
    b_.CreateStore(llvm::Constant::getNullValue(word), a.index);
  }
  accumulators_[s.accumulator] = a;
}

Emitter::Partials Emitter::make_partials(const Stmt& s, std::int32_t lanes, int unroll) {
  const auto n = static_cast<unsigned>(lanes);
  llvm::Type* type = with_lanes(register_type(context_, s.type), n);
  llvm::Type* word = with_lanes(b_.getInt64Ty(), n);
  Partials p{.statement = &s};
  const auto count = static_cast<std::uint64_t>(unroll);
  for (int u = 0; u < unroll; ++u) {
    p.values.push_back(local(type));
    b_.CreateStore(identity(s, n), p.values.back());
    if (!has_index(s)) continue;
    p.indices.push_back(local(word));
    b_.CreateStore(llvm::Constant::getNullValue(word), p.indices.back());
  }
  if (unroll > 1) p.value_array = local(llvm::ArrayType::get(type, count));
  if (unroll > 1 && has_index(s)) p.index_array = local(llvm::ArrayType::get(word, count));
  return p;
}

void Emitter::use_partials(int number) {
  const auto u = static_cast<std::size_t>(number);
  for (Partials& p : partials_) {
    p.value = p.values[u];
    p.index = p.indices.empty() ? nullptr : p.indices[u];
  }
}

void Emitter::use_partials(Value* number) {
  for (Partials& p : partials_) {
    p.value = b_.CreateGEP(p.values[0]->getAllocatedType(), p.value_array, number);
    if (p.index_array == nullptr) continue;
    p.index = b_.CreateGEP(p.indices[0]->getAllocatedType(), p.index_array, number);
  }
}

// Copies the partial results to the arrays, or back.
void Emitter::spill_partials(bool out, int unroll) {
  const auto copy = [&](llvm::AllocaInst* single, llvm::AllocaInst* array, int u) {
    llvm::Type* type = single->getAllocatedType();
    Value* element = b_.CreateConstGEP1_64(type, array, static_cast<std::uint64_t>(u));
    if (out) b_.CreateStore(b_.CreateLoad(type, single), element);
    else b_.CreateStore(b_.CreateLoad(type, element), single);
  };
  for (const Partials& p : partials_) {
    for (int u = 0; u < unroll; ++u) {
      copy(p.values[static_cast<std::size_t>(u)], p.value_array, u);
      if (p.index_array != nullptr) copy(p.indices[static_cast<std::size_t>(u)], p.index_array, u);
    }
  }
}

Emitter::Reduced Emitter::combine(const Stmt& s, Reduced into, Reduced from) {
  if (!has_index(s)) return {emit_reduce(b_, s.reduce, s.type, into.value, from.value), nullptr};
  Value* better = emit_beats(b_, s.reduce, s.type, from.value, into.value);
  Value* worse = emit_beats(b_, s.reduce, s.type, into.value, from.value);
  Value* smaller = b_.CreateICmpSLT(from.index, into.index);
  Value* take = b_.CreateOr(better, b_.CreateAnd(b_.CreateNot(worse), smaller));
  return {b_.CreateSelect(take, from.value, into.value),
          b_.CreateSelect(take, from.index, into.index)};
}

void Emitter::combine_partials(const Partials& p) {
  const Stmt& s = *p.statement;
  const auto load = [&](llvm::AllocaInst* place) {
    return b_.CreateLoad(place->getAllocatedType(), place);
  };
  std::vector<Reduced> parts;
  for (std::size_t u = 0; u < p.values.size(); ++u) {
    parts.push_back({load(p.values[u]), p.indices.empty() ? nullptr : load(p.indices[u])});
  }
  for (std::size_t n = parts.size(); n > 1; n /= 2) {
    for (std::size_t j = 0; j < n / 2; ++j) parts[j] = combine(s, parts[j], parts[j + n / 2]);
  }
  Reduced r = parts[0];
  const auto type = llvm::cast<llvm::FixedVectorType>(r.value->getType());
  for (unsigned n = type->getNumElements(); n > 1; n /= 2) {
    const auto half = [&](Value* v, unsigned begin) -> Value* {
      if (v == nullptr) return nullptr;
      std::vector<int> lanes;
      for (unsigned i = 0; i < n / 2; ++i) lanes.push_back(static_cast<int>(begin + i));
      return b_.CreateShuffleVector(v, lanes);
    };
    r = combine(s, {half(r.value, 0), half(r.index, 0)},
                {half(r.value, n / 2), half(r.index, n / 2)});
  }
  const auto first = [&](Value* v) { return b_.CreateExtractElement(v, std::uint64_t{0}); };
  const Accumulator& a = accumulators_.at(s.accumulator);
  Reduced total{first(r.value), has_index(s) ? first(r.index) : nullptr};
  Reduced old{b_.CreateLoad(total.value->getType(), a.value),
              has_index(s) ? b_.CreateLoad(b_.getInt64Ty(), a.index) : nullptr};
  const Reduced result = combine(s, old, total);
  b_.CreateStore(result.value, a.value);
  if (has_index(s)) b_.CreateStore(result.index, a.index);
}

void Emitter::accumulate(const Stmt& s) {
  const Accumulator& a = accumulators_.at(s.accumulator);
  Value* place = a.value;
  Value* index_place = a.index;
  for (const Partials& p : partials_) {
    if (p.statement->accumulator != s.accumulator) continue;
    place = p.value;
    index_place = p.index;
  }
  const kernel_ir::Expr* product = product_added(kernel_, s);
  const kernel_ir::Expr& summand = kernel_.expr(s.value);
  const bool dot = summand.op == ExprOp::dot4 || summand.op == ExprOp::dot2;
  if (dot && s.reduce == kernel_ir::ReduceOp::sum) {
    Value* x = value(summand.args[0]);
    Value* y = value(summand.args[1]);
    Value* old = b_.CreateLoad(x->getType(), place);
    const bool bytes = is_unsigned(kernel_.expr(summand.args[0]).type);
    Value* result = summand.op == ExprOp::dot2 ? emit_dot2(b_, instructions_, old, x, y)
                                               : emit_dot4(b_, instructions_, old, x, y, bytes);
    if (mask_ != nullptr) result = b_.CreateSelect(mask_, result, old);
    b_.CreateStore(result, place);
    return;
  }
  Value* v = value(product != nullptr ? product->args[0] : s.value);
  Value* factor = product != nullptr ? value(product->args[1]) : nullptr;
  Value* old = b_.CreateLoad(v->getType(), place);
  if (!has_index(s)) {
    Value* result = product != nullptr
                        ? b_.CreateIntrinsic(llvm::Intrinsic::fma, {v->getType()}, {v, factor, old})
                        : emit_reduce(b_, s.reduce, s.type, old, v);
    if (mask_ != nullptr) result = b_.CreateSelect(mask_, result, old);
    b_.CreateStore(result, place);
    return;
  }
  Value* index = value(s.index);
  Value* take = emit_beats(b_, s.reduce, s.type, v, old);
  if (mask_ != nullptr) take = b_.CreateAnd(mask_, take);
  Value* old_index = b_.CreateLoad(index->getType(), index_place);
  b_.CreateStore(b_.CreateSelect(take, v, old), place);
  b_.CreateStore(b_.CreateSelect(take, index, old_index), index_place);
}

// --- Stores ---

void Emitter::store(const Stmt& s) {
  const kernel_ir::Buffer& buffer = kernel_.buffers[static_cast<std::size_t>(s.buffer)];
  const llvm::Align alignment(size_of(buffer.type));
  Value* v = to_memory(b_, buffer.type, value(s.value));
  if (lanes() == 0) {
    Value* place = address(s.buffer, s.index);
    Value* condition = s.guard == kNoExpr ? b_.getTrue() : scalar(s.guard);
    guarded(condition, [&] { b_.CreateAlignedStore(v, place, alignment); });
  } else {
    Value* on = active(s.guard);
    if (stride(s.index) == 1) {
      Value* place = address(s.buffer, s.index);
      if (on == nullptr) b_.CreateAlignedStore(v, place, alignment);
      else b_.CreateMaskedStore(v, place, alignment, on);
    } else {
      b_.CreateMaskedScatter(v, addresses(s.buffer, s.index), alignment, on);
    }
  }
  if (buffer.role == BufferRole::scratch) forget_scratch();
}

// What was read from scratch before a store is not used after it.
void Emitter::forget_scratch() {
  for (Scope& scope : scopes_) {
    std::erase_if(scope.body, [&](const auto& entry) { return info(expr_of(entry.first)).pinned; });
  }
}

}  // namespace trireme::codegen
