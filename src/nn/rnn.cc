#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "ir/blocks.h"
#include "ir/step.h"
#include "nn/layer.h"
#include "nn/sequences.h"
#include "nn/step.h"
#include "trireme/ops.h"

namespace trireme::nn {
namespace {

// Builds the block of a step. Each argument of the block has a value outside.
class RnnBuilder : public StepBuilder {
 public:
  RnnBuilder(const RnnOptions& options, const SourceLocation& where)
      : options_(options), where_(where) {
    if (options.over) begin(options.over, "rnn");
  }

  Value input(const Value& x) override {
    begin(options_.over ? options_.over : x, "Step::input");
    return add_rows(sequences_, x, "Step::input");
  }
  Value static_input(const Value& x) override;
  Value state(const StateOptions& options, const SourceLocation& where) override;
  void update(const Value& state, const Value& next) override {
    update_state(states_, state, next);
  }
  void output(const Value& value) override;
  void attention(const Value&) override {}
  RnnResult finish();

 private:
  struct Argument {
    ir::Value* inside;
    ir::Value* outside;
  };

  // Creates the block once the sequences to run along are known.
  void begin(const Value& x, const char* what);
  Value add_block_argument(std::vector<Argument>& to, const Value& x, const ir::Type& type);
  Value add_rows(std::vector<Argument>& to, const Value& x, const char* what);
  Dim add_level(std::vector<Argument>& to, const Dim& rows, const Value& x, const char* what);
  std::optional<Dim> inside_of(const Dim& outer, bool by_row) const;

  const RnnOptions& options_;
  SourceLocation where_;
  ir::Program* program_ = nullptr;
  ir::Block* outside_ = nullptr;
  std::unique_ptr<ir::Block> block_;
  std::optional<ir::Builder::BlockGuard> guard_;
  ir::Value* splits_ = nullptr;
  Dim active_, rows_, batch_;
  std::vector<std::pair<Dim, Dim>> inner_rows_, inner_others_;  // outside, inside
  std::vector<StepState> states_;
  std::vector<Argument> sequences_, others_;
  std::vector<ir::Value*> outputs_;
};

void RnnBuilder::begin(const Value& x, const char* what) {
  if (program_ != nullptr) return;
  program_ = x.get()->program;
  outside_ = &program_->builder().block();
  splits_ = splits_of(what, x).get();
  rows_ = x.dim(0);
  batch_ = splits_->type.shape[0] - Dim(1);
  active_ = Dim(std::string_view(program_->builder().unique_symbol("active")));
  block_ = program_->make_block(*outside_);
  guard_.emplace(program_->builder(), *block_);
}

Value RnnBuilder::add_block_argument(std::vector<Argument>& to, const Value& x,
                                     const ir::Type& type) {
  const ir::Value& value = *x.get();
  const std::string stem = value.kind == ir::ValueKind::result ? "x" : value.name;
  ir::Value* inside = program_->add_argument(*block_, program_->unique_argument(stem), type);
  to.push_back({inside, x.get()});
  return Value(inside);
}

std::optional<Dim> RnnBuilder::inside_of(const Dim& outer, bool by_row) const {
  if (outer == (by_row ? rows_ : batch_)) return active_;
  for (const auto& [out, in] : by_row ? inner_rows_ : inner_others_) {
    if (out == outer) return in;
  }
  return std::nullopt;
}

// Returns the dimension in the step that corresponds to `rows`: rows that the step runs along, rows
// of sequences of these, and so on. Adds their splits as arguments, the outermost first. `x` is the
// value with these rows, for messages.
Dim RnnBuilder::add_level(std::vector<Argument>& to, const Dim& rows, const Value& x,
                          const char* what) {
  const bool by_row = &to == &sequences_;
  if (const auto inside = inside_of(rows, by_row)) return *inside;
  ir::Value* splits = ir::find_splits(*outside_, rows);
  if (splits == nullptr) {
    const Dim& along = by_row ? rows_ : batch_;
    if (rows != x.dim(0)) {
      fail_layer(
          what,
          "it is split into " + rows.str() + " sequences, but the step runs along " + along.str(),
          "use a value with a row or a sequence for each of these", x);
    }
    fail_layer(what,
               "its rows are not rows of the sequences that the step runs along, nor of sequences "
               "of them",
               by_row ? "the step runs along " + rows_.str() + ", split by " +
                            Value(splits_).str() + "; a value for each sequence is a static_input()"
                      : "a static input has a row, or a sequence, for each of the " + batch_.str() +
                            " sequences; a value for each step is an input()",
               x);
  }
  const Dim parent = add_level(to, splits->type.shape[0] - Dim(1), x, what);
  const Dim inside_rows(
      std::string_view(program_->builder().unique_symbol(rows.symbol().value_or("rows"))));
  (by_row ? inner_rows_ : inner_others_).emplace_back(rows, inside_rows);
  add_block_argument(to, Value(splits), {DType::i64, {parent + 1}, inside_rows.str()});
  return inside_rows;
}

Value RnnBuilder::add_rows(std::vector<Argument>& to, const Value& x, const char* what) {
  for (const Argument& argument : to) {
    if (argument.outside == x.get()) return Value(argument.inside);
  }
  ir::Type type = x.get()->type;
  if (x.rank() == 0) fail_layer(what, "the value has no rows", "use a value [rows, ...]", x);
  type.shape[0] = add_level(to, x.dim(0), x, what);
  type.splits_of.clear();
  return add_block_argument(to, x, type);
}

Value RnnBuilder::static_input(const Value& x) {
  if (program_ == nullptr) {
    fail_layer("Step::static_input", "the sequences that the step runs along are not known yet",
               "call input() first, or set RnnOptions::over", x);
  }
  return add_rows(others_, x, "Step::static_input");
}

Value RnnBuilder::state(const StateOptions& options, const SourceLocation& where) {
  if (program_ == nullptr) {
    fail_usage(
        "Step::state: the sequences that the step runs along are not known yet\n  hint   call "
        "input() first, or set RnnOptions::over");
  }
  const LocationScope at(Value(splits_), "Step::state", where);
  const Value init = initial_state(options, batch_, *outside_, where);
  ir::Type type = init.get()->type;
  type.shape[0] = active_;
  ir::Value* inside = program_->add_argument(*block_, program_->unique_argument("memory"), type);
  states_.push_back({inside, init.get()});
  return Value(inside);
}

void RnnBuilder::output(const Value& value) {
  bool has_rows = program_ != nullptr && value.rank() > 0 && value.dim(0) == active_;
  for (const auto& [out, in] : inner_rows_) has_rows = has_rows || value.dim(0) == in;
  if (!has_rows) {
    fail_layer("Step::output", "the value does not have a row for each sequence",
               "an output must be computed from inputs or states: [active, ...]", value);
  }
  outputs_.push_back(value.get());
}

RnnResult RnnBuilder::finish() {
  if (program_ == nullptr) fail_usage("rnn: the step has no input");
  guard_.reset();
  const ir::Location location = program_->builder().locate(where_);
  std::vector<ir::Value*> operands{splits_};
  std::vector<std::unique_ptr<ir::Value>> ordered;
  std::vector<const ir::Value*> states;
  const auto take = [&](const Argument& argument) {
    auto& owned = block_->arguments;
    const auto found = std::find_if(owned.begin(), owned.end(), [&](const auto& value) {
      return value.get() == argument.inside;
    });
    (*found)->index = static_cast<int>(ordered.size());
    ordered.push_back(std::move(*found));
    owned.erase(found);
    operands.push_back(argument.outside);
  };
  require_updated("rnn", states_);
  for (const StepState& state : states_) {
    take({state.inside, state.outside});
    states.push_back(state.inside);
    block_->results.push_back(state.next);
  }
  for (const Argument& argument : sequences_) take(argument);
  for (const Argument& argument : others_) take(argument);
  block_->arguments = std::move(ordered);
  block_->results.insert(block_->results.end(), outputs_.begin(), outputs_.end());
  std::vector<Dim> counting{active_};
  for (const auto* inner : {&inner_rows_, &inner_others_}) {
    for (const auto& [out, in] : *inner) counting.push_back(in);
  }
  ir::require_rows_apart(*block_, counting);
  ir::normalize_step(*block_, states);
  const std::vector<ir::Value*> captured = ir::close(*block_);
  operands.insert(operands.end(), captured.begin(), captured.end());
  std::vector<std::unique_ptr<ir::Block>> blocks;
  blocks.push_back(std::move(block_));
  const ir::Op* op = program_->append(*outside_, "rnn", std::move(operands),
                                      {{"active", Shape{active_}},
                                       {"states", static_cast<std::int64_t>(states_.size())},
                                       {"reverse", options_.reverse},
                                       {"sequences", static_cast<std::int64_t>(sequences_.size())}},
                                      location, std::move(blocks));
  RnnResult result;
  for (std::size_t i = 0; i < op->results.size(); ++i) {
    (i < states_.size() ? result.states : result.outputs).emplace_back(op->results[i].get());
  }
  result.memories = DeprecatedStates(result.states);
  return result;
}

}  // namespace

RnnResult run_rnn(const std::function<void(Step&)>& step, const RnnOptions& options,
                  SourceLocation where) {
  RnnBuilder builder(options, where);
  Step user_step(builder);
  step(user_step);
  return builder.finish();
}

void require_outputs(const RnnResult& result, std::size_t count, const SourceLocation& where) {
  if (result.outputs.size() == count) return;
  std::string file = where.file_name();
  file.erase(0, file.find_last_of('/') + 1);
  fail_usage("rnn: the step has " + std::to_string(result.outputs.size()) + " outputs, but " +
             std::to_string(count) + " are requested\n  made   at " + file + ":" +
             std::to_string(where.line()) + "\n  hint   auto [a, b] = nn::rnn<2>(...)");
}

}  // namespace trireme::nn
