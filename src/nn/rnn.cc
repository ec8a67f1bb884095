#include "trireme/rnn.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "ir/blocks.h"
#include "ir/step.h"
#include "nn/layer.h"
#include "nn/sequences.h"
#include "trireme/ops.h"

namespace trireme::nn {

// The step's block while it is built, and what its arguments stand for.
struct Step::State {
  State(const RnnOptions& options_, const SourceLocation& where_)
      : options(options_), where(where_) {}

  struct Argument {
    ir::Value* inside;
    ir::Value* outside;
  };
  struct Memory {
    Argument argument;
    ir::Value* next = nullptr;
  };

  // Makes the block, when the sequences to run along are known.
  void begin(const Value& x, const char* what);
  Value enter(std::vector<Argument>& to, const Value& x, const ir::Type& type);
  Value enter_rows(std::vector<Argument>& to, const Value& x, const Dim& outer, const char* what);
  const Dim* inside_of(const Dim& outer, bool by_row) const;

  const RnnOptions& options;
  SourceLocation where;
  ir::Program* program = nullptr;
  ir::Block* outside = nullptr;
  std::unique_ptr<ir::Block> block;
  std::optional<ir::InsertionGuard> guard;
  ir::Value* splits = nullptr;
  Dim active, rows, batch;
  std::vector<std::pair<Dim, Dim>> inner_rows, inner_others;  // outside, inside
  std::vector<Memory> memories;
  std::vector<Argument> sequences, others;
  std::vector<ir::Value*> outputs;
};

void Step::State::begin(const Value& x, const char* what) {
  if (program != nullptr) return;
  program = x.get()->program;
  outside = program->insertion_block;
  splits = splits_of(what, x).get();
  rows = x.dim(0);
  batch = splits->type.shape[0] - Dim(1);
  active = Dim(std::string_view(program->unique_symbol("active")));
  block = program->make_block(*outside);
  guard.emplace(*program, *block);
}

Value Step::State::enter(std::vector<Argument>& to, const Value& x, const ir::Type& type) {
  const ir::Value& value = *x.get();
  const std::string stem = value.kind == ir::ValueKind::result ? "x" : value.name;
  ir::Value* inside = program->add_argument(*block, program->unique_argument(stem), type);
  to.push_back({inside, x.get()});
  return Value(inside);
}

const Dim* Step::State::inside_of(const Dim& outer, bool by_row) const {
  if (outer == (by_row ? rows : batch)) return &active;
  for (const auto& [out, in] : by_row ? inner_rows : inner_others) {
    if (out == outer) return &in;
  }
  return nullptr;
}

// x, whose rows are `outer` or the rows of sequences of it, or of sequences of these.
Value Step::State::enter_rows(std::vector<Argument>& to, const Value& x, const Dim& outer,
                              const char* what) {
  const bool by_row = &to == &sequences;
  for (const Argument& known : to) {
    if (known.outside == x.get()) return Value(known.inside);
  }
  const Dim* inside = x.rank() > 0 ? inside_of(x.dim(0), by_row) : nullptr;
  if (inside == nullptr) {
    const Value splits_value(x.rank() > 0 ? ir::find_splits(*outside, x.dim(0)) : nullptr);
    if (!splits_value) {
      fail_layer(
          what,
          "its rows are not those of the sequences that the step runs along, nor of sequences "
          "of them",
          by_row ? "the step runs along " + rows.str() + ", split by " + Value(splits).str() +
                       "; a value for each sequence is a static_input()"
                 : "a static input has a row, or a sequence, for each of the " + batch.str() +
                       " sequences; a value for each step is an input()",
          x);
    }
    const Dim level = splits_value.dim(0) - 1;
    if (level == x.dim(0)) fail_internal("rows that are split by themselves");
    if (inside_of(level, by_row) == nullptr && ir::find_splits(*outside, level) == nullptr) {
      fail_layer(what,
                 "it is split into " + level.str() + " sequences, and the step runs along " +
                     (by_row ? rows : batch).str(),
                 "take a value with a row or a sequence for each of these", x);
    }
    // The splits first, at whose turn the level above is entered.
    ir::Value* outer_splits = splits_value.get();
    if (inside_of(level, by_row) == nullptr) {
      enter_rows(to, Value(ir::find_splits(*outside, level)), outer, what);
    }
    const Dim parent = *inside_of(level, by_row);
    const Dim made(std::string_view(program->unique_symbol(x.dim(0).symbol().value_or("rows"))));
    (by_row ? inner_rows : inner_others).emplace_back(x.dim(0), made);
    enter(to, Value(outer_splits), {DType::i64, {parent + 1}, made.str()});
    inside = inside_of(x.dim(0), by_row);
  }
  ir::Type type = x.get()->type;
  type.shape[0] = *inside;
  type.splits_of.clear();
  return enter(to, x, type);
}

Step::Step() = default;
Step::~Step() = default;

Value Step::input(const Value& x, SourceLocation where) {
  const At at(x, "Step::input", where);
  state_->begin(state_->options.over ? state_->options.over : x, "Step::input");
  return state_->enter_rows(state_->sequences, x, state_->rows, "Step::input");
}

Value Step::static_input(const Value& x, SourceLocation where) {
  const At at(x, "Step::static_input", where);
  if (state_->program == nullptr) {
    fail_layer("Step::static_input", "what the step runs along is not known yet",
               "call input() first, or give RnnOptions::over", x);
  }
  return state_->enter_rows(state_->others, x, state_->batch, "Step::static_input");
}

Value Step::memory(const MemoryOptions& options, SourceLocation where) {
  State& s = *state_;
  if (s.program == nullptr) {
    fail_usage(
        "Step::memory: what the step runs along is not known yet\n  hint   call input() first, "
        "or give RnnOptions::over");
  }
  const At at(Value(s.splits), "Step::memory", where);
  Value init = options.init;
  if (!init) {
    Shape shape = options.row;
    if (options.width > 0) shape.push_back(options.width);
    shape.insert(shape.begin(), s.batch);
    init =
        Value(s.program
                  ->append(*s.outside, "constant", {},
                           {{"dtype", options.dtype}, {"shape", shape}, {"value", options.value}},
                           s.program->locate(where))
                  ->result());
  }
  if (init.rank() == 0 || init.dim(0) != s.batch) {
    fail_layer("Step::memory",
               "it begins with no row for each of the " + s.batch.str() + " sequences",
               "init is [n, ...]", init);
  }
  ir::Type type = init.get()->type;
  type.shape[0] = s.active;
  ir::Value* inside = s.program->add_argument(*s.block, s.program->unique_argument("memory"), type);
  s.memories.push_back({{inside, init.get()}});
  return Value(inside);
}

void Step::update(const Value& memory, const Value& next, SourceLocation where) {
  const At at(memory, "Step::update", where);
  const auto found = std::find_if(state_->memories.begin(), state_->memories.end(),
                                  [&](const auto& m) { return m.argument.inside == memory.get(); });
  if (found == state_->memories.end()) {
    fail_layer("Step::update", "this is no memory of the step", "memories are made by memory()",
               memory);
  }
  if (found->next != nullptr) fail_layer("Step::update", "the memory is updated twice", "", memory);
  if (!next || next.get()->type != memory.get()->type) {
    fail_layer("Step::update",
               "the memory changes its shape: " + memory.str() + " becomes " +
                   (next ? next.str() : "an empty Value"),
               "what a memory is updated with has the memory's own dtype and shape", memory);
  }
  found->next = next.get();
}

void Step::output(const Value& value, SourceLocation where) {
  const At at(value, "Step::output", where);
  State& s = *state_;
  bool has_rows = s.program != nullptr && value.rank() > 0 && value.dim(0) == s.active;
  for (const auto& [out, in] : s.inner_rows) has_rows = has_rows || value.dim(0) == in;
  if (!has_rows) {
    fail_layer("Step::output", "it has no row for each sequence",
               "an output is computed from inputs or memories: [active, ...]", value);
  }
  s.outputs.push_back(value.get());
}

struct RnnBuilder {
  Step step;

  RnnBuilder(const RnnOptions& options, const SourceLocation& where) {
    step.state_ = std::make_unique<Step::State>(options, where);
    if (options.over) step.state_->begin(options.over, "rnn");
  }

  RnnResult finish() {
    Step::State& s = *step.state_;
    if (s.program == nullptr) fail_usage("rnn: the step takes no input");
    s.guard.reset();
    const ir::Location location = s.program->locate(s.where);
    std::vector<ir::Value*> operands{s.splits};
    std::vector<std::unique_ptr<ir::Value>> ordered;
    std::vector<const ir::Value*> memories;
    const auto take = [&](const Step::State::Argument& argument) {
      auto& owned = s.block->arguments;
      const auto found = std::find_if(owned.begin(), owned.end(), [&](const auto& value) {
        return value.get() == argument.inside;
      });
      (*found)->index = static_cast<int>(ordered.size());
      ordered.push_back(std::move(*found));
      owned.erase(found);
      operands.push_back(argument.outside);
    };
    for (const auto& memory : s.memories) {
      if (memory.next == nullptr) {
        fail_layer("rnn", "a memory is never updated", "call Step::update() once for each memory",
                   Value(memory.argument.inside));
      }
      take(memory.argument);
      memories.push_back(memory.argument.inside);
      s.block->results.push_back(memory.next);
    }
    for (const auto& argument : s.sequences) take(argument);
    for (const auto& argument : s.others) take(argument);
    s.block->arguments = std::move(ordered);
    s.block->results.insert(s.block->results.end(), s.outputs.begin(), s.outputs.end());
    std::vector<Dim> counting{s.active};
    for (const auto* inner : {&s.inner_rows, &s.inner_others}) {
      for (const auto& [out, in] : *inner) counting.push_back(in);
    }
    ir::require_rows_apart(*s.block, counting);
    ir::normalise_step(*s.block, memories);
    const std::vector<ir::Value*> captured = ir::close(*s.block);
    operands.insert(operands.end(), captured.begin(), captured.end());
    std::vector<std::unique_ptr<ir::Block>> blocks;
    blocks.push_back(std::move(s.block));
    const ir::Op* op =
        s.program->append(*s.outside, "rnn", std::move(operands),
                          {{"active", Shape{s.active}},
                           {"memories", static_cast<std::int64_t>(s.memories.size())},
                           {"reverse", s.options.reverse},
                           {"sequences", static_cast<std::int64_t>(s.sequences.size())}},
                          location, std::move(blocks));
    RnnResult result;
    for (std::size_t i = 0; i < op->results.size(); ++i) {
      (i < s.memories.size() ? result.memories : result.outputs).emplace_back(op->results[i].get());
    }
    return result;
  }
};

RnnResult run_rnn(const std::function<void(Step&)>& step, const RnnOptions& options,
                  SourceLocation where) {
  RnnBuilder builder(options, where);
  step(builder.step);
  return builder.finish();
}

void require_outputs(const RnnResult& result, std::size_t count, const SourceLocation& where) {
  if (result.outputs.size() == count) return;
  std::string file = where.file_name();
  file.erase(0, file.find_last_of('/') + 1);
  fail_usage("rnn: the step has " + std::to_string(result.outputs.size()) + " outputs, and " +
             std::to_string(count) + " are taken\n  made   at " + file + ":" +
             std::to_string(where.line()) + "\n  hint   auto [a, b] = nn::rnn<2>(...)");
}

}  // namespace trireme::nn
