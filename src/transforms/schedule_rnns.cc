// Names these ops: add, matmul, packed_matmul, packed_rnn, transpose

#include "transforms/schedule_rnns.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "ir/blocks.h"
#include "transforms/direct.h"
#include "transforms/rewrite.h"
#include "transforms/step_places.h"
#include "transforms/time_order.h"

namespace trireme::transforms {
namespace {

using StepValues = std::vector<ir::Value*>;
using Map = std::unordered_map<const ir::Value*, ir::Value*>;

// Splits the step of one rnn. Values of the step are built on demand where they are needed: in the
// remaining loop (in_loop), for all rows in the order of time (for_rows), for all sequences,
// longest first (for_sequences), or once (outside). Each is built from the operands of its op,
// which are requested in the same way.
class Scheduler {
 public:
  Scheduler(ir::Builder& b, const ir::Op& op, const std::vector<bool>& is_used)
      : b_(b),
        program_(b.program()),
        op_(op),
        rnn_(op),
        places_(rnn_),
        time_(b, op.operands[0]),
        is_used_(is_used),
        active_(rnn_.dims.active) {
    by_row_[active_.str()] = rnn_.dims.rows;
    for (const auto& [inside, outside] : rnn_.dims.of_sequences) by_row_[inside.str()] = outside;
    by_sequence_[active_.str()] = rnn_.dims.batch;
    for (const auto& [inside, outside] : rnn_.dims.of_others) by_sequence_[inside.str()] = outside;
    for (std::size_t i = 0; i < rnn_.body.arguments.size(); ++i) {
      argument_[rnn_.body.arguments[i].get()] = i;
    }
    find_sums();
    find_hoisted_after();
  }

  StepValues run() {
    block_ = program_.make_block(program_.main());
    find_streams();
    build_loop();
    const ir::Op* loop = append_loop();
    for (std::size_t k = 0; k < streams_.size(); ++k) {
      for_rows_[streams_[k]] = loop ? loop->results[states_.size() + k].get() : nullptr;
    }
    StepValues results;
    for (std::size_t i = 0; i < rnn_.body.results.size(); ++i) {
      results.push_back(is_used_[i] ? result(i, loop) : unused(i));
    }
    return results;
  }

 private:
  struct Sum {
    std::vector<const ir::Op*> terms;
  };
  struct State {
    std::size_t index;  // among the rnn's
    ir::Value* inside;
  };

  const ir::Value* updated(std::size_t state) const { return rnn_.body.results[state]; }
  bool has_rows(const ir::Type& type) const {
    if (type.rank() == 0) return false;
    return rnn_.dims.is_inside(type.splits_of.empty() ? type.shape[0] : type.shape[0] - Dim(1));
  }

  // --- Work that can move after the loop

  // Finds states that only sum products over the rows of a step.
  void find_sums() {
    for (std::size_t i = 0; i < rnn_.states; ++i) {
      const ir::Value* state = rnn_.body.arguments[i].get();
      const ir::Op* add = updated(i)->producer;
      if (add == nullptr || add->name() != "add" || add->operands[0] != state) continue;
      if (places_.users(state).size() != 1 || has_rows(state->type)) continue;
      if (!places_.users(add->result()).empty()) continue;
      Sum sum;
      if (collect_terms(add->operands[1], sum) && gains_after(sum)) {
        for (const ir::Op* term : sum.terms) in_sums_.insert(term);
        in_sums_.insert(add);
        sums_.emplace(i, std::move(sum));
      }
    }
  }

  // One product of all rows is faster than many small ones. Values that are only summed are better
  // added where they are computed, while they are in the cache.
  bool gains_after(const Sum& sum) const {
    return std::any_of(sum.terms.begin(), sum.terms.end(), [&](const ir::Op* term) {
      return places_.is_costly(*term) ||
             std::all_of(term->operands.begin(), term->operands.end(),
                         [&](const ir::Value* v) { return places_.of(v) != Place::step; });
    });
  }

  bool collect_terms(const ir::Value* value, Sum& sum) {
    const ir::Op* op = value->producer;
    if (op == nullptr || places_.users(value).size() != 1) return false;
    if (places_.is_additive(*op)) {
      sum.terms.push_back(op);
      return true;
    }
    if (op->name() != "add") return false;
    if (!collect_terms(op->operands[0], sum) || !collect_terms(op->operands[1], sum)) return false;
    in_sums_.insert(op);
    return true;
  }

  // Finds ops that only outputs and sums depend on, starting at an expensive op.
  void find_hoisted_after() {
    std::unordered_set<const ir::Value*> kept;  // results that the loop needs
    for (std::size_t i = 0; i < rnn_.states; ++i) {
      if (!sums_.contains(i)) kept.insert(updated(i));
    }
    const auto& ops = rnn_.body.ops;
    std::unordered_set<const ir::Op*> can;
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
      bool movable = places_.is_by_row(**op) && places_.can_be_for_rows(**op) &&
                     !(*op)->has(ir::Trait::random);
      for (const auto& result : (*op)->results) {
        movable = movable && !kept.contains(result.get()) && has_rows_by_row(result->type);
        for (const ir::Op* user : places_.users(result.get())) {
          movable = movable && (can.contains(user) || in_sums_.contains(user));
        }
      }
      if (movable) can.insert(op->get());
    }
    for (const auto& op : ops) {
      if (!can.contains(op.get())) continue;
      bool after = places_.is_costly(*op);
      for (const ir::Value* operand : op->operands) {
        after = after || (operand->producer != nullptr && after_.contains(operand->producer));
      }
      if (after) after_.insert(op.get());
    }
  }

  bool has_rows_by_row(const ir::Type& type) const {
    return has_rows(type) && type.splits_of.empty() &&
           rnn_.dims.outside(type.shape[0], true) != type.shape[0];
  }

  // Whether the value can be computed for all rows at once.
  bool is_for_rows(const ir::Value* value) const {
    if (places_.of(value) != Place::step) return true;
    return value->producer != nullptr && after_.contains(value->producer);
  }

  // --- Values that the loop must output

  void find_streams() {
    for (std::size_t i = 0; i < rnn_.body.results.size(); ++i) {
      if (!is_used_[i]) continue;
      if (i >= rnn_.states) {
        need_rows(rnn_.body.results[i]);
      } else if (const auto sum = sums_.find(i); sum != sums_.end()) {
        for (const ir::Op* term : sum->second.terms) {
          for (const ir::Value* operand : term->operands) need_rows(operand);
        }
      }
    }
  }

  void need_rows(const ir::Value* value) {
    if (!seen_.insert(value).second) return;
    if (!is_for_rows(value)) {
      streams_.push_back(value);
    } else if (value->producer != nullptr) {
      for (const ir::Value* operand : value->producer->operands) need_rows(operand);
    }
  }

  // --- The loop

  void build_loop() {
    for (std::size_t i = 0; i < rnn_.states; ++i) {
      if (is_used_[i] && !sums_.contains(i)) in_loop(rnn_.body.arguments[i].get());
    }
    StepValues outputs;
    for (const ir::Value* stream : streams_) outputs.push_back(in_loop(stream));
    // The new value of a state may need other states, which are appended.
    StepValues next;
    for (std::size_t k = 0; k < states_.size(); ++k) {
      next.push_back(in_loop(updated(states_[k].index)));
    }
    block_->results = std::move(next);
    block_->results.insert(block_->results.end(), outputs.begin(), outputs.end());
  }

  // Whether the loop gets the value as an operand instead of computing it.
  bool is_given(const ir::Value* value) const {
    if (value->producer == nullptr) return true;
    const Place place = places_.of(value);
    if (place == Place::step || places_.is_free(*value->producer)) return false;
    // Random numbers are drawn in one place for all their users.
    return place == Place::outside || places_.is_costly(*value->producer) ||
           value->producer->has(ir::Trait::random);
  }

  ir::Value* in_loop(const ir::Value* value) {
    const auto found = in_loop_.find(value);
    if (found != in_loop_.end()) return found->second;
    if (is_given(value)) return in_loop_[value] = add_operand(value);
    const ir::Op& op = *value->producer;
    ir::Copier copier(*block_);
    for (ir::Value* operand : op.operands) copier.set(operand, in_loop(operand));
    need_splits(op);
    const ir::Op* copy = copy_with_prepared_matrix(op, copier);
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      in_loop_[op.results[i].get()] = copy->results[i].get();
    }
    return in_loop_[value];
  }

  // A product with a constant matrix becomes a product with its packed columns or with its
  // transpose, which is computed once.
  const ir::Op* copy_with_prepared_matrix(const ir::Op& op, ir::Copier& copier) {
    const bool known = op.name() == "matmul" && places_.of(op.operands[1]) == Place::outside &&
                       op.operands[0]->type.rank() == 2 && op.operands[1]->type.rank() == 2 &&
                       !get_attribute<bool>(op.attributes, "transpose_a");
    if (!known) return copier.copy(op);
    const bool transposed = get_attribute<bool>(op.attributes, "transpose_b");
    Prepared& prepared = prepared_[{op.operands[1], transposed}];
    if (prepared.given == nullptr) prepared = prepare(op, transposed);
    if (prepared.given == nullptr) return copier.copy(op);
    const std::vector<ir::Value*> operands{copier.of(op.operands[0]), prepared.given};
    if (prepared.packed) {
      return program_.append(*block_, "packed_matmul", operands, {}, op.location);
    }
    Attributes attributes = op.attributes;
    set_attribute(attributes, "transpose_b", false);
    return program_.append(*block_, "matmul", operands, std::move(attributes), op.location);
  }

  struct Prepared {
    ir::Value* given = nullptr;  // the argument of the loop
    bool packed = false;
  };
  Prepared prepare(const ir::Op& op, bool transposed) {
    ir::Value* made = outside(op.operands[1]);
    if (transposed) {
      const std::vector<std::int64_t> order{1, 0};
      made = b_.make("transpose", {made}, {{"permutation", order}});
    }
    ir::Value* packed = packed_columns(b_, made);
    if (packed == nullptr && !transposed) return {};
    if (packed != nullptr) made = packed;
    ir::Value* given = add_argument(made->type, transposed ? "transposed" : "packed");
    others_.push_back({given, made});
    return {given, packed != nullptr};
  }

  // Passes to the loop the splits that define how many rows its values have.
  void need_splits(const ir::Op& op) {
    for (const auto& result : op.results) need_splits(result->type);
  }
  void need_splits(const ir::Type& type) {
    if (type.rank() == 0) return;
    const Dim rows = type.splits_of.empty() ? type.shape[0] : type.shape[0] - Dim(1);
    for (std::size_t i = 0; i < rnn_.body.arguments.size(); ++i) {
      const ir::Value* argument = rnn_.body.arguments[i].get();
      if (!argument->type.splits_of.empty() && argument->type.splits_of == rows.str()) {
        in_loop(argument);
      }
    }
  }

  ir::Value* add_argument(const ir::Type& type, const std::string& stem) {
    return program_.add_argument(*block_, program_.unique_argument(stem), type);
  }

  ir::Value* add_operand(const ir::Value* value) {
    const auto found = argument_.find(value);
    const std::string stem = found != argument_.end() ? value->name : value->producer->name();
    ir::Value* inside = add_argument(value->type, stem);
    need_splits(value->type);
    if (found != argument_.end() && found->second < rnn_.states) {
      states_.push_back({found->second, inside});
      return inside;
    }
    const Place place = places_.of(value);
    if (place == Place::rows) {
      sequences_.push_back({inside, for_rows(value)});
    } else {
      others_.push_back(
          {inside, place == Place::sequences ? for_sequences(value) : outside(value)});
    }
    return inside;
  }

  const ir::Op* append_loop() {
    if (states_.empty() && streams_.empty()) return nullptr;
    StepValues operands{time_.counts()};
    std::vector<std::unique_ptr<ir::Value>> ordered;
    const auto take = [&](const ir::Value* inside, ir::Value* given) {
      auto& owned = block_->arguments;
      const auto found = std::find_if(owned.begin(), owned.end(),
                                      [&](const auto& value) { return value.get() == inside; });
      (*found)->index = static_cast<int>(ordered.size());
      ordered.push_back(std::move(*found));
      owned.erase(found);
      operands.push_back(given);
    };
    for (const State& state : states_) {
      take(state.inside, in_order(state.index, rnn_.operand(state.index)));
    }
    for (const auto& [inside, given] : sequences_) take(inside, given);
    for (const auto& [inside, given] : others_) take(inside, given);
    block_->arguments = std::move(ordered);
    std::vector<std::unique_ptr<ir::Block>> blocks;
    blocks.push_back(std::move(block_));
    return b_.append("packed_rnn", std::move(operands),
                     {{"active", Shape{active_}},
                      {"batch", Shape{rnn_.dims.batch}},
                      {"states", static_cast<std::int64_t>(states_.size())},
                      {"reverse", rnn_.reverse},
                      {"sequences", static_cast<std::int64_t>(sequences_.size())}},
                     std::move(blocks));
  }

  // --- Outside the loop

  // Returns outer values of the splits of rows of the step among its sequences, through all levels
  // between; null if there is one row per sequence.
  ir::Value* splits_of_rows(const Dim& rows, bool by_row) {
    if (rows == active_) return nullptr;
    for (std::size_t i = 0; i < rnn_.body.arguments.size(); ++i) {
      const ir::Type& candidate = rnn_.body.arguments[i]->type;
      if (rnn_.is_sequence(i) != by_row || candidate.splits_of != rows.str()) continue;
      ir::Value*& made = splits_[{rows.str(), by_row}];
      if (made != nullptr) return made;
      ir::Value* outer = splits_of_rows(candidate.shape[0] - Dim(1), by_row);
      return made = outer ? time_.joined(outer, rnn_.operand(i)) : rnn_.operand(i);
    }
    return nullptr;
  }

  // Returns the operand of argument i in the order of the loop.
  ir::Value* in_order(std::size_t i, ir::Value* given) {
    const ir::Type& inside = rnn_.body.arguments[i]->type;
    const bool by_row = rnn_.is_sequence(i);
    if (!has_rows(inside)) return given;
    if (!inside.splits_of.empty() && inside.splits_of != given->type.splits_of) {
      ir::Value* outer = splits_of_rows(inside.shape[0] - Dim(1), by_row);
      return outer ? time_.inner_splits_ordered(given, outer, by_row)
                   : time_.splits_ordered(given, by_row);
    }
    if (ir::Value* splits = splits_of_rows(inside.shape[0], by_row)) {
      return time_.split_ordered(given, splits, by_row);
    }
    return by_row ? time_.ordered(given) : time_.sequences_ordered(given);
  }

  ir::Value* outside(const ir::Value* value) {
    ir::Value*& made = outside_[value];
    if (made == nullptr) {
      made = value->producer == nullptr
                 ? rnn_.operand(argument_.at(value))
                 : copied(value, {}, outside_, [this](const ir::Value* v) { return outside(v); });
    }
    return made;
  }

  ir::Value* for_sequences(const ir::Value* value) {
    if (places_.of(value) == Place::outside && !mentions_rows(value)) return outside(value);
    const auto found = for_sequences_.find(value);
    if (found != for_sequences_.end()) return found->second;
    if (value->producer == nullptr) {
      const std::size_t i = argument_.at(value);
      return for_sequences_[value] = in_order(i, rnn_.operand(i));
    }
    return copied(value, by_sequence_, for_sequences_,
                  [this](const ir::Value* v) { return for_sequences(v); });
  }

  ir::Value* for_rows(const ir::Value* value) {
    const Place place = places_.of(value);
    if (place == Place::outside && !mentions_rows(value)) return outside(value);
    const auto found = for_rows_.find(value);
    if (found != for_rows_.end()) return found->second;
    const bool computed = value->producer != nullptr && !places_.is_free(*value->producer);
    if (place == Place::sequences && (!computed || places_.is_costly(*value->producer))) {
      return for_rows_[value] = time_.spread(for_sequences(value));
    }
    if (value->producer == nullptr) {
      const std::size_t i = argument_.at(value);
      return for_rows_[value] = in_order(i, rnn_.operand(i));
    }
    return copied(value, by_row_, for_rows_, [this](const ir::Value* v) { return for_rows(v); });
  }

  bool mentions_rows(const ir::Value* value) const {
    for (const Dim& dim : value->type.shape) {
      for (const std::string& symbol : dim.symbols()) {
        if (by_row_.contains(symbol) || by_sequence_.contains(symbol)) return true;
      }
    }
    return false;
  }

  template <class Request>
  ir::Value* copied(const ir::Value* value, const ir::Symbols& symbols, Map& map, Request request) {
    const ir::Op& op = *value->producer;
    ir::Copier copier(program_.main(), symbols);
    for (ir::Value* operand : op.operands) copier.set(operand, request(operand));
    const ir::Op* copy = copier.copy(op);
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      map[op.results[i].get()] = copy->results[i].get();
    }
    return map[value];
  }

  // --- Results

  ir::Value* result(std::size_t i, const ir::Op* loop) {
    if (i >= rnn_.states) {
      const ir::Value* value = rnn_.body.results[i];
      ir::Value* rows = for_rows(value);
      ir::Value* splits =
          value->type.rank() > 0 ? splits_of_rows(value->type.shape[0], true) : nullptr;
      return splits ? time_.split_restored(rows, splits, true) : time_.restored(rows);
    }
    if (const auto sum = sums_.find(i); sum != sums_.end()) return total(i, sum->second);
    for (std::size_t k = 0; k < states_.size(); ++k) {
      if (states_[k].index != i) continue;
      const ir::Type& inside = rnn_.body.arguments[i]->type;
      ir::Value* last = loop->results[k].get();
      if (!has_rows(inside)) return last;
      ir::Value* splits = splits_of_rows(inside.shape[0], false);
      return splits ? time_.split_restored(last, splits, false) : time_.sequences_restored(last);
    }
    fail_internal("rnn: a state is missing");
  }

  ir::Value* total(std::size_t i, const Sum& sum) {
    ir::Value* total = rnn_.operand(i);
    for (const ir::Op* term : sum.terms) {
      ir::Value* made = copied(term->result(), by_row_, for_rows_,
                               [this](const ir::Value* v) { return for_rows(v); });
      total = known_constant(total) == 0.0 ? made : b_.add(total, made);
    }
    return total;
  }

  // Returns a value of the type of a result that is not read.
  ir::Value* unused(std::size_t i) { return b_.constant(op_.results[i]->type, 0); }

  ir::Builder& b_;
  ir::Program& program_;
  const ir::Op& op_;
  const ir::Recurrence rnn_;
  const StepPlaces places_;
  TimeOrder time_;
  const std::vector<bool>& is_used_;
  Dim active_;
  ir::Symbols by_row_, by_sequence_;
  std::unordered_map<const ir::Value*, std::size_t> argument_;
  std::map<std::pair<std::string, bool>, ir::Value*> splits_;  // splits_of_rows()
  std::map<std::size_t, Sum> sums_;
  std::unordered_set<const ir::Op*> in_sums_, after_;
  std::unordered_set<const ir::Value*> seen_;
  std::vector<const ir::Value*> streams_;
  std::unique_ptr<ir::Block> block_;
  Map in_loop_, outside_, for_sequences_, for_rows_;
  // Right operands of products, by matrix and whether transposed.
  std::map<std::pair<const ir::Value*, bool>, Prepared> prepared_;
  std::vector<State> states_;
  std::vector<std::pair<ir::Value*, ir::Value*>> sequences_, others_;
};

}  // namespace

namespace {

int schedule_once(ir::Program& program) {
  std::unordered_set<const ir::Value*> used(program.main().results.begin(),
                                            program.main().results.end());
  for (const auto& op : program.main().ops) used.insert(op->operands.begin(), op->operands.end());
  return rewrite(program, [&](ir::Builder& b, ir::Op& op) -> Replacement {
    if (op.def->control != ir::ControlFlow::rnn) return std::nullopt;
    std::vector<bool> is_used;
    for (const auto& result : op.results) is_used.push_back(used.contains(result.get()));
    return Scheduler(b, op, is_used).run();
  });
}

}  // namespace

// Repeats, because an rnn inside the step of another may be in the main block now.
void schedule_rnns(ir::Program& program) {
  int scheduled = 0;
  while (const int count = schedule_once(program)) scheduled += count;
  if (scheduled > 0)
    rewrite(program, [&](ir::Builder& b, ir::Op& op) { return add_in_time(b, op); });
}

}  // namespace trireme::transforms
