#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "nn/generation.h"
#include "trireme/functions.h"
#include "trireme/ops.h"
#include "trireme/sequence.h"

namespace trireme::nn {
namespace {

constexpr double kMinCoverage = 1e-6;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

GenerationOptions loop_options(const BeamOptions& options) {
  return {"beam_search", "beam",        options.beam, options.start,
          options.end,   options.limit, options.over};
}

void check(const Generation& loop, const BeamOptions& options) {
  if (options.best < 1 || options.best > options.beam) {
    loop.fail(".best is " + std::to_string(options.best) + " for a beam of " +
                  std::to_string(options.beam),
              "it must be at least 1 and at most .beam");
  }
  const auto check_factor = [&](const char* name, double factor) {
    if (factor >= 0 && factor < kInfinity) return;
    loop.fail(std::string(name) + " is " + std::to_string(factor),
              "it must be finite and at least 0");
  };
  check_factor(".length_penalty", options.length_penalty);
  check_factor(".coverage", options.coverage);
}

// A beam that hypotheses of at most `limit` words cannot fill is an error.
void check_width(const Generation& loop, const BeamOptions& options) {
  std::int64_t max_hypotheses = 1;
  for (std::int64_t i = 0; i < options.limit && max_hypotheses < options.beam; ++i) {
    max_hypotheses *= loop.vocabulary();
    if (loop.vocabulary() == 1) break;
  }
  if (max_hypotheses >= options.beam) return;
  loop.fail(".beam is " + std::to_string(options.beam) + ", but " + std::to_string(options.limit) +
                " steps with " + std::to_string(loop.vocabulary()) + " words yield at most " +
                std::to_string(max_hypotheses) + " hypotheses",
            "a beam of that size makes the search exact");
}

// How much attention the hypotheses have paid to each row of the source.
class Coverage {
 public:
  // `finished` [n * beam]: the hypotheses that have ended and pay no more attention.
  Coverage(Generation& loop, double factor, const Value& finished) : loop_(loop), factor_(factor) {
    if (factor == 0) return;
    const Value& weights = loop.attention_weights();
    if (!weights) {
      loop.fail(".coverage needs the attention weights of the decoder",
                "call Step::attention() in the decoder with its attention weights");
    }
    before_ = loop.carry(
        loop.outside([&] { return loop.constant(weights.shape(), weights.dtype(), 0); }));
    now_ = before_ + trireme::where(sequence::expand(finished, weights), 0.0, weights);
  }

  bool is_enabled() const { return factor_ != 0; }
  // Returns the term that is added to the scores, [n, beam].
  Value bonus(const Shape& shape, DType dtype) const {
    const Value logarithms = sequence::sum(log(clamp(now_, kMinCoverage, 1)));
    return cast(reshape(logarithms, {.shape = shape}), {.dtype = dtype}) * factor_;
  }
  // Makes hypothesis i continue from `parents[i]`, which belongs to the same example and has the
  // same number of rows.
  void advance(const Value& parents) {
    const Sequences rows("beam_search", now_);
    const Value begin = gather(gather(rows.begins(), parents), rows.ids());
    loop_.set_next(before_, gather(now_, begin + rows.positions()));
  }

 private:
  Generation& loop_;
  double factor_;
  Value before_, now_;
};

// Values are [n, beam] unless a comment gives another shape.
class BeamSearch {
 public:
  BeamSearch(Generation& loop, const BeamOptions& options, const Value& word, const Value& logits)
      : loop_(loop),
        options_(options),
        dtype_(logits.dtype()),
        words_(std::min(options.beam, loop.vocabulary())),
        beams_{loop.examples(), options.beam},
        continued_{loop.examples(), options.beam, words_},
        candidates_{loop.examples(), options.beam * words_},
        word_(word),
        logits_(logits),
        step_(zeros({}, DType::i64)),
        done_(zeros({loop.examples()}, DType::boolean)),
        scores_(initial_scores()),
        log_p_(initial_scores()),
        finished_(zeros(beams_, DType::boolean)),
        lengths_(zeros(beams_, DType::i64)),
        tokens_(zeros({loop.rows(), options.limit}, DType::i64)),
        coverage_(loop, options.coverage, reshape(finished_, {.shape = {loop.rows()}})) {}

  void build() {
    continue_hypotheses();
    select_best();
    loop_.set_next(step_, step_ + 1.0);
    loop_.set_next(done_, is_done());
  }

  Hypotheses run() {
    const Values all = loop_.finish([&](const Values& carried) {
      const Value more = any(logical_not(carried[2]));
      return logical_and(carried[1] < static_cast<double>(options_.limit), more);
    });
    const Value &scores = all[3], &ended = all[5];
    const Value without_end = all[6] - cast(ended, {.dtype = DType::i64});
    const Value exists = scores > -kInfinity;
    return hypotheses_of(loop_,
                         {.tokens = all[7],
                          .lengths = trireme::where(exists, without_end, 0.0),
                          .scores = scores,
                          .ended = logical_and(ended, exists)},
                         options_.best);
  }

 private:
  Value zeros(const Shape& shape, DType dtype) {
    return loop_.carry(loop_.outside([&] { return loop_.constant(shape, dtype, 0); }));
  }
  // Each example starts with one hypothesis: 0 for the first, -infinity for the others.
  Value initial_scores() {
    return loop_.carry(loop_.outside([&] {
      const Value first = equal(counted(options_.over, beams_, 1), 0.0);
      return trireme::where(first, loop_.constant(beams_, dtype_, 0), -kInfinity);
    }));
  }
  Value flat(const Value& x) const { return reshape(x, {.shape = {loop_.rows()}}); }
  Value expand_words(const Value& x) const { return spread(x, gained_, {0, 1}); }

  // ((5 + length) / 6)^length_penalty
  Value penalty(const Value& length) const {
    return pow((cast(length, {.dtype = dtype_}) + 5.0) / 6.0, options_.length_penalty);
  }

  // Computes the likeliest next words of each hypothesis, [n, beam, words]. A hypothesis that has
  // ended continues unchanged, once.
  void continue_hypotheses() {
    const std::vector<Value> likeliest = top_k(logits_, {.k = words_});
    const Value all = reshape(log_sum_exp(logits_), {.shape = {loop_.rows()}});
    gained_ = reshape(likeliest[0] - spread(all, likeliest[0], {0}), {.shape = continued_});
    const Value has_ended = expand_words(finished_);
    const Value once = equal(counted(gained_, continued_, 2), 0.0);
    const Value unchanged = trireme::where(once, loop_.constant(continued_, dtype_, 0), -kInfinity);
    total_ = expand_words(log_p_) + trireme::where(has_ended, unchanged, gained_);
    next_words_ = trireme::where(has_ended, static_cast<double>(options_.end),
                                 reshape(likeliest[1], {.shape = continued_}));
    next_lengths_ = trireme::where(finished_, lengths_, broadcast(step_ + 1.0, {.shape = beams_}));
    score_ = total_;
    if (options_.length_penalty > 0) score_ = score_ / expand_words(penalty(next_lengths_));
    if (coverage_.is_enabled()) score_ = score_ + expand_words(coverage_.bonus(beams_, dtype_));
  }

  // Selects the best continuations of each example.
  void select_best() {
    const std::vector<Value> best =
        top_k(reshape(score_, {.shape = candidates_}), {.k = options_.beam});
    const auto select_candidates = [&](const Value& x) {
      return take_along_axis(reshape(x, {.shape = candidates_}), best[1]);
    };
    const Value parent = select_candidates(counted(gained_, continued_, 1));
    const Value row =
        flat(parent + counted(parent, beams_, 0) * static_cast<double>(options_.beam));
    const Value word = select_candidates(next_words_);
    best_ = {.scores = best[0],
             .log_p = select_candidates(total_),
             .finished = equal(word, static_cast<double>(options_.end))};
    loop_.advance(row);
    if (coverage_.is_enabled()) coverage_.advance(row);
    loop_.set_next(word_, flat(word));
    loop_.set_next(scores_, best_.scores);
    loop_.set_next(log_p_, best_.log_p);
    loop_.set_next(finished_, best_.finished);
    loop_.set_next(lengths_, take_along_axis(next_lengths_, parent));
    loop_.set_next(tokens_, with_column(gather(tokens_, row), flat(word), step_));
  }

  // Returns [n]: whether the best hypotheses have ended and no other can become as good. A
  // probability only decreases, coverage adds at most 0, and no length exceeds the limit.
  Value is_done() const {
    const Dim& n = loop_.examples();
    const auto best_of = [&](const Value& x) {
      return slice(x, {.starts = {0, 0}, .limits = {n, options_.best}});
    };
    const double max_penalty =
        std::pow((5.0 + static_cast<double>(options_.limit)) / 6.0, options_.length_penalty);
    const Value reachable = trireme::where(best_.finished, -kInfinity, best_.log_p / max_penalty);
    return logical_and(
        all(best_of(best_.finished), {.axes = {1}}),
        reduce_max(reachable, {.axes = {1}}) <= reduce_min(best_of(best_.scores), {.axes = {1}}));
  }

  struct Best {
    Value scores, log_p, finished;
  };

  Generation& loop_;
  const BeamOptions& options_;
  DType dtype_;
  std::int64_t words_;  // candidates per hypothesis
  Shape beams_, continued_, candidates_;
  Value word_, logits_;                                               // current step
  Value step_, done_, scores_, log_p_, finished_, lengths_, tokens_;  // carried
  Coverage coverage_;
  Value gained_, total_, next_words_, next_lengths_, score_;
  Best best_;
};

}  // namespace

Hypotheses beam_search(const Decoder& decoder, const BeamOptions& options, SourceLocation where) {
  Generation loop(loop_options(options), where);
  check(loop, options);
  const auto [word, logits] = loop.run(decoder);
  check_width(loop, options);
  BeamSearch search(loop, options, word, logits);
  search.build();
  return search.run();
}

}  // namespace trireme::nn
