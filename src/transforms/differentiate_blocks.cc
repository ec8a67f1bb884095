// Names these ops: add, cond, reshape, row_splits, scan, slice

#include "transforms/differentiate_blocks.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "ir/blocks.h"
#include "ir/builder.h"
#include "ir/recurrence.h"
#include "transforms/autodiff.h"

namespace trireme::transforms {
namespace {

using BlockValues = std::vector<ir::Value*>;

bool is_costly(const ir::Op& op) {
  using ir::Trait;
  return op.has(Trait::library) || op.has(Trait::contraction) || op.has(Trait::random) ||
         !op.blocks.empty();
}

// The gradient of a scan or an rnn: the same kind of loop in the other direction.
//
// Its carried values are the gradients of the loop's carried values, and sums of the gradients of
// values that each step reads unchanged. Its values per step are saved values of the loop's steps
// and the gradients of the loop's outputs. Its outputs are the gradients of the values that the
// loop reads per step.
class LoopGradient {
 public:
  LoopGradient(ir::GradientContext& context, ir::Op& loop)
      : context_(context),
        loop_(loop),
        body_(*loop.blocks[0]),
        program_(*loop.parent->program),
        outer_block_(program_.builder().block()),
        is_rnn_(loop.def->control == ir::ControlFlow::rnn) {
    first_ = is_rnn_ ? 1 : 0;
    carried_ = count(is_rnn_ ? "states" : "carried");
    sequences_ = count("sequences");
    if (is_rnn_) dims_ = ir::Recurrence(loop).dims;
  }

  void run() {
    block_ = program_.make_block(outer_block_);
    copy_step();
    differentiate_step();
    drop_unused();
    append();
  }

 private:
  // An argument of the new loop's block, and its operand.
  struct Entry {
    ir::Value* argument;
    ir::Value* operand_value;
    const ir::Value* saved = nullptr;  // a value of the loop's step that must become an output
  };

  std::size_t count(const char* name) const {
    return static_cast<std::size_t>(get_attribute<std::int64_t>(loop_.attributes, name));
  }
  std::size_t others_begin() const { return carried_ + sequences_; }
  ir::Value* operand(std::size_t argument) const { return loop_.operands[first_ + argument]; }
  bool needs_gradient(std::size_t argument) const {
    return context_.needs_gradient(static_cast<int>(first_ + argument));
  }

  // Whether a carried value of an rnn is a sum over its steps, of the gradient of a value that each
  // step reads unchanged. Only these have no rows, and the steps do not read them. So the gradient
  // of the sum is the gradient of each summand.
  bool is_sum(std::size_t i) const {
    return is_rnn_ && i < carried_ && !can_be_saved(*body_.arguments[i]);
  }

  ir::Value* add_argument(const std::string& stem, const ir::Type& type) {
    return program_.add_argument(*block_, program_.unique_argument(stem), type);
  }

  // Whether the value of each step can be an output of the loop.
  bool can_be_saved(const ir::Value& value) const {
    if (!is_rnn_) return true;
    const ir::Type& type = value.type;
    return type.rank() > 0 && type.splits_of.empty() && dims_.is_inside(type.shape[0]) &&
           dims_.outside(type.shape[0], true) != type.shape[0];
  }

  using Users = std::unordered_map<const ir::Value*, std::vector<const ir::Op*>>;

  // Returns the ops that read each value; null stands for a result of the step.
  Users users_in_step() const {
    Users users;
    for (const auto& op : body_.ops) {
      for (const ir::Value* operand : op->operands) users[operand].push_back(op.get());
    }
    for (const ir::Value* result : body_.results) users[result].push_back(nullptr);
    return users;
  }

  // Values that are expensive to recompute or, if that needs no more memory, values computed from
  // them.
  std::unordered_set<const ir::Value*> values_to_save() const {
    const Users users = users_in_step();
    std::unordered_set<const ir::Value*> kept;
    for (const auto& op : body_.ops) {
      const bool save =
          is_costly(*op) && std::all_of(op->results.begin(), op->results.end(),
                                        [&](const auto& result) { return can_be_saved(*result); });
      if (!save) continue;
      for (const auto& result : op->results) save_last_in_chain(result.get(), users, kept);
    }
    return kept;
  }

  // Follows a value to the last value computed only from it that can be saved instead. If the value
  // is read only in parts, follows each part.
  void save_last_in_chain(const ir::Value* value, const Users& users,
                          std::unordered_set<const ir::Value*>& kept) const {
    const auto found = users.find(value);
    if (found == users.end()) return;
    const std::vector<const ir::Op*>& readers = found->second;
    const ir::Op* only = readers.size() == 1 ? readers[0] : nullptr;
    if (only != nullptr && only->def->gradient_ignores_operands &&
        only->result()->type == value->type) {
      return save_last_in_chain(only->result(), users, kept);
    }
    if (!is_read_in_parts(value, readers)) {
      kept.insert(value);
      return;
    }
    for (const ir::Op* slice : readers) save_last_in_chain(slice->result(), users, kept);
  }

  // Whether the value is read only as slices that need no more memory and have all its rows.
  bool is_read_in_parts(const ir::Value* value, const std::vector<const ir::Op*>& readers) const {
    Dim elements = 0;
    for (const ir::Op* op : readers) {
      if (op == nullptr || op->name() != "slice") return false;
      const ir::Value* part = op->result();
      if (!can_be_saved(*part) || part->type.shape[0] != value->type.shape[0]) return false;
      elements = elements + product(part->type.shape);
    }
    const Dim spare = product(value->type.shape) - elements;
    return spare == Dim(0) || (spare.terms().size() == 1 && spare.terms().begin()->second > 0);
  }

  // Copies the loop's step as the first part of the new step.
  void copy_step() {
    ir::Copier copier(*block_);
    copied_.resize(body_.arguments.size());
    for (std::size_t i = 0; i < body_.arguments.size(); ++i) {
      const ir::Value& argument = *body_.arguments[i];
      ir::Value* copy = add_argument(argument.name, argument.type);
      copied_[i] = copy;
      copier.set(&argument, copy);
      if (is_sum(i)) {
        others_.push_back({copy, operand(i)});
      } else if (i < carried_) {
        by_step_.push_back({copy, nullptr, &argument});
      } else {
        (i < others_begin() ? by_step_ : others_).push_back({copy, operand(i)});
      }
    }
    const std::unordered_set<const ir::Value*> kept = values_to_save();
    for (const auto& op : body_.ops) {
      // Copies the op so that it is differentiated, but replaces its results by the saved values.
      const ir::Op* copy = copier.copy(*op);
      for (std::size_t i = 0; i < op->results.size(); ++i) {
        const ir::Value& result = *op->results[i];
        if (!kept.contains(&result)) continue;
        ir::Value* saved = add_argument(op->name(), result.type);
        by_step_.push_back({saved, nullptr, &result});
        saved_[copy->results[i].get()] = saved;
      }
    }
    for (ir::Value* result : body_.results) results_.push_back(copier.of(result));
  }

  void differentiate_step() {
    const ir::Builder::BlockGuard guard(program_.builder(), *block_);
    std::vector<std::pair<ir::Value*, ir::Value*>> known;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (!is_arithmetic_float(results_[i]->type.dtype)) continue;
      if (i < carried_) {
        ir::Value* argument = add_argument("d_" + body_.arguments[i]->name, results_[i]->type);
        if (is_sum(i)) {
          others_.push_back({argument, gradient_of_result(i)});
        } else {
          carried_entries_.push_back({argument, gradient_of_result(i)});
          carried_of_.push_back(i);
        }
        known.emplace_back(results_[i], argument);
      } else if (context_.has_gradient(static_cast<int>(i))) {
        ir::Value* argument = add_argument("d_output", results_[i]->type);
        by_step_.push_back({argument, context_.gradient(static_cast<int>(i)).get()});
        known.emplace_back(results_[i], argument);
      }
    }
    BlockValues wanted;
    std::vector<std::size_t> wanted_at;
    for (std::size_t i = 0; i < copied_.size(); ++i) {
      if (!is_arithmetic_float(copied_[i]->type.dtype) || (i >= carried_ && !needs_gradient(i)) ||
          is_sum(i)) {
        continue;
      }
      wanted.push_back(copied_[i]);
      wanted_at.push_back(i);
    }
    const BlockValues gradients = gradients_in(*block_, known, wanted);
    ir::replace_uses(*block_, saved_);
    for (std::size_t k = 0; k < wanted.size(); ++k) store_gradient(wanted_at[k], gradients[k]);
  }

  ir::Value* gradient_of_result(std::size_t result) {
    const auto i = static_cast<int>(result);
    if (context_.has_gradient(i)) return context_.gradient(i).get();
    const ir::Builder::BlockGuard guard(program_.builder(), outer_block_);
    return program_.builder().constant(operand(result)->type, 0);
  }

  // Stores the gradient of argument i of the step as the role of the argument requires.
  void store_gradient(std::size_t i, ir::Value* gradient) {
    if (gradient != nullptr) {
      const auto saved = saved_.find(gradient);
      if (saved != saved_.end()) gradient = saved->second;
    }
    if (i < carried_) {
      if (gradient == nullptr) gradient = program_.builder().constant(copied_[i]->type, 0);
      next_.push_back(gradient);
    } else if (gradient == nullptr) {
      return;
    } else if (i < others_begin()) {
      outputs_.emplace_back(i, gradient);
    } else {
      sums_.emplace_back(i, gradient);
    }
  }

  void drop_unused() {
    BlockValues needed = next_;
    for (const auto& [i, value] : outputs_) needed.push_back(value);
    for (const auto& [i, value] : sums_) needed.push_back(value);
    block_->results = needed;
    ir::prune(*block_);
    std::unordered_set<const ir::Value*> used(needed.begin(), needed.end());
    for (const auto& op : block_->ops) used.insert(op->operands.begin(), op->operands.end());
    // Splits are used if a used value has a dimension that they define.
    std::unordered_set<std::string> symbols;
    for (const ir::Value* value : used) {
      for (const Dim& dim : value->type.shape) {
        for (const std::string& symbol : dim.symbols()) symbols.insert(symbol);
      }
    }
    const auto is_unused = [&](const Entry& entry) {
      return !used.contains(entry.argument) && !symbols.contains(entry.argument->type.splits_of);
    };
    std::erase_if(by_step_, is_unused);
    std::erase_if(others_, is_unused);
  }

  // Returns the values of all steps as a result of the loop.
  ir::Value* output_of_loop(const ir::Value* value) {
    for (std::size_t i = carried_; i < body_.results.size(); ++i) {
      if (body_.results[i] == value) return loop_.results[i].get();
    }
    body_.results.push_back(const_cast<ir::Value*>(value));
    ir::Type type = value->type;
    if (is_rnn_) {
      type.shape[0] = dims_.outside(type.shape[0], true);
    } else {
      type.shape.insert(type.shape.begin(), get_attribute<Shape>(loop_.attributes, "length")[0]);
    }
    return program_.add_result(loop_, type);
  }

  void append() {
    std::vector<Entry> all = std::move(carried_entries_);
    std::vector<std::unique_ptr<ir::Value>>& arguments = block_->arguments;
    block_->results = std::move(next_);
    add_sums(all);
    const std::size_t carried = all.size();
    all.insert(all.end(), by_step_.begin(), by_step_.end());
    all.insert(all.end(), others_.begin(), others_.end());
    for (const auto& [i, gradient] : outputs_) block_->results.push_back(gradient);

    std::vector<std::unique_ptr<ir::Value>> ordered;
    BlockValues operands;
    if (is_rnn_) operands.push_back(loop_.operands[0]);
    for (const Entry& entry : all) {
      const auto found = std::find_if(arguments.begin(), arguments.end(), [&](const auto& owned) {
        return owned.get() == entry.argument;
      });
      (*found)->index = static_cast<int>(ordered.size());
      ordered.push_back(std::move(*found));
      arguments.erase(found);
      operands.push_back(entry.saved != nullptr ? output_of_loop(entry.saved)
                                                : entry.operand_value);
    }
    std::vector<std::unique_ptr<ir::Value>> unused = std::exchange(arguments, std::move(ordered));

    Attributes attributes = loop_.attributes;
    set_attribute(attributes, is_rnn_ ? "states" : "carried", static_cast<std::int64_t>(carried));
    set_attribute(attributes, "sequences", static_cast<std::int64_t>(by_step_.size()));
    set_attribute(attributes, "reverse", !get_attribute<bool>(attributes, "reverse"));
    std::vector<std::unique_ptr<ir::Block>> blocks;
    blocks.push_back(std::move(block_));
    const ir::Op* gradient_op =
        program_.append(outer_block_, loop_.name(), std::move(operands), std::move(attributes),
                        loop_.location, std::move(blocks));
    pass_gradients(*gradient_op, carried);
  }

  // Adds carried values that sum the gradients of values that each step reads unchanged.
  void add_sums(std::vector<Entry>& all) {
    for (const auto& [i, gradient] : sums_) {
      ir::Value* sum = add_argument("sum_" + body_.arguments[i]->name, gradient->type);
      const ir::Builder::BlockGuard guard(program_.builder(), outer_block_);
      all.push_back({sum, program_.builder().constant(operand(i)->type, 0)});
      block_->results.push_back(
          program_.append(*block_, "add", {sum, gradient}, {}, loop_.location)->result());
    }
  }

  void pass_gradients(const ir::Op& gradient_op, std::size_t carried) {
    const auto accumulate = [&](std::size_t argument, std::size_t result) {
      context_.accumulate(static_cast<int>(first_ + argument),
                          trireme::Value(gradient_op.results[result].get()));
    };
    for (std::size_t i = 0; i < carried_; ++i) {
      if (!is_sum(i) || !context_.has_gradient(static_cast<int>(i))) continue;
      context_.accumulate(static_cast<int>(first_ + i), context_.gradient(static_cast<int>(i)));
    }
    for (std::size_t k = 0; k < carried_of_.size(); ++k) accumulate(carried_of_[k], k);
    for (std::size_t k = 0; k < sums_.size(); ++k)
      accumulate(sums_[k].first, carried_of_.size() + k);
    for (std::size_t k = 0; k < outputs_.size(); ++k) accumulate(outputs_[k].first, carried + k);
  }

  ir::GradientContext& context_;
  ir::Op& loop_;
  ir::Block& body_;
  ir::Program& program_;
  ir::Block& outer_block_;
  bool is_rnn_;
  std::size_t first_ = 0, carried_ = 0, sequences_ = 0;
  ir::StepDims dims_;
  std::unique_ptr<ir::Block> block_;
  BlockValues copied_, results_;  // arguments and results of the step, in the new block
  // Results in the new block and the arguments that hold their saved values.
  std::unordered_map<const ir::Value*, ir::Value*> saved_;
  std::vector<Entry> carried_entries_, by_step_, others_;
  std::vector<std::size_t> carried_of_;  // their numbers among the carried values
  BlockValues next_;                     // and their new values
  std::vector<std::pair<std::size_t, ir::Value*>> outputs_;  // by argument of the step
  std::vector<std::pair<std::size_t, ir::Value*>> sums_;
};

// cond: each block recomputes its results and then the gradients of the values.
void differentiate_cond(ir::GradientContext& context, const ir::Op& op) {
  ir::Program& program = *op.parent->program;
  ir::Block& outside = program.builder().block();
  BlockValues operands = op.operands;
  std::vector<std::size_t> results, wanted;
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    if (!context.has_gradient(static_cast<int>(i))) continue;
    results.push_back(i);
    operands.push_back(context.gradient(static_cast<int>(i)).get());
  }
  for (std::size_t i = 1; i < op.operands.size(); ++i) {
    if (context.needs_gradient(static_cast<int>(i))) wanted.push_back(i);
  }
  std::vector<std::unique_ptr<ir::Block>> blocks;
  for (const auto& body : op.blocks) {
    auto block = program.make_block(outside);
    const auto add = [&](const std::string& stem, const ir::Type& type) {
      return program.add_argument(*block, program.unique_argument(stem), type);
    };
    ir::Copier copier(*block);
    for (const auto& argument : body->arguments) {
      copier.set(argument.get(), add(argument->name, argument->type));
    }
    for (const auto& inner : body->ops) copier.copy(*inner);
    std::vector<std::pair<ir::Value*, ir::Value*>> known;
    for (const std::size_t i : results) {
      ir::Value* result = copier.of(body->results[i]);
      known.emplace_back(result, add("d_result", result->type));
    }
    BlockValues inputs;
    for (const std::size_t i : wanted) inputs.push_back(copier.of(body->arguments[i - 1].get()));
    const ir::Builder::BlockGuard guard(program.builder(), *block);
    block->results = gradients_in(*block, known, inputs);
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      if (block->results[k] == nullptr) {
        block->results[k] = program.builder().constant(inputs[k]->type, 0);
      }
    }
    ir::prune(*block);
    blocks.push_back(std::move(block));
  }
  const ir::Op* gradient_op = program.append(outside, "cond", std::move(operands), op.attributes,
                                             op.location, std::move(blocks));
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    context.accumulate(static_cast<int>(wanted[k]), trireme::Value(gradient_op->results[k].get()));
  }
}

// while_loop: after the loop the number of steps is known, so it becomes a scan, which runs again
// and is differentiated.
ir::Op& as_scan(const ir::Op& op) {
  ir::Program& program = *op.parent->program;
  ir::Block& outside = program.builder().block();
  const auto append = [&](const char* name, BlockValues operands, Attributes attributes) {
    return program.append(outside, name, std::move(operands), std::move(attributes), op.location);
  };
  const Shape rows{Dim(std::string_view(program.builder().unique_symbol("steps")))};
  ir::Value* steps = append("reshape", {op.results.back().get()}, {{"shape", Shape{1}}})->result();
  append("row_splits", {steps}, {{"rows", rows}});
  auto block = program.make_block(outside);
  ir::Copier copier(*block);
  for (const auto& argument : op.blocks[1]->arguments) {
    copier.set(argument.get(), program.add_argument(*block, program.unique_argument(argument->name),
                                                    argument->type));
  }
  for (const auto& inner : op.blocks[1]->ops) copier.copy(*inner);
  for (ir::Value* result : op.blocks[1]->results) block->results.push_back(copier.of(result));
  std::vector<std::unique_ptr<ir::Block>> blocks;
  blocks.push_back(std::move(block));
  return *program.append(
      outside, "scan", op.operands,
      {{"carried", get_attribute<std::int64_t>(op.attributes, "carried")}, {"length", rows}},
      op.location, std::move(blocks));
}

}  // namespace

void differentiate_blocks(ir::GradientContext& context) {
  auto& op = const_cast<ir::Op&>(context.op());  // which gets additional outputs
  using ir::ControlFlow;
  if (op.def->control == ControlFlow::cond) return differentiate_cond(context, op);
  ir::Op& loop = op.def->control == ControlFlow::while_loop ? as_scan(op) : op;
  if (loop.def->control != ControlFlow::scan && loop.def->control != ControlFlow::rnn) {
    fail_internal(op.name() + " has no gradient");
  }
  LoopGradient(context, loop).run();
}

}  // namespace trireme::transforms
