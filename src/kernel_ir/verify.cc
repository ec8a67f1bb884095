#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernel_ir/kernel.h"

namespace trireme::kernel_ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  void run() {
    for (std::size_t i = 0; i < kernel_.exprs().size(); ++i) check_expr(static_cast<ExprId>(i));
    check_buffers();
    const Stmt& root = kernel_.root;
    if (root.kind != StmtKind::loop || root.loop_kind != LoopKind::parallel) {
      wrong("the root is not a parallel loop");
    }
    if (deepest(root.extent, false) != 0) wrong("the extent of the root uses more than sizes");
    enter_loop(root);
  }

 private:
  struct Accumulator {
    ReduceOp reduce;
    DType type;
    int depth;  // how many loops are around its declaration
  };

  [[noreturn]] void wrong(const std::string& what) const {
    fail_internal("kernel '" + kernel_.name + "': " + what);
  }
  void require(bool condition, const std::string& what) const {
    if (!condition) wrong(what);
  }

  DType type(ExprId id) const { return kernel_.expr(id).type; }
  bool exists(ExprId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < kernel_.exprs().size();
  }

  void check_expr(ExprId id) const {
    const Expr& e = kernel_.expr(id);
    const std::string where = "expression %" + std::to_string(id) + " (" + name_of(e.op) + "): ";
    const int count = e.op == ExprOp::load ? 1 : argument_count(e.op);
    for (int i = 0; i < 3; ++i) {
      const bool optional = e.op == ExprOp::load && i == 1;
      if (i < count || (optional && e.args[i] != kNoExpr)) {
        require(e.args[i] >= 0 && e.args[i] < id, where + "an argument is not an earlier one");
      } else {
        require(e.args[i] == kNoExpr, where + "too many arguments");
      }
    }
    require(types_fit(e), where + "the types do not fit");
  }

  // What 16-bit floats are for.
  static bool moves(ExprOp op) {
    return op == ExprOp::constant || op == ExprOp::load || op == ExprOp::select ||
           op == ExprOp::cast;
  }

  bool types_fit(const Expr& e) const {
    const auto index_below = [&](std::size_t n) {
      return e.index >= 0 && static_cast<std::size_t>(e.index) < n;
    };
    const auto arg = [&](int i) { return type(e.args[i]); };
    if (is_half(e.type) && !moves(e.op)) return false;
    for (int i = 0; i < argument_count(e.op); ++i) {
      if (is_half(arg(i)) && !moves(e.op)) return false;
    }
    switch (e.op) {
      case ExprOp::constant: return true;
      case ExprOp::size: return e.type == DType::i64 && index_below(kernel_.sizes.size());
      case ExprOp::loop_var:
        return e.type == DType::i64 && index_below(static_cast<std::size_t>(kernel_.loop_vars));
      case ExprOp::accumulator: return index_below(static_cast<std::size_t>(kernel_.accumulators));
      case ExprOp::accumulator_index:
        return e.type == DType::i64 && index_below(static_cast<std::size_t>(kernel_.accumulators));
      case ExprOp::load:
        return index_below(kernel_.buffers.size()) && arg(0) == DType::i64 &&
               fits_buffer(e.type, kernel_.buffers[static_cast<std::size_t>(e.index)].type) &&
               kernel_.buffers[static_cast<std::size_t>(e.index)].role != BufferRole::output &&
               (e.args[1] == kNoExpr || arg(1) == DType::boolean);
      case ExprOp::neg:
      case ExprOp::abs: return arg(0) == e.type && e.type != DType::boolean;
      case ExprOp::logical_not: return arg(0) == e.type && e.type == DType::boolean;
      case ExprOp::popcount: return arg(0) == e.type && is_integer(e.type);
      case ExprOp::dot2:
        return e.type == DType::i32 && arg(0) == DType::i32 && arg(1) == DType::i32;
      case ExprOp::dot4:
        return e.type == DType::i32 && arg(1) == DType::i32 &&
               (arg(0) == DType::i32 || arg(0) == DType::u32);
      case ExprOp::cast:
        if (!is_half(e.type) && !is_half(arg(0))) return true;
        return e.type == arg(0) || e.type == DType::f32 || arg(0) == DType::f32;
      case ExprOp::bitcast:
        return size_of(arg(0)) == size_of(e.type) && arg(0) != DType::boolean &&
               e.type != DType::boolean;
      case ExprOp::min:
      case ExprOp::max: return arg(0) == e.type && arg(1) == e.type;
      case ExprOp::pow: return arg(0) == e.type && arg(1) == e.type && is_arithmetic_float(e.type);
      case ExprOp::bit_and:
      case ExprOp::bit_or:
      case ExprOp::bit_xor:
        return arg(0) == e.type && arg(1) == e.type && !is_arithmetic_float(e.type);
      case ExprOp::shl:
      case ExprOp::shr: return arg(0) == e.type && arg(1) == e.type && is_integer(e.type);
      case ExprOp::eq:
      case ExprOp::ne:
      case ExprOp::lt:
      case ExprOp::le: return arg(0) == arg(1) && e.type == DType::boolean;
      case ExprOp::select: return arg(0) == DType::boolean && arg(1) == e.type && arg(2) == e.type;
      case ExprOp::fma:
        return is_arithmetic_float(e.type) && arg(0) == e.type && arg(1) == e.type &&
               arg(2) == e.type;
      case ExprOp::add:
      case ExprOp::sub:
      case ExprOp::mul:
      case ExprOp::div:
      case ExprOp::rem: return arg(0) == e.type && arg(1) == e.type && e.type != DType::boolean;
      default: return arg(0) == e.type && is_arithmetic_float(e.type);
    }
  }

  void check_buffers() {
    for (const Buffer& b : kernel_.buffers) {
      if (b.role != BufferRole::scratch) {
        require(b.scratch_elements == kNoExpr, "buffer '" + b.name + "' is no scratch: no length");
        continue;
      }
      require(exists(b.scratch_elements) && type(b.scratch_elements) == DType::i64,
              "scratch buffer '" + b.name + "' has no i64 length");
      require(deepest(b.scratch_elements, false) == 0,
              "the length of scratch buffer '" + b.name + "' uses more than sizes");
    }
  }

  // Checks that what an expression reads is in scope; returns how many loops it lies in.
  int deepest(ExprId id, bool loads) {
    require(exists(id), "a statement refers to an expression that does not exist");
    seen_.assign(kernel_.exprs().size(), -1);
    return visit(id, loads);
  }

  int visit(ExprId id, bool loads) {
    int& memo = seen_[static_cast<std::size_t>(id)];
    if (memo >= 0) return memo;
    const Expr& e = kernel_.expr(id);
    const std::string where = "expression %" + std::to_string(id) + " (" + name_of(e.op) + ")";
    int depth = 0;
    if (e.op == ExprOp::loop_var) {
      const auto it = std::find(loops_.begin(), loops_.end(), e.index);
      require(it != loops_.end(), where + " is used outside its loop");
      depth = static_cast<int>(it - loops_.begin()) + 1;
    } else if (e.op == ExprOp::accumulator || e.op == ExprOp::accumulator_index) {
      depth = check_accumulator_use(e, where);
    }
    require(loads || e.op != ExprOp::load, where + " is not allowed here");
    for (const ExprId arg : e.args) {
      if (arg != kNoExpr) depth = std::max(depth, visit(arg, loads));
    }
    return seen_[static_cast<std::size_t>(id)] = depth;
  }

  int check_accumulator_use(const Expr& e, const std::string& where) const {
    for (const auto& [number, accumulator] : accumulators_) {
      if (number != e.index) continue;
      const bool arg =
          accumulator.reduce == ReduceOp::argmin || accumulator.reduce == ReduceOp::argmax;
      if (e.op == ExprOp::accumulator_index) require(arg, where + ": the reduction has no index");
      else require(accumulator.type == e.type, where + " has another type than its declaration");
      return accumulator.depth;
    }
    wrong(where + " is not declared here");
  }

  // Whether an expression inside a vector loop uses its variable or an accumulator of a lane.
  bool differs_between_lanes(ExprId root) const {
    const std::int32_t variable = loops_[static_cast<std::size_t>(vector_depth_) - 1];
    std::vector<bool> used(static_cast<std::size_t>(root) + 1, false);
    used.back() = true;
    for (ExprId id = root; id >= 0; --id) {  // arguments are earlier than their users
      if (!used[static_cast<std::size_t>(id)]) continue;
      const Expr& e = kernel_.expr(id);
      if (e.op == ExprOp::loop_var && e.index == variable) return true;
      if (e.op == ExprOp::accumulator || e.op == ExprOp::accumulator_index) {
        if (check_accumulator_use(e, "") >= vector_depth_) return true;
      }
      for (const ExprId arg : e.args) {
        if (arg != kNoExpr) used[static_cast<std::size_t>(arg)] = true;
      }
    }
    return false;
  }

  void check_block(const std::vector<Stmt>& body) {
    const std::size_t declared = accumulators_.size();
    for (const Stmt& s : body) {
      switch (s.kind) {
        case StmtKind::loop: check_inner_loop(s); break;
        case StmtKind::declare: check_declare(s); break;
        case StmtKind::accumulate: check_accumulate(s); break;
        case StmtKind::store: check_store(s); break;
      }
    }
    accumulators_.resize(declared);
  }

  void check_inner_loop(const Stmt& s) {
    const std::string where = "loop v" + std::to_string(s.loop_var) + ": ";
    require(s.loop_kind != LoopKind::parallel, where + "only the root may be parallel");
    const auto power_of_two = [](std::int32_t n, std::int32_t max) {
      return n >= 1 && n <= max && std::has_single_bit(static_cast<std::uint32_t>(n));
    };
    require(power_of_two(s.lanes, 256), where + "lanes must be 1, 2, 4 ... 256");
    require(power_of_two(s.unroll, 16), where + "unroll must be 1, 2, 4, 8 or 16");
    deepest(s.extent, true);
    if (vector_depth_ >= 0) {
      require(s.loop_kind == LoopKind::serial, where + "a vector loop inside a vector loop");
      require(!differs_between_lanes(s.extent),
              where + "its extent depends on the vector loop around it");
    }
    enter_loop(s);
  }

  void enter_loop(const Stmt& s) {
    const std::string where = "loop v" + std::to_string(s.loop_var);
    require(s.loop_var >= 0 && s.loop_var < kernel_.loop_vars, where + " is out of range");
    require(std::find(loops_.begin(), loops_.end(), s.loop_var) == loops_.end(),
            where + " is inside a loop with the same variable");
    require(type(s.extent) == DType::i64, where + ": the extent must be i64");
    loops_.push_back(s.loop_var);
    const bool vector = s.loop_kind == LoopKind::vector;
    if (vector) vector_depth_ = static_cast<int>(loops_.size());
    check_block(s.body);
    if (vector) vector_depth_ = -1;
    loops_.pop_back();
  }

  void check_declare(const Stmt& s) {
    const std::string where = "accumulator a" + std::to_string(s.accumulator);
    require(s.accumulator >= 0 && s.accumulator < kernel_.accumulators, where + ": out of range");
    for (const auto& [number, accumulator] : accumulators_) {
      require(number != s.accumulator, where + " is declared twice");
    }
    require(!is_half(s.type), where + ": 16-bit floats are stored, not computed with");
    const bool bits = s.reduce == ReduceOp::min || s.reduce == ReduceOp::max;
    require(bits || s.type != DType::boolean, where + ": booleans know only min and max");
    accumulators_.emplace_back(s.accumulator,
                               Accumulator{s.reduce, s.type, static_cast<int>(loops_.size())});
  }

  void check_accumulate(const Stmt& s) {
    const std::string where = "accumulator a" + std::to_string(s.accumulator);
    const auto it = std::find_if(accumulators_.begin(), accumulators_.end(),
                                 [&](const auto& a) { return a.first == s.accumulator; });
    require(it != accumulators_.end(), where + " is not declared here");
    require(it->second.reduce == s.reduce && it->second.type == s.type,
            where + " is declared with another reduction or type");
    deepest(s.value, true);
    require(type(s.value) == s.type, where + ": the value has another type");
    const bool arg = s.reduce == ReduceOp::argmin || s.reduce == ReduceOp::argmax;
    require(arg == (s.index != kNoExpr), where + ": an index goes with argmin and argmax only");
    if (arg) {
      deepest(s.index, true);
      require(type(s.index) == DType::i64, where + ": the index must be i64");
    }
  }

  void check_store(const Stmt& s) {
    require(s.buffer >= 0 && static_cast<std::size_t>(s.buffer) < kernel_.buffers.size(),
            "a store to a buffer that does not exist");
    const Buffer& b = kernel_.buffers[static_cast<std::size_t>(s.buffer)];
    const std::string where = "store to '" + b.name + "': ";
    require(b.role != BufferRole::input, where + "it is an input");
    deepest(s.index, true);
    deepest(s.value, true);
    require(type(s.index) == DType::i64, where + "the index must be i64");
    require(type(s.value) == b.type, where + "the value has another type");
    if (s.guard != kNoExpr) {
      deepest(s.guard, true);
      require(type(s.guard) == DType::boolean, where + "the guard must be boolean");
    }
  }

  const Kernel& kernel_;
  std::vector<std::int32_t> loops_;  // variables of the loops around, outermost first
  std::vector<std::pair<std::int32_t, Accumulator>> accumulators_;  // in scope
  std::vector<int> seen_;
  int vector_depth_ = -1;  // depth of the body of the vector loop around, or -1
};

}  // namespace

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

}  // namespace trireme::kernel_ir
