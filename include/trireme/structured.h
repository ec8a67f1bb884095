#pragma once

// Losses and decoders of whole sequences of labels: linear-chain conditional random fields, and connectionist
// temporal classification. Sequences are those of trireme/sequence.h, of any lengths, without padding.
// A mistake is Error(usage) naming the function, the caller's line and the value. docs/how-to/structured.md.

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/ragged.h"

namespace trireme::nn {

// --- Linear-chain conditional random fields -----------------------------------------------------
// A tag for each row. The score of tags y_1 ... y_n of a sequence with emissions e [rows, tags] is
//   start[y_1] + e[1, y_1] + transition[y_1, y_2] + e[2, y_2] + ... + end[y_n],
// and the probability of y is exp(score) by its sum over all y: Lafferty et al. 2001.

// Emissions and scores are finite floats of one dtype. A score of -1e4 forbids what it stands for.
struct CrfScores {
  Value start;       // [tags]: of the first tag
  Value transition;  // [tags, tags]: at [i, j] of tag j behind tag i
  Value end;         // [tags]: of the last tag
};
struct CrfOptions {
  std::string name = {};
};
// Scores to be learned: parameters NAME.start, NAME.transition and NAME.end, zeros at first. The loss and the decoder
// of one Program are given the same scores; another Program calls this with the same name, and
// has the values when it reads a checkpoint or weights. Scores may also be made otherwise, of
// any Values, as these with a constant [tags, tags] added to forbid pairs of tags.
TRIREME_API CrfScores crf_scores(const Value& emissions, const CrfOptions& options = {},
                                 SourceLocation where = SourceLocation::current());

// -log of the probability of the tags `labels`, integers [rows], of each sequence: [n], 0 for one without
// rows. All scores are taken relative to those of the labels, step by step, so that a long sequence costs no digits.
// Errors when it runs: data, for a label outside [0, tags).
TRIREME_API Value crf_loss(const Value& emissions, const Value& labels, const CrfScores& scores,
                           SourceLocation where = SourceLocation::current());

struct CrfPath {
  Value tags;   // i64 [rows]
  Value score;  // [n]: of these tags; 0 for a sequence without rows
};
// The tags of the largest score: Viterbi 1967. Of several, the one whose last tag is the smallest, then the
// last but one, and so on.
TRIREME_API CrfPath crf_decode(const Value& emissions, const CrfScores& scores,
                               SourceLocation where = SourceLocation::current());

// --- Connectionist temporal classification ------------------------------------------------------
// Fewer labels than rows, and nobody says which rows they belong to. Each row is given a class or `blank`; what
// is read are the classes without blanks, equal neighbours as one: Graves et al. 2006.

struct CtcOptions {
  std::int64_t blank = 0;  // the class that is read as nothing
  // Sequences with too few rows for their labels count 0, not infinity. Their gradient is 0 in either case.
  bool zero_infinity = false;
};
// -log of the probability of the labels, of each sequence: [n]. logits are [rows, classes], labels integers
// [label_rows], other sequences over the same batch. Equal neighbours among the labels need a blank between
// them, so labels of a sequence need as many rows as there are labels and such pairs.
// Errors when it runs: data, for a label that is blank or outside [0, classes).
TRIREME_API Value ctc_loss(const Value& logits, const Value& labels, const CtcOptions& options = {},
                           SourceLocation where = SourceLocation::current());

struct CtcGreedyOptions {
  std::int64_t blank = 0;
};
// What is read where each row is given its largest class, the first of equal ones: i64 [new rows], as many
// sequences, of lengths that a run tells.
TRIREME_API Value ctc_greedy(const Value& logits, const CtcGreedyOptions& options = {},
                             SourceLocation where = SourceLocation::current());

struct CtcBeamOptions {
  std::int64_t width = 16;  // prefixes that are kept at each row
  std::int64_t best = 1;    // hypotheses that are given, at most `width`
  std::int64_t blank = 0;
};
struct CtcHypothesis {
  std::vector<std::int64_t> labels;
  double log_probability = 0;  // of those alignments that were followed
};
// For each sequence the most probable labels, by falling probability, of logits f32 or f64 [rows, classes] on
// the host: prefix beam search, Graves 2012 (section 7.5.2), Hannun et al. 2014, without a language model. Of equal
// probabilities the labels that come first in the order of a dictionary. Sequences without rows have one
// hypothesis, without labels.
// Errors: usage, for options or logits that make no sense; data, for NaN.
TRIREME_API std::vector<std::vector<CtcHypothesis>> ctc_beam_search(
    const RaggedTensor& logits, const CtcBeamOptions& options = {});

}  // namespace trireme::nn
