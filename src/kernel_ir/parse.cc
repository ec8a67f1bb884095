// The inverse of print.cc, where the form is described. It checks the form and that every
// expression refers to earlier ones; verify() checks the rest.

#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/number_text.h"
#include "kernel_ir/kernel.h"

namespace trireme::kernel_ir {
namespace {

constexpr int kMaxDepth = 64;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Kernel kernel() {
    keyword("kernel");
    kernel_.name = quoted();
    keyword("{");
    while (accept("size")) kernel_.sizes.push_back(quoted());
    while (accept("buffer")) buffer();
    keyword("loop_vars");
    kernel_.loop_vars = small("a count");
    keyword("accumulators");
    kernel_.accumulators = small("a count");
    while (peek().starts_with('%')) expression();
    check_scratch();
    kernel_.root = statement(0);
    keyword("}");
    if (!peek().empty()) wrong("the end");
    return std::move(kernel_);
  }

 private:
  // Returns the next word: up to white space, or a single punctuation mark.
  std::string_view peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      if (text_[at_++] == '\n') ++line_;
    }
    std::size_t end = at_;
    while (end < text_.size() && std::isspace(static_cast<unsigned char>(text_[end])) == 0) {
      const bool mark = std::string_view("[]={}<\"").find(text_[end]) != std::string_view::npos;
      if (mark && end > at_) break;
      ++end;
      if (mark) break;
    }
    return text_.substr(at_, end - at_);
  }

  std::string_view next() {
    const std::string_view word = peek();
    at_ += word.size();
    return word;
  }

  [[noreturn]] void wrong(const std::string& wanted) {
    const std::string_view word = peek();
    fail_data(
        "kernel text, line " + std::to_string(line_) + ": expected " + wanted + ", found " +
        (word.empty() ? std::string("the end") : "'" + std::string(word.substr(0, 40)) + "'"));
  }

  bool accept(std::string_view word) {
    if (peek() != word) return false;
    next();
    return true;
  }

  void keyword(std::string_view word) {
    if (!accept(word)) wrong("'" + std::string(word) + "'");
  }

  std::string quoted() {
    if (peek() != "\"") wrong("a name in quotes");
    ++at_;
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c == '\n') wrong("a closing quote");
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        if (c == 'n') c = '\n';
      }
      out += c;
    }
    if (at_ == text_.size()) wrong("a closing quote");
    ++at_;
    return out;
  }

  std::optional<std::int32_t> as_small(std::string_view word) {
    const std::optional<std::int64_t> value = parse_integer(word);
    if (!value || *value < 0 || *value > 1 << 30) return std::nullopt;
    return static_cast<std::int32_t>(*value);
  }

  std::int32_t small(const char* what) {
    const std::optional<std::int32_t> value = as_small(peek());
    if (!value) wrong(what);
    next();
    return *value;
  }

  // A number behind one letter: %4, v0, a1.
  std::int32_t prefixed(char letter, const char* what) {
    const std::string_view word = peek();
    if (!word.starts_with(letter)) wrong(what);
    const std::optional<std::int32_t> value = as_small(word.substr(1));
    if (!value) wrong(what);
    next();
    return *value;
  }

  ExprId reference() {
    const std::string_view word = peek();
    const std::optional<std::int32_t> id =
        word.starts_with('%') ? as_small(word.substr(1)) : std::nullopt;
    if (!id || static_cast<std::size_t>(*id) >= kernel_.exprs().size()) {
      wrong("a reference to an expression above");
    }
    next();
    return *id;
  }

  DType dtype() {
    DType type = DType::f32;
    if (!parse_dtype(peek(), &type)) wrong("a dtype");
    next();
    return type;
  }

  template <class Enum>
  Enum named(std::initializer_list<const char*> names, const char* what) {
    int i = 0;
    for (const char* name : names) {
      if (accept(name)) return static_cast<Enum>(i);
      ++i;
    }
    wrong(what);
  }

  void buffer() {
    Buffer b;
    b.role = named<BufferRole>({"input", "output", "inout", "scratch"}, "a buffer's role");
    b.type = dtype();
    b.name = quoted();
    if (peek().starts_with('%')) b.scratch_elements = prefixed('%', "an expression");
    kernel_.buffers.push_back(std::move(b));
  }

  // The lengths of scratch buffers are named before the expressions.
  void check_scratch() {
    for (const Buffer& b : kernel_.buffers) {
      if (b.scratch_elements >= static_cast<ExprId>(kernel_.exprs().size())) {
        fail_data("kernel text: the length of scratch buffer '" + b.name +
                  "' is an expression that does not exist");
      }
    }
  }

  ExprOp op() {
    const std::string_view word = peek();
    for (int i = 0; i <= static_cast<int>(ExprOp::fma); ++i) {
      if (word == name_of(static_cast<ExprOp>(i))) {
        next();
        return static_cast<ExprOp>(i);
      }
    }
    wrong("the name of an operation");
  }

  void expression() {
    const std::int32_t id = prefixed('%', "an expression");
    keyword("=");
    Expr e{.op = op(), .type = DType::f32};
    e.type = dtype();
    if (e.op == ExprOp::constant) {
      constant(e);
    } else if (argument_count(e.op) == 0) {
      e.index = small("an index");
      if (e.op == ExprOp::load) {
        e.args[0] = reference();
        // A guard stands on the same line; the next line begins with `%n =`.
        if (on_this_line()) e.args[1] = reference();
      }
    } else {
      for (int i = 0; i < argument_count(e.op); ++i) e.args[i] = reference();
    }
    if (kernel_.add(e) != id || static_cast<std::size_t>(id) + 1 != kernel_.exprs().size()) {
      fail_data("kernel text, line " + std::to_string(line_) + ": expression %" +
                std::to_string(id) + " is out of order or repeats an earlier one");
    }
  }

  bool on_this_line() const {
    std::size_t i = at_;
    while (i < text_.size() && text_[i] == ' ') ++i;
    return i < text_.size() && text_[i] != '\n';
  }

  void constant(Expr& e) {
    if (is_float(e.type)) {
      const std::optional<double> value = parse_float(peek());
      if (!value) wrong("a number");
      e.number = *value;
    } else {
      const std::optional<std::int64_t> value = parse_integer(peek());
      if (!value) wrong("an integer");
      e.integer = *value;
    }
    next();
  }

  void reduction(Stmt& s) {
    s.accumulator = prefixed('a', "an accumulator");
    s.reduce = named<ReduceOp>({"sum", "prod", "min", "max", "argmin", "argmax"}, "a reduction");
    s.type = dtype();
  }

  Stmt statement(int depth) {
    if (depth > kMaxDepth) fail_data("kernel text: loops are nested too deeply");
    Stmt s{.kind = StmtKind::loop};
    if (accept("declare")) {
      s.kind = StmtKind::declare;
      reduction(s);
    } else if (accept("accumulate")) {
      s.kind = StmtKind::accumulate;
      reduction(s);
      s.value = reference();
      if (accept("index")) s.index = reference();
    } else if (accept("store")) {
      s.kind = StmtKind::store;
      s.buffer = small("a buffer");
      keyword("[");
      s.index = reference();
      keyword("]");
      keyword("=");
      s.value = reference();
      if (accept("if")) s.guard = reference();
    } else {
      loop(s, depth);
    }
    return s;
  }

  void loop(Stmt& s, int depth) {
    s.loop_kind = named<LoopKind>({"parallel", "serial", "vector"}, "a statement");
    s.loop_var = prefixed('v', "a loop variable");
    keyword("<");
    s.extent = reference();
    if (s.loop_kind == LoopKind::vector) {
      keyword("lanes");
      s.lanes = small("a number of lanes");
      keyword("unroll");
      s.unroll = small("an unroll factor");
    }
    keyword("{");
    while (!accept("}")) s.body.push_back(statement(depth + 1));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  Kernel kernel_;
};

}  // namespace

Kernel parse(const std::string& text) { return Parser(text).kernel(); }

}  // namespace trireme::kernel_ir
