#pragma once

// Metrics of structured output over plain data in host memory: edit distance, F1 of chunks, BLEU,
// ROUGE and perplexity. Each has a function for a whole corpus and a class with incremental
// updates. Definitions, examples and sources are in docs/reference/sequence-metrics.md. Metrics of
// Values, which a Trainer measures, are in trireme/metrics.h.
//
// An empty corpus is Error(usage) for the functions; the classes return NaN before the first
// update. An update that throws has no effect.

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/export.h"

namespace trireme {

// Concatenated sequences: sequence i is ids[splits[i]] to ids[splits[i + 1] - 1]. splits has one
// entry more than there are sequences, starts with 0, never decreases and ends with ids.size().
struct PackedIds {
  std::span<const std::int64_t> ids = {};
  std::span<const std::int64_t> splits = {};
};

// --- Edit distance ----------------------------------------------------------------------------

// The minimum number of insertions, deletions and substitutions that turn the reference into the
// hypothesis. Of several solutions, the one with the most substitutions.
struct Edits {
  std::int64_t insertions = 0;     // elements only in the hypothesis
  std::int64_t deletions = 0;      // elements only in the reference
  std::int64_t substitutions = 0;  // replaced elements
  std::int64_t reference = 0;      // elements of the reference

  std::int64_t total() const { return insertions + deletions + substitutions; }
  // total() / reference. If the reference is empty: 0 if the hypothesis is empty too, else
  // infinity.
  TRIREME_API double rate() const;
  TRIREME_API Edits& operator+=(const Edits& other);
};

// Takes time proportional to the product of the lengths, and memory proportional to their sum. The
// elements are ids, code points of UTF-8 (Error(data) for invalid bytes) or words. Sequences of
// 2^30 elements or more are Error(usage).
TRIREME_API Edits edit_distance(std::span<const std::int64_t> hypothesis,
                                std::span<const std::int64_t> reference);
TRIREME_API Edits edit_distance(std::string_view hypothesis, std::string_view reference);
TRIREME_API Edits edit_distance(std::span<const std::string> hypothesis,
                                std::span<const std::string> reference);

// The error rate of a corpus: all edits / all elements of the references, like the word and
// character error rates of speech recognition. A pair with an empty reference adds its insertions
// to the edits and nothing to the elements.
class TRIREME_API EditRate {
 public:
  // Adds one pair of sequences, or many.
  // Errors: data, as edit_distance(), and for wrong splits; usage, if the numbers of sequences
  // differ.
  void update(std::span<const std::int64_t> hypothesis, std::span<const std::int64_t> reference);
  void update(std::string_view hypothesis, std::string_view reference);
  void update(std::span<const std::string> hypothesis, std::span<const std::string> reference);
  void update(const PackedIds& hypotheses, const PackedIds& references);

  double value() const;           // edits().rate(), NaN without pairs
  double sequence_value() const;  // fraction of pairs that differ, NaN without pairs
  const Edits& edits() const { return edits_; }
  std::int64_t sequences() const { return sequences_; }
  void reset() { *this = {}; }

 private:
  void add(const Edits& edits);

  Edits edits_;
  std::int64_t sequences_ = 0;
  std::int64_t wrong_ = 0;  // sequences with edits
};

// --- Chunks -----------------------------------------------------------------------------------
// A chunk is a run of tokens with a type. Tags mark where it begins and ends: a prefix, "-" and the
// type, as in B-ARG0, or "O" outside chunks. Tags are interpreted like CoNLL's conlleval: adjacent
// tags belong to the same chunk, unless the types differ, the left tag is an E or S, or the right
// tag is a B or S. So sequences that violate their scheme's rules can be read too.

enum class ChunkScheme {
  iob,    // B I: I may begin a chunk too (IOB1), or only B may (IOB2, BIO)
  ioe,    // I E: the same for ends, IOE1 and IOE2
  iobes,  // B I E S: S is a chunk of one token
  plain,  // no prefix: a tag is a type; equal adjacent tags are one chunk
};

struct ChunkOptions {
  ChunkScheme scheme = ChunkScheme::iob;
  std::vector<std::string> tags = {};       // meaning of ids: id i is tags[i]
  std::vector<std::string> leave_out = {};  // types that are not counted, such as "V"
  std::string outside = "O";                // the tag of tokens outside chunks
};

// A predicted chunk is correct if the reference has a chunk with the same type, first and last
// token. Quotients with a divisor of 0 are 0.
struct ChunkCounts {
  std::int64_t correct = 0, predicted = 0, reference = 0;

  TRIREME_API double precision() const;  // correct / predicted
  TRIREME_API double recall() const;     // correct / reference
  TRIREME_API double f1() const;         // the harmonic mean of the two
  TRIREME_API ChunkCounts& operator+=(const ChunkCounts& other);
};

class TRIREME_API ChunkF1 {
 public:
  // Errors: usage, if a tag is not valid in the scheme.
  explicit ChunkF1(ChunkOptions options = {});

  // Adds one sequence as tags or ids, predicted and reference, or many sequences with the same
  // splits.
  // Errors: data, naming the place, for a tag that is not valid in the scheme, an id without a tag,
  // or wrong splits; usage, if lengths differ or ids are given without a list of tags.
  void update(std::span<const std::string> predicted, std::span<const std::string> reference);
  void update(std::span<const std::int64_t> predicted, std::span<const std::int64_t> reference);
  void update(std::span<const std::int64_t> predicted, std::span<const std::int64_t> reference,
              std::span<const std::int64_t> splits);

  double value() const;  // counts().f1(), NaN without sequences
  ChunkCounts counts() const;
  // Counts for each type that occurred and was not left out.
  std::map<std::string, ChunkCounts> types() const;
  std::int64_t sequences() const { return sequences_; }
  void reset();

 private:
  struct Tag {
    char prefix = 'O';  // B, I, E, S, or O outside
    int type = -1;      // in names_; -1 outside
  };
  struct Chunk;

  Tag read(std::string_view tag, const std::string& place);
  std::vector<Tag> read_tags(std::span<const std::string> tags, const char* side);
  void read_ids(std::span<const std::int64_t> ids, std::int64_t sequence, const char* side,
                std::vector<Tag>& to) const;
  int type_number(std::string_view name);
  static std::vector<Chunk> chunks_of(std::span<const Tag> tags);
  void count(std::span<const Tag> predicted, std::span<const Tag> reference);

  ChunkOptions options_;
  std::vector<Tag> tags_;            // of ids
  std::vector<std::string> names_;   // of types
  std::vector<ChunkCounts> counts_;  // of types
  std::int64_t sequences_ = 0;
};

// For a whole corpus.
// Errors: as ChunkF1; usage, if there are no sequences or their numbers differ.
TRIREME_API ChunkCounts chunk_f1(std::span<const std::vector<std::string>> predicted,
                                 std::span<const std::vector<std::string>> reference,
                                 const ChunkOptions& options = {});

// --- BLEU -------------------------------------------------------------------------------------

struct BleuOptions {
  enum class Tokenizer {
    v13a,  // of NIST's mteval-v13a: splits off punctuation, decodes four HTML entities
    none,  // splits at white space
  };
  enum class Smoothing {
    exp,   // the i-th order without a match counts as 1 / 2^i of a match (NIST)
    none,  // an order without a match makes the score 0
  };
  Tokenizer tokenizer = Tokenizer::v13a;
  Smoothing smoothing = Smoothing::exp;
  bool lower_case = false;  // all text, with Unicode's rules
  // Leaves out the orders of which the hypotheses have no n-gram, for scores of single sentences.
  // Without it the score is 0 then.
  bool effective_order = false;
};

struct BleuScore {
  static constexpr int kOrders = 4;  // n-grams of 1 to 4 words

  double score = 0;                             // in [0, 100]
  std::array<double, kOrders> precisions = {};  // in percent, smoothed
  double brevity_penalty = 0;                   // in [0, 1]
  std::int64_t hypothesis_length = 0;           // words
  std::int64_t reference_length = 0;            // words of the references nearest in length
  // n-grams of the hypotheses that also occur in references.
  std::array<std::int64_t, kOrders> matches = {};
  std::array<std::int64_t, kOrders> totals = {};  // n-grams of the hypotheses
};

// BLEU of a corpus (Papineni and others 2002), as sacreBLEU reports it (Post 2018): matches,
// n-grams and lengths are summed over all sentences, then divided.
class TRIREME_API Bleu {
 public:
  explicit Bleu(BleuOptions options = {}) : options_(options) {}

  // Adds a sentence and its references.
  // Errors: usage, without references; data, for invalid UTF-8.
  void update(std::string_view hypothesis, const std::vector<std::string>& references);

  double value() const;  // score().score, NaN without sentences
  BleuScore score() const;
  std::int64_t sentences() const { return sentences_; }
  void reset() { *this = Bleu(options_); }

 private:
  BleuOptions options_;
  BleuScore sums_;  // matches, totals and lengths
  std::int64_t sentences_ = 0;
};

// For a whole corpus; each sentence has one or several references.
// Errors: as Bleu; usage, if there are no sentences or the numbers differ.
TRIREME_API BleuScore corpus_bleu(std::span<const std::string> hypotheses,
                                  std::span<const std::string> references,
                                  const BleuOptions& options = {});
TRIREME_API BleuScore corpus_bleu(std::span<const std::string> hypotheses,
                                  std::span<const std::vector<std::string>> references,
                                  const BleuOptions& options = {});

// --- ROUGE ------------------------------------------------------------------------------------

struct RougeOptions {
  enum class Tokenizer {
    ascii,  // runs of a-z and 0-9 after lower-casing; all other characters are spaces
    none,   // splits at white space
  };
  Tokenizer tokenizer = Tokenizer::ascii;
};

// In [0, 1]. Quotients with a divisor of 0 are 0.
struct RougeScore {
  double precision = 0;  // of the words of the hypothesis
  double recall = 0;     // of the words of the reference
  double f1 = 0;         // the harmonic mean of the two
};

struct RougeScores {
  RougeScore rouge_1;  // common words
  RougeScore rouge_2;  // common pairs of words
  RougeScore rouge_l;  // the longest common subsequence
};

// ROUGE-1, ROUGE-2 and ROUGE-L (Lin 2004), as Google's rouge_score computes them without stemming:
// the means of the scores of all texts. A text is one sequence of words, line ends included.
class TRIREME_API Rouge {
 public:
  explicit Rouge(RougeOptions options = {}) : options_(options) {}

  // Adds a text and its references. For each of the three scores, the reference with the largest F1
  // counts. Takes time proportional to the product of the lengths.
  // Errors: usage, without references; data, for invalid UTF-8.
  void update(std::string_view hypothesis, const std::vector<std::string>& references);

  double value() const;       // score().rouge_l.f1, NaN without texts
  RougeScores score() const;  // NaN without texts
  std::int64_t texts() const { return texts_; }
  void reset() { *this = Rouge(options_); }

 private:
  RougeOptions options_;
  RougeScores sums_;
  std::int64_t texts_ = 0;
};

// For a whole corpus; each text has one or several references.
// Errors: as Rouge; usage, if there are no texts or the numbers differ.
TRIREME_API RougeScores corpus_rouge(std::span<const std::string> hypotheses,
                                     std::span<const std::string> references,
                                     const RougeOptions& options = {});
TRIREME_API RougeScores corpus_rouge(std::span<const std::string> hypotheses,
                                     std::span<const std::vector<std::string>> references,
                                     const RougeOptions& options = {});

// --- Perplexity -------------------------------------------------------------------------------

// exp(the mean negative log-likelihood of tokens), with natural logarithms.
class TRIREME_API Perplexity {
 public:
  // Adds the losses of tokens.
  // Errors: data, for a NaN; infinity is allowed and means probability 0.
  void update(std::span<const float> losses);
  void update(std::span<const double> losses);
  // Adds the sum of the losses of this many tokens.
  // Errors: usage, for a negative count, or 0 tokens with a loss.
  void update(double sum, std::int64_t tokens);

  double value() const;  // NaN without tokens
  std::int64_t tokens() const { return tokens_; }
  void reset() { *this = {}; }

 private:
  double sum_ = 0;
  std::int64_t tokens_ = 0;
};

// Errors: as Perplexity; usage, without tokens.
TRIREME_API double perplexity(std::span<const float> losses);
TRIREME_API double perplexity(std::span<const double> losses);

}  // namespace trireme
