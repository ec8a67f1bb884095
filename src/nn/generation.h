#pragma once

// The loop that generates: what beam search, greedy search and sampling share.

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
  std::int64_t copies;      // hypotheses of each example
  std::int64_t start, end, limit;
  Value over;
};

// A while_loop under construction, of n * copies hypotheses.
class Generation : public StepBuilder {
 public:
  // Errors: usage, for options that make no sense.
  Generation(const GenerationOptions& options, const SourceLocation& where);

  // What the loop carries: begins with `initial`, made outside of the loop by outside().
  Value carry(const Value& initial);
  void set_next(const Value& carried, const Value& next);
  template <class Make>
  Value outside(Make make) {
    const ir::InsertionGuard guard(program_, *outside_);
    return make();
  }

  // Runs the user's step on the words before, which are carried: i64 [rows], and the logits [rows, vocabulary].
  struct Ran {
    Value word, logits;
  };
  Ran run(const Decoder& decoder);
  // The memories anew: hypothesis i goes on from `parents[i]`, or each from itself if that is empty.
  void advance(const Value& parents);
  // Ends the loop. `condition` makes one boolean of what is carried; the results are in the order of carry().
  template <class Condition>
  Values finish(Condition condition);

  Value input(const Value& x) override;
  Value static_input(const Value& x) override;
  Value memory(const MemoryOptions& options, const SourceLocation& where) override;
  void update(const Value& memory, const Value& next) override {
    update_memory(memories_, memory, next);
  }
  void output(const Value& value) override;
  void attention(const Value& weights) override;

  [[noreturn]] void fail(const std::string& message, const std::string& hint) const {
    fail_layer(options_.what, message, hint, options_.over);
  }
  // In the block that is being built.
  Value constant(const Shape& shape, DType dtype, double value) const;

  const GenerationOptions& options() const { return options_; }
  const Dim& examples() const { return examples_; }
  const Dim& rows() const { return rows_; }
  const Value& attention_weights() const { return attention_; }  // empty if the step gave none
  std::int64_t vocabulary() const { return vocabulary_; }

 private:
  // A dimension that has a row for each example, or for each row of a sequence of it, laid out for each
  // hypothesis; `index` says which row each is.
  struct Level {
    Dim outside, inside;
    Value index;
  };

  const Level* level_of(const Dim& outside) const;
  const Level& lay_out(const Value& x, const Dim& rows);
  void check_logits(const Value& logits);

  GenerationOptions options_;
  SourceLocation where_;
  std::optional<At> at_;  // but while the user's step runs, whose ops have lines of their own
  ir::Program& program_;
  ir::Block* outside_;
  Dim examples_, rows_;
  Body body_;
  std::optional<ir::InsertionGuard> guard_;
  std::vector<Level> levels_;
  std::unordered_map<const ir::Value*, Value> laid_out_;
  Values initial_;                // of what is carried, in the order of the block's arguments
  std::vector<Value> next_;       // by argument
  std::vector<std::size_t> own_;  // the arguments made by carry()
  std::vector<StepMemory> memories_;
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

// The chosen words of all hypotheses, and what became of them.
struct Chosen {
  Value tokens;   // i64 [n * copies, limit]
  Value lengths;  // i64 [n, copies], without `end`
  Value scores;   // [n, copies]
  Value ended;    // booleans [n, copies]
};
// The first `best` of each example.
Hypotheses hypotheses_of(const Generation& loop, const Chosen& chosen, std::int64_t best);

// Row by row of the logits [rows, vocabulary]: the logarithm of the sum of their powers, [rows, 1].
Value log_sum_exp(const Value& logits);
// `tokens` [rows, limit] with `words` [rows] in column `step`.
Value with_column(const Value& tokens, const Value& words, const Value& step);

}  // namespace trireme::nn
