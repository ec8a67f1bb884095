#pragma once

// Generation: the step of a decoder that nn::rnn trains with, run on the words that it chooses itself, as a
// loop of the Program. docs/how-to/decoding.md has examples.

#include <cstdint>
#include <functional>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/rnn.h"

namespace trireme::nn {

// One step of a decoder: of the words i64 [active] before, the logits [active, vocabulary], floats, of the
// words that may follow. `active` counts hypotheses here. Memories and static inputs are as in nn::rnn:
// memories begin with a row [n, ...] for each example, static inputs are of the examples, and each
// hypothesis has those of its own example. For parameters that training and generation share, the decoder
// opens Program::shared_scope().
using Decoder = std::function<Value(Step& step, const Value& word)>;

// What generation gives for each example: `best` hypotheses, or samples.
struct Hypotheses {
  // i64: the words, without start and end. Sequences of two levels: n examples, n * best hypotheses, words.
  // sequence::splits(tokens) splits the words, sequence::splits() of a value by hypothesis the hypotheses.
  Value tokens;
  Value scores;  // [n, best], of the dtype of the logits
  Value ended;   // booleans [n, best]: whether `end` was chosen; others were cut at the limit
};

struct BeamOptions {
  std::int64_t beam = 4;      // hypotheses of an example that are followed, 1 to 10,000
  std::int64_t best = 1;      // how many of them are given, the best first; at most `beam`
  std::int64_t start = -1;    // required: what the first step gets for the word before
  std::int64_t end = -1;      // required: the word that ends a hypothesis
  std::int64_t limit = 0;     // required: words of a hypothesis at most, `end` being one of them
  double length_penalty = 0;  // the exponent below, 0 or more
  double coverage = 0;        // the factor below, 0 or more; needs Step::attention()
  Value over = {};            // required: any value with a row for each example, [n, ...]
};
// Beam search. The score of a hypothesis Y of X is that of Wu et al. 2016, section 7:
//   log P(Y | X) / ((5 + |Y|) / 6)^length_penalty
//     + coverage * sum over the rows i of X of log(min(sum over steps of the attention to i, 1)),
// where |Y| counts `end`, and a sum of attention below 1e-6 counts as that. Of what continues the
// hypotheses of an example by one word, and those that have ended, the `beam` best stay; of equal ones the
// first. An example is done when its `best` have ended and no other can overtake them; the loop ends when
// all are, or at the limit. Where there are fewer than `best` possible hypotheses, the scores of the others
// are -infinity and they have no words.
// The gradient of the scores goes to all that the decoder was computed from; none goes through the choice of
// words. Errors: usage, naming the option; when it runs: data, for more steps than the limit.
TRIREME_API Hypotheses beam_search(const Decoder& decoder, const BeamOptions& options,
                                   SourceLocation where = SourceLocation::current());

struct GreedyOptions {
  std::int64_t start = -1;  // these as in BeamOptions
  std::int64_t end = -1;
  std::int64_t limit = 0;
  Value over = {};
};
// The likeliest word at each step, the first of equal ones. The score is log P(Y | X).
TRIREME_API Hypotheses greedy_search(const Decoder& decoder, const GreedyOptions& options,
                                     SourceLocation where = SourceLocation::current());

struct SampleOptions {
  std::int64_t samples = 1;  // of each example, independent of each other
  double temperature = 1;    // logits are divided by it; above 0
  std::int64_t top_k = 0;    // of the so many likeliest words; 0: of all
  // Of the likeliest words that have this probability together, the least number of them; in (0, 1]:
  // Holtzman et al. 2020. After top_k.
  double top_p = 1;
  std::int64_t start = -1;  // these as in BeamOptions
  std::int64_t end = -1;
  std::int64_t limit = 0;
  Value over = {};
};
// Words drawn by their probability. The random numbers are those of the Program: other ones in each run,
// the same for the same seed and step of the Session. The score is log P(Y | X) of the decoder as it is,
// whatever temperature, top_k and top_p are.
TRIREME_API Hypotheses sample(const Decoder& decoder, const SampleOptions& options,
                              SourceLocation where = SourceLocation::current());

}  // namespace trireme::nn
