#pragma once

// Sequence generation: runs the decoder step that nn::rnn trains on the words that it chooses
// itself, as a loop of the Program. docs/how-to/decoding.md has examples.

#include <cstdint>
#include <functional>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/rnn.h"

namespace trireme::nn {

// One step of a decoder: from the previous words i64 [active] to the logits [active, vocabulary],
// floats, of the next words. `active` counts hypotheses here. Memories and static inputs work as in
// nn::rnn. Memories start with one row [n, ...] per example; static inputs belong to examples; each
// hypothesis uses those of its own example. To share parameters between training and generation,
// the decoder opens Program::shared_scope().
using Decoder = std::function<Value(Step& step, const Value& word)>;

// The result of generation: `best` hypotheses, or samples, for each example.
struct Hypotheses {
  // i64: the words, without start and end. Sequences of two levels: n examples, n * best
  // hypotheses, words. sequence::splits(tokens) returns the splits of the words; sequence::splits()
  // of a value with one row per hypothesis returns the splits of the hypotheses.
  Value tokens;
  Value scores;  // [n, best], of the dtype of the logits
  Value ended;   // booleans [n, best]: true if `end` was chosen, false if cut at the limit
};

struct BeamOptions {
  std::int64_t beam = 4;      // hypotheses to follow per example, 1 to 10,000
  std::int64_t best = 1;      // hypotheses to return, best first; at most `beam`
  std::int64_t start = -1;    // required: the previous word of the first step
  std::int64_t end = -1;      // required: the word that ends a hypothesis
  std::int64_t limit = 0;     // required: maximum number of words of a hypothesis, including `end`
  double length_penalty = 0;  // the exponent in the formula below, 0 or more
  double coverage = 0;        // the factor in the formula below, 0 or more; needs Step::attention()
  Value over = {};            // required: any value with one row per example, [n, ...]
};
// Beam search. The score of a hypothesis Y of X is that of Wu et al. 2016, section 7:
//   log P(Y | X) / ((5 + |Y|) / 6)^length_penalty
//     + coverage * sum over the rows i of X of log(min(sum over steps of the attention to i, 1)),
// where |Y| includes `end`, and sums of attention are at least 1e-6. In each step, the candidates
// of an example are its hypotheses extended by one word and its ended hypotheses. The `beam` best
// candidates are kept; of equal ones the first. An example is done when its `best` have ended and
// no other can overtake them. The loop ends when all examples are done, or at the limit. If there
// are fewer than `best` possible hypotheses, the remaining ones have score -infinity and no words.
//
// The gradient of the scores flows to all values that the decoder was computed from, but not
// through the choice of words.
// Errors: usage, naming the option; at run time: data, for more steps than the limit.
TRIREME_API Hypotheses beam_search(const Decoder& decoder, const BeamOptions& options,
                                   SourceLocation where = SourceLocation::current());

struct GreedyOptions {
  std::int64_t start = -1;  // start, end, limit and over as in BeamOptions
  std::int64_t end = -1;
  std::int64_t limit = 0;
  Value over = {};
};
// Chooses the most likely word at each step, the first of equal ones. The score is log P(Y | X).
TRIREME_API Hypotheses greedy_search(const Decoder& decoder, const GreedyOptions& options,
                                     SourceLocation where = SourceLocation::current());

struct SampleOptions {
  std::int64_t samples = 1;  // number of independent samples per example
  double temperature = 1;    // logits are divided by this; above 0
  std::int64_t top_k = 0;    // only the k most likely words; 0: all
  // Only the smallest set of most likely words with at least this total probability; in (0, 1]:
  // Holtzman et al. 2020. Applied after top_k.
  double top_p = 1;
  std::int64_t start = -1;  // start, end, limit and over as in BeamOptions
  std::int64_t end = -1;
  std::int64_t limit = 0;
  Value over = {};
};
// Draws words from their probabilities. The random numbers are those of the Program: different in
// each run, the same for the same seed and step of the Session. The score is log P(Y | X) of the
// unmodified decoder, regardless of temperature, top_k and top_p.
TRIREME_API Hypotheses sample(const Decoder& decoder, const SampleOptions& options,
                              SourceLocation where = SourceLocation::current());

}  // namespace trireme::nn
