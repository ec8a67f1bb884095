#pragma once

// Losses and decoders for sequences of labels: linear-chain conditional random fields, and
// connectionist temporal classification. Sequences are those of trireme/sequence.h, of any length,
// without padding. Invalid arguments throw Error(usage) with the function, the caller's line and
// the value. docs/how-to/structured.md shows how to use them.

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/ragged.h"

namespace trireme::nn {

// --- Linear-chain conditional random fields -----------------------------------------------------
// One tag per row. The score of tags y_1 ... y_n of a sequence with emissions e [rows, tags] is
//   start[y_1] + e[1, y_1] + transition[y_1, y_2] + e[2, y_2] + ... + end[y_n],
// and the probability of y is exp(score) divided by its sum over all y: Lafferty et al. 2001.

// Emissions and scores are finite floats of one dtype. A score of -1e4 forbids a tag or transition.
struct CrfScores {
  Value start;       // [tags]: of the first tag
  Value transition;  // [tags, tags]: at [i, j] of tag j after tag i
  Value end;         // [tags]: of the last tag
};
struct CrfOptions {
  std::string name = {};
};
// Creates scores to learn: parameters NAME.start, NAME.transition and NAME.end, initially zero.
// Pass the same scores to the loss and the decoder of one Program. Another Program calls this with
// the same name and gets the values from a checkpoint or weights. Scores may also be other Values,
// such as these plus a constant [tags, tags] that forbids pairs of tags.
TRIREME_API CrfScores crf_scores(const Value& emissions, const CrfOptions& options = {},
                                 SourceLocation where = SourceLocation::current());

// -log of the probability of the tags `labels`, integers [rows], for each sequence: [n], 0 for an
// empty sequence. All scores are taken relative to those of the labels, step by step, so long
// sequences lose no precision.
// Errors (at run time): data, for a label outside [0, tags).
TRIREME_API Value crf_loss(const Value& emissions, const Value& labels, const CrfScores& scores,
                           SourceLocation where = SourceLocation::current());

struct CrfPath {
  Value tags;   // i64 [rows]
  Value score;  // [n]: of these tags; 0 for an empty sequence
};
// Returns the tags with the largest score: Viterbi 1967. Of several, the one with the smallest last
// tag, then the smallest last but one, and so on.
TRIREME_API CrfPath crf_decode(const Value& emissions, const CrfScores& scores,
                               SourceLocation where = SourceLocation::current());

// --- Connectionist temporal classification ------------------------------------------------------
// For sequences with fewer labels than rows and no alignment. Each row is assigned a class or
// `blank`. To read the labels, equal adjacent classes are merged and blanks removed: Graves et al.
// 2006.

struct CtcOptions {
  std::int64_t blank = 0;  // the class of the blank
  // The loss of a sequence with too few rows for its labels is 0, not infinity. Its gradient is 0
  // in both cases.
  bool zero_infinity = false;
};
// -log of the probability of the labels for each sequence: [n]. logits are [rows, classes]; labels
// are integers [label_rows], other sequences over the same batch. Equal adjacent labels need a
// blank between them. So a sequence needs at least as many rows as labels plus such pairs.
// Errors (at run time): data, for a label that is blank or outside [0, classes).
TRIREME_API Value ctc_loss(const Value& logits, const Value& labels, const CtcOptions& options = {},
                           SourceLocation where = SourceLocation::current());

struct CtcGreedyOptions {
  std::int64_t blank = 0;
};
// Reads the labels from the largest class of each row (the first of equal ones): i64 [new rows], n
// sequences. Their lengths are known at run time.
TRIREME_API Value ctc_greedy(const Value& logits, const CtcGreedyOptions& options = {},
                             SourceLocation where = SourceLocation::current());

struct CtcBeamOptions {
  std::int64_t width = 16;  // prefixes kept at each row
  std::int64_t best = 1;    // hypotheses to return, at most `width`
  std::int64_t blank = 0;
};
struct CtcHypothesis {
  std::vector<std::int64_t> labels;
  double log_probability = 0;  // of the alignments that were explored
};
// For each sequence, the most probable labels in order of decreasing probability. Runs on the host.
// logits are f32 or f64 [rows, classes]. Prefix beam search, Graves 2012 (section 7.5.2), Hannun et
// al. 2014, without a language model. Labels of equal probability are in lexicographic order. An
// empty sequence has one hypothesis, without labels.
// Errors: usage, for invalid options or logits; data, for NaN.
TRIREME_API std::vector<std::vector<CtcHypothesis>> ctc_beam_search(
    const RaggedTensor& logits, const CtcBeamOptions& options = {});

}  // namespace trireme::nn
