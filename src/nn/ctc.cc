// Connectionist temporal classification in a Program: the loss and the greedy decoder.

#include "nn/layer.h"
#include "nn/sequences.h"
#include "trireme/nn.h"
#include "trireme/sequence.h"
#include "trireme/structured.h"

namespace trireme::nn {
namespace {

void require_logits(const char* what, const Value& logits, std::int64_t blank) {
  if (!is_arithmetic_float(logits.dtype()) || logits.rank() != 2 || !logits.dim(1).is_constant()) {
    fail_layer(
        what, "logits must be floats [rows, classes] with a constant number of classes",
        "nn::linear(states, {.units = classes}) computes them; the blank is one of the classes",
        logits);
  }
  const std::int64_t classes = logits.dim(1).constant();
  if (blank < 0 || blank >= classes) {
    fail_layer(what,
               "the blank is class " + std::to_string(blank) + ", but there are " +
                   std::to_string(classes) + " classes",
               "include the blank in the classes, and set .blank", logits);
  }
}

}  // namespace

Value ctc_loss(const Value& logits, const Value& labels, const CtcOptions& options,
               SourceLocation where) {
  const LocationScope at(logits, "ctc_loss", where);
  require_logits("ctc_loss", logits, options.blank);
  const Sequences rows("ctc_loss", logits);
  if (!labels || !is_integer(labels.dtype()) || labels.rank() != 1) {
    fail_layer("ctc_loss",
               "labels must be integers [label_rows], not " + (labels ? labels.str() : "empty"),
               "input(\"labels\", i64, ragged({batch}))", logits);
  }
  const Sequences of_labels("ctc_loss", labels);
  if (of_labels.count != rows.count) {
    fail_layer("ctc_loss",
               "there are " + rows.count.str() + " sequences of logits, but " +
                   of_labels.count.str() + " of labels: " + labels.str(),
               "both must be ragged over the same batch", logits);
  }
  return ctc(log_softmax(logits), rows.splits, cast(labels, {.dtype = DType::i64}),
             of_labels.splits, {.blank = options.blank, .zero_infinity = options.zero_infinity});
}

Value ctc_greedy(const Value& logits, const CtcGreedyOptions& options, SourceLocation where) {
  const LocationScope at(logits, "ctc_greedy", where);
  require_logits("ctc_greedy", logits, options.blank);
  const Sequences sequences("ctc_greedy", logits);
  const Value best = argmax(logits);
  const Value before = gather(best, counted(best, {sequences.rows}, 0) - 1.0);
  const Value begins = equal(sequences.positions(), 0.0);
  const Value is_new = logical_or(begins, not_equal(best, before));
  return sequence::filter(best,
                          logical_and(is_new, not_equal(best, static_cast<double>(options.blank))));
}

}  // namespace trireme::nn
