#pragma once

// The generation loop of beam search, greedy search and sampling.

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/step.h"
#include "nn/blocks.h"
#include "nn/layer.h"
#include "nn/sequences.h"
#include "nn/step.h"
#include "trireme/decoding.h"

namespace trireme::nn {

struct GenerationOptions {
  const char* what;         // "beam_search", for messages
  const char* copies_name;  // "beam"
  std::int64_t copies;      // hypotheses per example
  std::int64_t start, end, limit;
  Value over;
};

// Builds a while_loop over n * copies hypotheses.
class Generation : public StepBuilder {
 public:
  // Error(usage) for options that are out of range.
  Generation(const GenerationOptions& options, const SourceLocation& where);

  // Adds a carried value with the initial value `initial`, which outside() must have built.
  Value carry(const Value& initial);
  void set_next(const Value& carried, const Value& next);
  template <class Make>
  Value outside(Make make) {
    const ir::Builder::BlockGuard guard(program_.builder(), *outside_);
    return make();
  }

  // Runs the user's step. Returns the previous words, i64 [rows], which are carried, and the logits
  // [rows, vocabulary].
  struct Ran {
    Value word, logits;
  };
  Ran run(const Decoder& decoder);
  // Sets the next values of the states: hypothesis i continues from `parents[i]`, or from itself
  // if `parents` is empty.
  void advance(const Value& parents);
  // Ends the loop. `condition` computes one boolean from the carried values. Returns the results in
  // the order of carry().
  template <class Condition>
  Values finish(Condition condition);

  Value input(const Value& x) override;
  Value static_input(const Value& x) override;
  Value state(const StateOptions& options, const SourceLocation& where) override;
  void update(const Value& state, const Value& next) override {
    update_state(states_, state, next);
  }
  void output(const Value& value) override;
  void attention(const Value& weights) override;

  [[noreturn]] void fail(const std::string& message, const std::string& hint) const {
    fail_layer(options_.what, message, hint, options_.over);
  }
  // Appends a constant to the block under construction.
  Value constant(const Shape& shape, DType dtype, double value) const;

  const GenerationOptions& options() const { return options_; }
  const Dim& examples() const { return examples_; }
  const Dim& rows() const { return rows_; }
  const Value& attention_weights() const { return attention_; }  // empty if the step has none
  std::int64_t vocabulary() const { return vocabulary_; }

 private:
  // A dimension that counts examples, or rows of their sequences, expanded to all hypotheses.
  // `index` holds the outer row of each inner row.
  struct Level {
    Dim outside, inside;
    Value index;
  };

  const Level* level_of(const Dim& outside) const;
  const Level& lay_out(const Value& x, const Dim& rows);
  void check_logits(const Value& logits);

  GenerationOptions options_;
  SourceLocation where_;
  std::optional<LocationScope>
      at_;  // empty while the user's step runs, because its ops have their own lines
  ir::Program& program_;
  ir::Block* outside_;
  Dim examples_, rows_;
  Body body_;
  std::optional<ir::Builder::BlockGuard> guard_;
  std::vector<Level> levels_;
  std::unordered_map<const ir::Value*, Value> laid_out_;
  Values initial_;                // initial carried values, in the order of the block's arguments
  std::vector<Value> next_;       // next value of each argument
  std::vector<std::size_t> own_;  // the arguments made by carry()
  std::vector<StepState> states_;
  Value attention_;
  std::int64_t vocabulary_ = 0;
};

template <class Condition>
Values Generation::finish(Condition condition) {
  for (const Value& next : next_) body_.block().results.push_back(next.get());
  guard_.reset();
  ir::move_out(body_.block());
  Body test(program_);
  for (const Value& argument : body_.arguments) test.add_argument(argument.get()->type);
  test.build([&] {
    Values carried;
    for (const std::size_t i : own_) carried.push_back(test.arguments[i]);
    return Values{condition(carried)};
  });
  const Values all = append_while(program_, initial_, test, body_, options_.limit);
  Values results;
  for (const std::size_t i : own_) results.push_back(all[i]);
  return results;
}

// The words of all hypotheses, with lengths and scores.
struct Chosen {
  Value tokens;   // i64 [n * copies, limit]
  Value lengths;  // i64 [n, copies], without `end`
  Value scores;   // [n, copies]
  Value ended;    // booleans [n, copies]
};
// Returns the first `best` hypotheses of each example.
Hypotheses hypotheses_of(const Generation& loop, const Chosen& chosen, std::int64_t best);

// Returns the logarithm of the sum of exponentials of each row of logits [rows, vocabulary], as
// [rows, 1].
Value log_sum_exp(const Value& logits);
// Returns `tokens` [rows, limit] with `words` [rows] in column `step`.
Value with_column(const Value& tokens, const Value& words, const Value& step);

}  // namespace trireme::nn
