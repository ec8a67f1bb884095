// The oracle: runs a kernel by walking its statements, one element after the other, exactly as
// kernel_ir/kernel.h says. Slow and simple. f32 maths is expanded first, as for compiled code, so
// both give the same bits.

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/half.h"
#include "codegen/codegen.h"
#include "kernel_ir/kernel.h"
#include "kernel_ir/scalar.h"

namespace trireme::codegen {
namespace {

using kernel_ir::Expr;
using kernel_ir::ExprId;
using kernel_ir::ExprOp;
using kernel_ir::Kernel;
using kernel_ir::LoopKind;
using kernel_ir::ReduceOp;
using kernel_ir::Scalar;
using kernel_ir::Stmt;
using kernel_ir::StmtKind;

template <class T>
T read_as(const void* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

Scalar read_element(DType type, const void* place) {
  switch (type) {
    case DType::boolean: return {.integer = read_as<std::uint8_t>(place) != 0 ? 1 : 0};
    case DType::u8: return {.integer = read_as<std::uint8_t>(place)};
    case DType::i8: return {.integer = read_as<std::int8_t>(place)};
    case DType::u16: return {.integer = read_as<std::uint16_t>(place)};
    case DType::i16: return {.integer = read_as<std::int16_t>(place)};
    case DType::u32: return {.integer = read_as<std::uint32_t>(place)};
    case DType::i32: return {.integer = read_as<std::int32_t>(place)};
    case DType::u64:
    case DType::i64: return {.integer = read_as<std::int64_t>(place)};
    case DType::f32: return {.number = static_cast<double>(read_as<float>(place))};
    case DType::f64: return {.number = read_as<double>(place)};
    case DType::bf16: return {.number = to_float(read_as<Bf16>(place))};
    case DType::f16: return {.number = to_float(read_as<F16>(place))};
  }
  return {};
}

template <class T>
void write_as(void* buffer, std::int64_t index, T value) {
  std::memcpy(static_cast<T*>(buffer) + index, &value, sizeof value);
}

void write_element(DType type, void* buffer, std::int64_t index, Scalar value) {
  switch (type) {
    case DType::boolean:
    case DType::i8:
    case DType::u8: return write_as(buffer, index, static_cast<std::uint8_t>(value.integer));
    case DType::i16:
    case DType::u16: return write_as(buffer, index, static_cast<std::uint16_t>(value.integer));
    case DType::u32:
    case DType::i32: return write_as(buffer, index, static_cast<std::int32_t>(value.integer));
    case DType::u64:
    case DType::i64: return write_as(buffer, index, value.integer);
    case DType::f32: return write_as(buffer, index, static_cast<float>(value.number));
    case DType::f64: return write_as(buffer, index, value.number);
    case DType::bf16: return write_as(buffer, index, to_bf16(static_cast<float>(value.number)));
    case DType::f16: return write_as(buffer, index, to_f16(static_cast<float>(value.number)));
  }
}

struct Accumulator {
  Scalar value;
  std::int64_t index = 0;
  std::size_t depth = 0;              // how many loops are around its declaration
  std::vector<Accumulator> partials;  // not empty while a vector loop feeds it
};

// One call of a kernel.
class Run {
 public:
  Run(const Kernel& kernel, void* const* buffers, const std::int64_t* sizes)
      : kernel_(kernel),
        buffers_(buffers),
        sizes_(sizes),
        loop_values_(static_cast<std::size_t>(kernel.loop_vars)),
        loop_depths_(static_cast<std::size_t>(kernel.loop_vars)),
        accumulators_(static_cast<std::size_t>(kernel.accumulators)),
        memo_(kernel.exprs().size()) {
    epochs_.push_back(++clock_);
  }

  void root(std::int64_t begin, std::int64_t end) { iterate(kernel_.root, begin, end); }

 private:
  // A value is good while the loop iteration at `depth`, in which it was computed, lasts. Values
  // read from scratch are good until scratch may have changed.
  struct Memo {
    Scalar value;
    std::uint64_t epoch = 0;
    std::size_t depth = 0;
    bool scratch = false;
  };

  void touch_scratch() { scratch_epoch_ = ++clock_; }

  void iterate(const Stmt& loop, std::int64_t begin, std::int64_t end) {
    const auto var = static_cast<std::size_t>(loop.loop_var);
    epochs_.push_back(0);
    loop_depths_[var] = epochs_.size() - 1;
    for (std::int64_t i = begin; i < end; ++i) {
      epochs_.back() = ++clock_;
      touch_scratch();
      loop_values_[var] = i;
      block(loop.body);
    }
    epochs_.pop_back();
    touch_scratch();
  }

  void block(const std::vector<Stmt>& body) {
    for (const Stmt& s : body) {
      switch (s.kind) {
        case StmtKind::loop: inner_loop(s); break;
        case StmtKind::declare:
          accumulators_[static_cast<std::size_t>(s.accumulator)] = {
              identity_of(s.reduce, s.type), 0, epochs_.size() - 1, {}};
          break;
        case StmtKind::accumulate: accumulate(s); break;
        case StmtKind::store: store(s); break;
      }
    }
  }

  void inner_loop(const Stmt& s) {
    const std::int64_t extent = value(s.extent).integer;
    if (s.loop_kind != LoopKind::vector) return iterate(s, 0, extent);
    const std::vector<const Stmt*> fed = fed_by(s);
    for (const Stmt* f : fed) {
      accumulators_[static_cast<std::size_t>(f->accumulator)].partials.assign(
          static_cast<std::size_t>(s.lanes) * static_cast<std::size_t>(s.unroll),
          {identity_of(f->reduce, f->type), 0, 0, {}});
    }
    vector_var_ = s.loop_var;
    iterate(s, 0, extent);
    for (const Stmt* f : fed) combine_partials(*f);
  }

  void combine_partials(const Stmt& s) {
    Accumulator& accumulator = accumulators_[static_cast<std::size_t>(s.accumulator)];
    std::vector<Accumulator> partials = std::move(accumulator.partials);
    accumulator.partials.clear();
    for (std::size_t n = partials.size(); n > 1; n /= 2) {
      for (std::size_t j = 0; j < n / 2; ++j) combine(s, partials[j], partials[j + n / 2]);
    }
    combine(s, accumulator, partials[0]);
  }

  static void combine(const Stmt& s, Accumulator& into, const Accumulator& from) {
    if (s.reduce == ReduceOp::argmin || s.reduce == ReduceOp::argmax) {
      const bool better = beats(s.reduce, s.type, from.value, into.value);
      const bool worse = beats(s.reduce, s.type, into.value, from.value);
      if (better || (!worse && from.index < into.index)) {
        into.value = from.value;
        into.index = from.index;
      }
    } else {
      into.value = reduce_step(s.reduce, s.type, into.value, from.value);
    }
  }

  void accumulate(const Stmt& s) {
    Accumulator* target = &accumulators_[static_cast<std::size_t>(s.accumulator)];
    if (!target->partials.empty()) {
      const auto i = static_cast<std::size_t>(loop_values_[static_cast<std::size_t>(vector_var_)]);
      target = &target->partials[i % target->partials.size()];
    }
    if (const Expr* product = kernel_ir::product_added(kernel_, s)) {
      const Scalar args[3] = {value(product->args[0]), value(product->args[1]), target->value};
      target->value = kernel_ir::evaluate(ExprOp::fma, s.type, s.type, args);
      return;
    }
    const Scalar v = value(s.value);
    if (s.index != kernel_ir::kNoExpr) {
      const std::int64_t index = value(s.index).integer;
      if (beats(s.reduce, s.type, v, target->value)) target->index = index;
    }
    target->value = reduce_step(s.reduce, s.type, target->value, v);
  }

  void store(const Stmt& s) {
    const kernel_ir::Buffer& buffer = kernel_.buffers[static_cast<std::size_t>(s.buffer)];
    const std::int64_t index = value(s.index).integer;
    const Scalar v = value(s.value);
    if (s.guard != kernel_ir::kNoExpr && value(s.guard).integer == 0) return;
    write_element(buffer.type, buffers_[s.buffer], index, v);
    if (buffer.role == kernel_ir::BufferRole::scratch) touch_scratch();
  }

  Scalar value(ExprId id) { return memo(id).value; }

  const Memo& memo(ExprId id) {
    Memo& m = memo_[static_cast<std::size_t>(id)];
    if (m.epoch != 0 && m.depth < epochs_.size() &&
        m.epoch == (m.scratch ? scratch_epoch_ : epochs_[m.depth])) {
      return m;
    }
    const Expr& e = kernel_.expr(id);
    Memo fresh;
    switch (e.op) {
      case ExprOp::constant: fresh.value = constant_of(e); break;
      case ExprOp::size: fresh.value.integer = sizes_[e.index]; break;
      case ExprOp::loop_var:
        fresh.value.integer = loop_values_[static_cast<std::size_t>(e.index)];
        fresh.depth = loop_depths_[static_cast<std::size_t>(e.index)];
        break;
      case ExprOp::load: load(e, fresh); break;
      case ExprOp::accumulator:
      case ExprOp::accumulator_index: {
        const Accumulator& a = accumulators_[static_cast<std::size_t>(e.index)];
        fresh.value = e.op == ExprOp::accumulator ? a.value : Scalar{.integer = a.index};
        fresh.depth = a.depth;
        break;
      }
      default: apply(e, fresh); break;
    }
    fresh.epoch = fresh.scratch ? scratch_epoch_ : epochs_[fresh.depth];
    return m = fresh;
  }

  void depend(Memo& fresh, const Memo& argument) {
    fresh.depth = std::max(fresh.depth, argument.depth);
    fresh.scratch = fresh.scratch || argument.scratch;
  }

  void load(const Expr& e, Memo& fresh) {
    const kernel_ir::Buffer& buffer = kernel_.buffers[static_cast<std::size_t>(e.index)];
    const Memo index = memo(e.args[0]);
    depend(fresh, index);
    bool read = true;
    if (e.args[1] != kernel_ir::kNoExpr) {
      const Memo guard = memo(e.args[1]);
      depend(fresh, guard);
      read = guard.value.integer != 0;
    }
    if (read) {
      const std::int64_t bytes =
          index.value.integer * static_cast<std::int64_t>(size_of(buffer.type));
      fresh.value = read_element(e.type, static_cast<const char*>(buffers_[e.index]) + bytes);
    }
    if (buffer.role == kernel_ir::BufferRole::scratch) fresh.scratch = true;
  }

  void apply(const Expr& e, Memo& fresh) {
    Scalar args[3];
    for (int i = 0; i < argument_count(e.op); ++i) {
      const Memo& argument = memo(e.args[i]);
      args[i] = argument.value;
      depend(fresh, argument);
    }
    const DType type = kernel_.expr(e.args[e.op == ExprOp::select ? 1 : 0]).type;
    fresh.value = evaluate(e.op, e.type, type, args);
  }

  const Kernel& kernel_;
  void* const* buffers_;
  const std::int64_t* sizes_;
  std::vector<std::int64_t> loop_values_;
  std::vector<std::size_t> loop_depths_;
  std::vector<Accumulator> accumulators_;
  std::vector<Memo> memo_;
  std::vector<std::uint64_t>
      epochs_;  // of the running iteration of each loop around; [0]: the call
  std::uint64_t scratch_epoch_ = 0;
  std::uint64_t clock_ = 0;
  std::int32_t vector_var_ = -1;
};

class InterpretedKernel : public CompiledKernel {
 public:
  explicit InterpretedKernel(Kernel kernel) : kernel_(std::move(kernel)) {}
  void run(void* const* buffers, const std::int64_t* sizes, std::int64_t begin,
           std::int64_t end) const override {
    Run(kernel_, buffers, sizes).root(begin, end);
  }

 private:
  Kernel kernel_;
};

class Interpreter : public Codegen {
 public:
  explicit Interpreter(Target target) : target_(std::move(target)) {}

  std::vector<std::shared_ptr<CompiledKernel>> compile(
      const std::vector<const Kernel*>& kernels) override {
    std::vector<std::shared_ptr<CompiledKernel>> result;
    for (const Kernel* kernel : kernels) {
      verify(*kernel);
      Kernel copy = *kernel;
      expand_math(copy);
      result.push_back(std::make_shared<InterpretedKernel>(std::move(copy)));
    }
    statistics_.compiled += static_cast<int>(kernels.size());
    return result;
  }
  const Target& target() const override { return target_; }
  CodegenStatistics statistics() const override { return statistics_; }

 private:
  Target target_;
  CodegenStatistics statistics_;
};

}  // namespace

std::unique_ptr<Codegen> make_interpreter(Target target) {
  return std::make_unique<Interpreter>(std::move(target));
}

}  // namespace trireme::codegen
