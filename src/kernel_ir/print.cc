// The text form of a kernel:
//
//   kernel "add_one" {
//     size "n"
//     buffer input f32 "x"
//     buffer output f32 "y"
//     loop_vars 1
//     accumulators 0
//     %0 = size i64 0
//     %1 = loop_var i64 0
//     %2 = load f32 0 %1
//     %3 = constant f32 1.0
//     %4 = add f32 %2 %3
//     parallel v0 < %0 {
//       store 1[%1] = %4
//     }
//   }
//
// A leaf is followed by its number or index, another operation by its arguments. A scratch buffer
// ends with its length (`%7`). Other statements:
//
//   vector v1 < %5 lanes 16 unroll 4 { ... }      serial v2 < %5 { ... }
//   declare a0 argmax f32                         accumulate a0 argmax f32 %8 index %9
//   store 1[%1] = %4 if %6

#include <string>

#include "base/number_text.h"
#include "kernel_ir/kernel.h"

namespace trireme::kernel_ir {
namespace {

constexpr const char* kRoleNames[] = {"input", "output", "inout", "scratch"};
constexpr const char* kLoopNames[] = {"parallel", "serial", "vector"};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string ref(ExprId id) { return "%" + std::to_string(id); }

std::string number_text(const Expr& e) {
  if (!is_float(e.type)) return std::to_string(e.integer);
  return e.type != DType::f64 ? float_text(static_cast<float>(e.number)) : float_text(e.number);
}

std::string expr_text(const Expr& e) {
  std::string out = std::string(name_of(e.op)) + " " + std::string(name_of(e.type));
  if (e.op == ExprOp::constant) return out + " " + number_text(e);
  if (argument_count(e.op) == 0) out += " " + std::to_string(e.index);
  for (const ExprId arg : e.args) {
    if (arg != kNoExpr) out += " " + ref(arg);
  }
  return out;
}

void print_stmt(const Stmt& s, int indent, std::string& out) {
  const std::string space(static_cast<std::size_t>(indent) * 2, ' ');
  const std::string reduction = " a" + std::to_string(s.accumulator) + " " + name_of(s.reduce) +
                                " " + std::string(name_of(s.type));
  out += space;
  switch (s.kind) {
    case StmtKind::loop:
      out += std::string(kLoopNames[static_cast<int>(s.loop_kind)]) + " v" +
             std::to_string(s.loop_var) + " < " + ref(s.extent);
      if (s.loop_kind == LoopKind::vector) {
        out += " lanes " + std::to_string(s.lanes) + " unroll " + std::to_string(s.unroll);
      }
      out += " {\n";
      for (const Stmt& inner : s.body) print_stmt(inner, indent + 1, out);
      out += space + "}\n";
      return;
    case StmtKind::declare: out += "declare" + reduction; break;
    case StmtKind::accumulate:
      out += "accumulate" + reduction + " " + ref(s.value);
      if (s.index != kNoExpr) out += " index " + ref(s.index);
      break;
    case StmtKind::store:
      out += "store " + std::to_string(s.buffer) + "[" + ref(s.index) + "] = " + ref(s.value);
      if (s.guard != kNoExpr) out += " if " + ref(s.guard);
      break;
  }
  out += "\n";
}

}  // namespace

std::string print(const Kernel& kernel) {
  std::string out = "kernel " + quoted(kernel.name) + " {\n";
  for (const std::string& name : kernel.sizes) out += "  size " + quoted(name) + "\n";
  for (const Buffer& b : kernel.buffers) {
    out += std::string("  buffer ") + kRoleNames[static_cast<int>(b.role)] + " " +
           std::string(name_of(b.type)) + " " + quoted(b.name);
    if (b.scratch_elements != kNoExpr) out += " " + ref(b.scratch_elements);
    out += "\n";
  }
  out += "  loop_vars " + std::to_string(kernel.loop_vars) + "\n";
  out += "  accumulators " + std::to_string(kernel.accumulators) + "\n";
  for (std::size_t i = 0; i < kernel.exprs().size(); ++i) {
    out += "  " + ref(static_cast<ExprId>(i)) + " = " + expr_text(kernel.exprs()[i]) + "\n";
  }
  print_stmt(kernel.root, 1, out);
  return out + "}\n";
}

}  // namespace trireme::kernel_ir
