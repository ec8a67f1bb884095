#pragma once

// Kernel IR to LLVM IR. Private to this folder; includes LLVM.
//
// Every expression is placed at its level: the innermost loop it depends on, computed once in the
// block before the next loop in. Inside a vector loop an expression is either uniform (a scalar) or
// varying (a <lanes x T> vector). emit_value.cc places and computes expressions and loads,
// emit_loops.cc makes the loops, accumulators and stores.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "codegen/llvm/ops.h"
#include "kernel_ir/kernel.h"

namespace trireme::codegen {

class Emitter {
 public:
  Emitter(const kernel_ir::Kernel& kernel, llvm::Module& module, const Instructions& instructions)
      : kernel_(kernel),
        module_(module),
        instructions_(instructions),
        context_(module.getContext()),
        b_(context_) {}

  // Adds `void name(ptr buffers, ptr sizes, i64 begin, i64 end)` to the module. The attributes are
  // given to every function with a body.
  void emit(const char* name, const llvm::AttrBuilder& attributes);

 private:
  // A loop that code is being made for; scopes_[0] is the whole function. A vector loop's body is
  // made several times, each time with its own `body`.
  struct Scope {
    const kernel_ir::Stmt* loop = nullptr;
    llvm::Instruction* before = nullptr;  // values that the loop does not change stand before this
    llvm::Value* index = nullptr;         // the variable; of a vector loop, that of lane 0
    std::unordered_map<std::int64_t, llvm::Value*> hoisted;  // computed at `before`
    std::unordered_map<std::int64_t, llvm::Value*> body;     // computed inside
  };

  // What is known of an expression where it is used.
  struct Info {
    int level = 0;         // index in scopes_ of the innermost loop it depends on
    bool varying = false;  // differs between the lanes of the vector loop
    bool pinned = false;   // reads scratch: computed where it is used
  };

  struct Accumulator {
    const kernel_ir::Stmt* declaration = nullptr;
    int level = 0;
    bool varying = false;          // declared inside a vector loop: one per lane
    llvm::Value* value = nullptr;  // where it is kept
    llvm::Value* index = nullptr;  // argmin and argmax only
  };

  // Partial results of one accumulator in a vector loop.
  struct Partials {
    const kernel_ir::Stmt* statement;         // an accumulate
    std::vector<llvm::AllocaInst*> values;    // one vector per unrolled step
    std::vector<llvm::AllocaInst*> indices;   // argmin and argmax only
    llvm::AllocaInst* value_array = nullptr;  // the same in memory, for the remainder of the loop
    llvm::AllocaInst* index_array = nullptr;
    llvm::Value* value = nullptr;  // where the body that is being made accumulates
    llvm::Value* index = nullptr;
  };

  // Where a value is remembered: as a vector of `lanes` of the loop around, or as a scalar (0).
  static std::int64_t key_of(kernel_ir::ExprId id, unsigned lanes) {
    return std::int64_t{id} * kKeysPerExpr + lanes;
  }
  static kernel_ir::ExprId expr_of(std::int64_t key) {
    return static_cast<kernel_ir::ExprId>(key / kKeysPerExpr);
  }
  static constexpr std::int64_t kKeysPerExpr = 512;  // more than lanes

  int depth() const { return static_cast<int>(scopes_.size()) - 1; }
  unsigned lanes() const;  // of the vector loop around; 0 if there is none

  // emit_value.cc
  llvm::Value* scalar(kernel_ir::ExprId id);  // of a uniform expression
  llvm::Value* vector(kernel_ir::ExprId id);  // of any expression, inside a vector loop
  llvm::Value* value(kernel_ir::ExprId id);   // a vector inside a vector loop, else a scalar
  llvm::Value* compute(kernel_ir::ExprId id, bool as_vector, const Info& info);
  llvm::Value* find(std::int64_t key, const Info& info) const;
  void remember(std::int64_t key, const Info& info, llvm::Value* value);
  void go_to_level(int level);
  Info info(kernel_ir::ExprId id);
  int load_level(int level) const;
  llvm::Value* loop_value(const kernel_ir::Expr& e, bool as_vector);
  llvm::Value* splat(llvm::Value* scalar);
  llvm::Value* lane_numbers(llvm::Type* integer, std::int64_t step = 1);

  struct Term {
    std::int64_t factor;
    kernel_ir::ExprId id;
  };
  std::optional<std::int64_t> stride(kernel_ir::ExprId index);  // from lane to lane, if constant
  void split(kernel_ir::ExprId id, std::int64_t factor, std::vector<Term>& terms) const;
  llvm::Value* index_of_lane_0(kernel_ir::ExprId index);
  llvm::Value* address(std::int32_t buffer, kernel_ir::ExprId index);    // of lane 0
  llvm::Value* addresses(std::int32_t buffer, kernel_ir::ExprId index);  // of all lanes
  llvm::Value* load_scalar(const kernel_ir::Expr& e);
  llvm::Value* load_vector(const kernel_ir::Expr& e);
  llvm::Value* active(kernel_ir::ExprId guard);  // mask and guard; null if every lane is active

  // emit_loops.cc
  void emit_body(llvm::Function* function);
  void block(const std::vector<kernel_ir::Stmt>& body);
  void loop(const kernel_ir::Stmt& s);
  void enter(const kernel_ir::Stmt& s);
  void leave();
  void scalar_loop(const kernel_ir::Stmt& s, llvm::Value* begin, llvm::Value* end);
  void vector_loop(const kernel_ir::Stmt& s, llvm::Value* extent);
  void vector_main(const kernel_ir::Stmt& s, llvm::Value* end, int unroll);
  void vector_remainder(const kernel_ir::Stmt& s, llvm::Value* begin, llvm::Value* end, int unroll);
  void vector_body(const kernel_ir::Stmt& s, llvm::Value* index, llvm::Value* mask);
  template <class Body>
  void counted(llvm::Value* begin, llvm::Value* end, std::int64_t step, Body body);
  template <class Body>
  void guarded(llvm::Value* condition, Body body);
  void declare(const kernel_ir::Stmt& s);
  void accumulate(const kernel_ir::Stmt& s);
  void store(const kernel_ir::Stmt& s);
  void forget_scratch();
  Partials make_partials(const kernel_ir::Stmt& s, std::int32_t lanes, int unroll);
  void use_partials(int number);
  void use_partials(llvm::Value* number);
  void spill_partials(bool out, int unroll);
  void combine_partials(const Partials& p);
  struct Reduced {
    llvm::Value* value;
    llvm::Value* index;
  };
  Reduced combine(const kernel_ir::Stmt& s, Reduced into, Reduced from);
  llvm::AllocaInst* local(llvm::Type* type);
  llvm::Value* identity(const kernel_ir::Stmt& s, unsigned lanes);
  llvm::BasicBlock* new_block(const char* name);
  llvm::ConstantInt* i64(std::int64_t value) {
    return b_.getInt64(static_cast<std::uint64_t>(value));
  }

  const kernel_ir::Kernel& kernel_;
  llvm::Module& module_;
  const Instructions instructions_;
  llvm::LLVMContext& context_;
  IrBuilder b_;
  llvm::Function* function_ = nullptr;
  std::vector<llvm::Value*> buffers_;
  std::vector<llvm::Value*> sizes_;
  std::vector<Scope> scopes_;
  std::vector<std::optional<Info>> infos_;  // of the present scopes
  std::map<std::int32_t, Accumulator> accumulators_;
  std::vector<Partials> partials_;  // of the vector loop around
  int vector_level_ = -1;           // the vector loop around, or -1
  llvm::Value* mask_ = nullptr;     // lanes that are switched on; null: all
};

}  // namespace trireme::codegen
