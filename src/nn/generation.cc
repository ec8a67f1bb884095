#include "nn/generation.h"

#include <algorithm>

#include "trireme/functions.h"
#include "trireme/ops.h"

namespace trireme::nn {
namespace {

constexpr std::int64_t kMaxCopies = 10000, kMaxSteps = 1000000;

const GenerationOptions& checked(const GenerationOptions& options) {
  if (options.over) return options;
  fail_usage(std::string(options.what) +
             ": the number of examples is not known\n  hint   set .over to a value with a row "
             "for each example");
}

}  // namespace

Generation::Generation(const GenerationOptions& options, const SourceLocation& where)
    : options_(checked(options)),
      where_(where),
      at_(std::in_place, options.over, options.what, where),
      program_(at_->program()),
      outside_(&program_.builder().block()),
      body_(program_) {
  if (options.over.rank() == 0)
    fail(".over has no rows", "it needs one row for each example: [n, ...]");
  if (options.limit < 1 || options.limit > kMaxSteps) {
    fail(".limit is " + std::to_string(options.limit),
         "it is the maximum number of words of a hypothesis, 1 to " + std::to_string(kMaxSteps));
  }
  if (options.copies < 1 || options.copies > kMaxCopies) {
    fail("." + std::string(options.copies_name) + " is " + std::to_string(options.copies),
         "it is the number of hypotheses per example, 1 to " + std::to_string(kMaxCopies));
  }
  examples_ = options.over.dim(0);
  rows_ = examples_ * Dim(options.copies);
  guard_.emplace(program_.builder(), body_.block());
}

Value Generation::constant(const Shape& shape, DType dtype, double value) const {
  return Value(program_.builder().constant({dtype, shape, ""}, value));
}

Value Generation::carry(const Value& initial) {
  initial_.push_back(initial);
  own_.push_back(next_.size());
  next_.emplace_back();
  return body_.add_argument(initial.get()->type);
}

void Generation::set_next(const Value& carried, const Value& next) {
  next_[static_cast<std::size_t>(carried.get()->index)] = next;
}

const Generation::Level* Generation::level_of(const Dim& outside) const {
  const auto found = std::find_if(levels_.begin(), levels_.end(),
                                  [&](const Level& level) { return level.outside == outside; });
  return found == levels_.end() ? nullptr : &*found;
}

// Appends ops outside the loop.
const Generation::Level& Generation::lay_out(const Value& x, const Dim& rows) {
  if (const Level* existing = level_of(rows)) return *existing;
  if (rows == examples_) {
    // Example 0 for each of its hypotheses, then example 1 ...
    const Value number =
        reshape(counted(options_.over, {examples_, options_.copies}, 0), {.shape = {rows_}});
    levels_.push_back({rows, rows_, number});
    return levels_.back();
  }
  const Value splits(ir::find_splits(*outside_, rows));
  if (!splits) {
    fail_layer("Step::static_input",
               "the value does not have a row, or a sequence, for each of the " + examples_.str() +
                   " examples",
               "use a value over the same examples as .over", x);
  }
  const Value above = lay_out(x, splits.dim(0) - 1).index;
  const Dim count = splits.dim(0) - 1;
  const Value begins = slice(splits, {.starts = {0}, .limits = {count}});
  const Value lengths = slice(splits, {.starts = {1}, .limits = {count + 1}}) - begins;
  const Sequences expanded(gather(lengths, above), rows);
  const Value index = gather(gather(begins, above), expanded.ids()) + expanded.positions();
  levels_.push_back({rows, expanded.rows, index});
  return levels_.back();
}

Value Generation::static_input(const Value& x) {
  if (x.rank() == 0) {
    fail_layer("Step::static_input", "the value has no rows", "a scalar can be used directly", x);
  }
  const auto existing = laid_out_.find(x.get());
  if (existing != laid_out_.end()) return existing->second;
  return laid_out_[x.get()] = outside([&] { return gather(x, lay_out(x, x.dim(0)).index); });
}

Value Generation::state(const StateOptions& options, const SourceLocation& where) {
  const LocationScope at(options_.over, "Step::state", where);
  const Value init = outside([&] {
    const Dim& rows = options.init ? examples_ : rows_;
    const Value first = initial_state(options, rows, *outside_, where);
    return options.init ? gather(first, lay_out(first, examples_).index) : first;
  });
  initial_.push_back(init);
  next_.emplace_back();
  const Value inside = body_.add_argument(init.get()->type);
  states_.push_back({inside.get(), init.get()});
  return inside;
}

Value Generation::input(const Value& x) {
  fail_layer("Step::input", std::string(options_.what) + " does not run along a sequence",
             "the decoder gets the word of the step as its argument; static_input() and state() "
             "work as in rnn()",
             x);
}

void Generation::output(const Value& value) {
  fail_layer("Step::output", std::string(options_.what) + " has no outputs per step",
             "the decoder returns its logits; call output() only in rnn()", value);
}

void Generation::attention(const Value& weights) {
  if (attention_) {
    fail_layer("Step::attention", "attention() is called twice in a step",
               "pass the mean of several weights", weights);
  }
  const bool is_static_input = std::any_of(levels_.begin(), levels_.end(), [&](const Level& level) {
    return level.inside == weights.dim(0) && level.outside != examples_;
  });
  if (!is_static_input) {
    fail_layer("Step::attention", "the rows of the weights are not those of a ragged static input",
               "pass a weight for each row of the result of static_input()", weights);
  }
  attention_ = weights;
}

void Generation::check_logits(const Value& logits) {
  if (!logits) fail("the decoder returns an empty Value", "return logits [active, vocabulary]");
  if (logits.rank() != 2 || logits.dim(0) != rows_ || !logits.dim(1).is_constant() ||
      !is_arithmetic_float(logits.dtype())) {
    fail_layer(
        options_.what, "the decoder does not return logits for each hypothesis",
        "logits must be floats [active, vocabulary], here [" + rows_.str() + ", a constant number]",
        logits);
  }
  vocabulary_ = logits.dim(1).constant();
  const auto check = [&](const char* name, std::int64_t id) {
    if (id >= 0 && id < vocabulary_) return;
    fail(std::string(name) + " is " + std::to_string(id) + ", but the logits have " +
             std::to_string(vocabulary_) + " words",
         "use an id in [0, " + std::to_string(vocabulary_) + ")");
  };
  check(".start", options_.start);
  check(".end", options_.end);
}

Generation::Ran Generation::run(const Decoder& decoder) {
  const auto start = static_cast<double>(options_.start);
  const Value word = carry(outside([&] { return constant({rows_}, DType::i64, start); }));
  Step step(*this);
  at_.reset();
  const Value logits = decoder(step, word);
  at_.emplace(options_.over, options_.what, where_);
  check_logits(logits);
  require_updated(options_.what, states_);
  return {word, logits};
}

void Generation::advance(const Value& parents) {
  for (const StepState& state : states_) {
    const Value next(state.next);
    set_next(Value(state.inside), parents ? gather(next, parents) : next);
  }
}

Value log_sum_exp(const Value& logits) {
  const Value max = reduce_max(stop_gradient(logits), {.axes = {1}, .keep = true});
  return max + log(sum(exp(logits - max), {.axes = {1}, .keep = true}));
}

Value with_column(const Value& tokens, const Value& words, const Value& step) {
  const Value here = equal(counted(tokens, tokens.shape(), 1), step);
  return trireme::where(here, spread(words, tokens, {0}), tokens);
}

Hypotheses hypotheses_of(const Generation& loop, const Chosen& chosen, std::int64_t best) {
  const Dim& n = loop.examples();
  const std::int64_t copies = loop.options().copies, limit = loop.options().limit;
  const auto first = [&](const Value& x) {
    if (best == copies) return x;
    SliceAttrs part{.starts = {0, 0}, .limits = {n, best}};
    if (x.rank() == 3) {
      part.starts.emplace_back(0);
      part.limits.emplace_back(limit);
    }
    return slice(x, part);
  };
  const Value lengths = reshape(first(chosen.lengths), {.shape = {n * Dim(best)}});
  const Value table = first(reshape(chosen.tokens, {.shape = {n, copies, limit}}));
  const Sequences hypotheses(loop.constant({n}, DType::i64, static_cast<double>(best)),
                             Dim(std::string_view("hypotheses")));
  const Value number = counted(lengths, {hypotheses.rows}, 0);
  const Sequences tokens(gather(lengths, number), Dim(std::string_view("tokens")));
  const Value place = tokens.ids() * static_cast<double>(limit) + tokens.positions();
  return {gather(reshape(table, {.shape = {n * Dim(best * limit)}}), place), first(chosen.scores),
          first(chosen.ended)};
}

}  // namespace trireme::nn
