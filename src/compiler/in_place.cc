#include "compiler/in_place.h"

#include <algorithm>
#include <set>
#include <vector>

namespace trireme::compiler {
namespace {

using kernel_ir::ExprId;
using kernel_ir::kNoExpr;
using kernel_ir::Stmt;
using kernel_ir::StmtKind;

class StoreOrderChecker {
 public:
  explicit StoreOrderChecker(const kernel_ir::Kernel& kernel) : kernel_(kernel) {}

  bool is_safe() {
    statement(kernel_.root);
    return safe_;
  }

 private:
  void block(const std::vector<Stmt>& statements) {
    scopes_.emplace_back();
    for (const Stmt& s : statements) statement(s);
    scopes_.pop_back();
  }

  void statement(const Stmt& s) {
    if (s.kind == StmtKind::loop) {
      if (s.extent != kNoExpr) evaluate_expr(s.extent);
      block(s.body);
      return;
    }
    for (const ExprId expr : {s.value, s.index, s.guard}) {
      if (expr != kNoExpr) evaluate_expr(expr);
    }
    if (s.kind == StmtKind::store && is_inout(s.buffer)) stored_.insert(s.buffer);
  }

  bool is_evaluated(ExprId expr) const {
    return std::any_of(scopes_.begin(), scopes_.end(),
                       [&](const std::set<ExprId>& scope) { return scope.contains(expr); });
  }

  void evaluate_expr(ExprId id) {
    if (is_evaluated(id)) return;
    const kernel_ir::Expr& expr = kernel_.expr(id);
    for (const ExprId argument : expr.args) {
      if (argument != kNoExpr) evaluate_expr(argument);
    }
    if (expr.op == kernel_ir::ExprOp::load && stored_.contains(expr.index)) safe_ = false;
    scopes_.back().insert(id);
  }

  bool is_inout(int buffer) const {
    return kernel_.buffers[static_cast<std::size_t>(buffer)].role == kernel_ir::BufferRole::inout;
  }

  const kernel_ir::Kernel& kernel_;
  std::vector<std::set<ExprId>> scopes_{1};
  std::set<int> stored_;  // inout buffers
  bool safe_ = true;
};

}  // namespace

bool loads_before_storing(const kernel_ir::Kernel& kernel) {
  return StoreOrderChecker(kernel).is_safe();
}

}  // namespace trireme::compiler
