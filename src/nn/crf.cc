// Linear-chain conditional random fields as steps of nn::rnn.

#include <string>

#include "nn/layer.h"
#include "nn/sequences.h"
#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/rnn.h"
#include "trireme/sequence.h"
#include "trireme/structured.h"

namespace trireme::nn {
namespace {

std::int64_t tags_of(const char* what, const Value& emissions) {
  if (!is_arithmetic_float(emissions.dtype()) || emissions.rank() != 2 ||
      !emissions.dim(1).is_constant() || emissions.dim(1).constant() < 1) {
    fail_layer(what, "emissions must be floats [rows, tags] with a constant number of tags",
               "nn::linear(states, {.units = tags}) computes them", emissions);
  }
  return emissions.dim(1).constant();
}

// Emissions of sequences with the scores of a chain.
struct Chain {
  const Sequences sequences;
  const std::int64_t tags;
  const Value emissions;
  const CrfScores& scores;

  Chain(const char* what, const Value& emissions_, const CrfScores& scores_)
      : sequences(what, emissions_),
        tags(tags_of(what, emissions_)),
        emissions(emissions_),
        scores(scores_) {
    require(what, scores.start, {tags}, "start");
    require(what, scores.transition, {tags, tags}, "transition");
    require(what, scores.end, {tags}, "end");
  }

  // Whether each row is the first of its sequence, boolean [rows].
  Value is_first() const { return equal(sequences.positions(), 0.0); }
  Value has_rows() const { return sequences.lengths() > 0.0; }  // boolean [n]

 private:
  void require(const char* what, const Value& score, const Shape& shape, const char* name) const {
    if (score && score.shape() == shape && score.dtype() == emissions.dtype()) return;
    fail_layer(what,
               std::string("the scores `") + name + "` must be " +
                   std::string(name_of(emissions.dtype())) + str(shape) + ", but are " +
                   (score ? score.str() : "empty"),
               "crf_scores(emissions) creates them", emissions);
  }
};

// `before` [active, tags] is the best or total score of paths to each tag. Returns
// [active, tags, tags], with the score of continuing from tag i to tag j at [j, i].
Value continue_paths(const Value& before, const Value& transposed) {
  return unsqueeze(before, 1) + transposed;
}

// Returns log sum exp along the last axis.
Value log_sum(const Value& x) {
  const int last = x.rank() - 1;
  const Value top = stop_gradient(reduce_max(x, {.axes = {last}}));
  const Value part = exp(x - spread(top, x, axes_but(last, x.rank())));
  return log(sum(part, {.axes = {last}})) + top;
}

// Returns the element at `index` [active] of each row of x [active, tags].
Value element_at(const Value& x, const Value& index) {
  return squeeze(take_along_axis(x, unsqueeze(index, 1), {.axis = 1}), {1});
}

void require_labels(const Chain& chain, const Value& labels) {
  if (labels && is_integer(labels.dtype()) && labels.shape() == Shape{chain.sequences.rows}) return;
  fail_layer("crf_loss",
             "labels must be integers, one for each row: [" + chain.sequences.rows.str() +
                 "], not " + (labels ? labels.str() : "empty"),
             "make the labels an input with the same dimension: input(\"tags\", i64, "
             "{words.dim(0)})",
             chain.emissions);
}

// Returns what each row adds to the score of the labels, [rows], without the score of the end.
Value score_of_labels(const Chain& chain, const Value& labels, const Value& first) {
  const Value row = counted(labels, {chain.sequences.rows}, 0);
  const Value before = gather(labels, row - 1.0);
  const auto tags = static_cast<double>(chain.tags);
  const Value pairs = reshape(chain.scores.transition, {.shape = {chain.tags * chain.tags}});
  const Value emitted =
      squeeze(take_along_axis(chain.emissions, unsqueeze(labels, 1), {.axis = 1}), {1});
  return emitted + trireme::where(first, gather(chain.scores.start, labels),
                                  gather(pairs, before * tags + labels));
}

}  // namespace

CrfScores crf_scores(const Value& emissions, const CrfOptions& options, SourceLocation where) {
  Layer layer(emissions, "crf", options.name, where);
  const std::int64_t tags = tags_of("crf_scores", emissions);
  const auto scores = [&](const char* name, const Shape& shape) {
    return layer.parameter(name, emissions.dtype(), shape, zeros());
  };
  return {scores("start", {tags}), scores("transition", {tags, tags}), scores("end", {tags})};
}

// The state holds, for each tag, the logarithm of the sum over all paths to it, minus the score of
// the labels so far.
Value crf_loss(const Value& emissions, const Value& labels, const CrfScores& scores,
               SourceLocation where) {
  const LocationScope at(emissions, "crf_loss", where);
  const Chain chain("crf_loss", emissions, scores);
  require_labels(chain, labels);
  const Value checked_labels =
      cast(check_indices(labels, {.size = chain.tags}), {.dtype = DType::i64});
  const Value first = chain.is_first();
  const Value gold = score_of_labels(chain, checked_labels, first);
  const Value relative = emissions - by_row(gold, emissions);
  const Value transposed = transpose(scores.transition, {.permutation = {1, 0}});
  const RnnResult run = run_rnn([&](Step& step) {
    const Value now = step.input(relative), begins = step.input(first);
    const Value before = step.state({.width = chain.tags, .dtype = emissions.dtype()});
    const Value total = log_sum(continue_paths(before, transposed));
    step.update(before, trireme::where(by_row(begins, now), scores.start, total) + now);
  });
  const Value last = gather(scores.end, sequence::last(checked_labels));
  const Value loss = log_sum(run.states[0] + scores.end) - last;
  return trireme::where(chain.has_rows(), loss, 0.0);
}

// Forward: the best score of each tag and its predecessor. Backward: follows the best path.
CrfPath crf_decode(const Value& emissions, const CrfScores& scores, SourceLocation where) {
  const LocationScope at(emissions, "crf_decode", where);
  const Chain chain("crf_decode", emissions, scores);
  const Value first = chain.is_first();
  const Value transposed = transpose(scores.transition, {.permutation = {1, 0}});
  const RnnResult forwards = run_rnn([&](Step& step) {
    const Value now = step.input(emissions), begins = step.input(first);
    const Value before = step.state({.width = chain.tags, .dtype = emissions.dtype()});
    const Value paths = continue_paths(before, transposed);
    const Value best = reduce_max(paths, {.axes = {2}});
    step.update(before, trireme::where(by_row(begins, now), scores.start, best) + now);
    step.output(argmax(paths, {.axes = {2}}));
  });
  const Value ends = forwards.states[0] + scores.end;
  const RnnResult backwards = run_rnn(
      [&](Step& step) {
        const Value from = step.input(forwards.outputs[0]);
        const Value tag = step.state({.init = argmax(ends, {.axes = {1}})});
        step.update(tag, element_at(from, tag));
        step.output(tag);
      },
      {.reverse = true});
  return {backwards.outputs[0],
          trireme::where(chain.has_rows(), reduce_max(ends, {.axes = {1}}), 0.0)};
}

}  // namespace trireme::nn
