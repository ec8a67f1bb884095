#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trireme/deprecated.h"
#include "trireme/export.h"
#include "trireme/tensor.h"

// Converts text to numbers: tokens, their ids, and samples for language models. docs/how-to/text.md
// has examples.
namespace trireme::text {

// Reading. All text is UTF-8; otherwise there is an error with the line and the byte.

// Reads a text file, plain, .gz or .zst. Errors: not_found; io; data if it is empty or not UTF-8.
TRIREME_API std::string read(const std::string& path);
// Returns lines without their ends, "\n" or "\r\n"; also empty lines.
TRIREME_API std::vector<std::string> lines(std::string_view text);

// Tokenization. Errors: data for bytes that are not UTF-8.

struct WordOptions {
  bool lower_case = false;  // each character by the simple mapping of Unicode
};

// Returns words, and each punctuation mark or symbol as a separate token: "Don't go (3.14%)!"
// becomes Don't go ( 3.14 % ) !
// - White space (the property White_Space) and control characters separate tokens. They are no
//   tokens.
// - A mark is a character of the Unicode categories P and S, except "_" and similar ones (Pc). A
//   variation selector (U+FE0E, U+FE0F) belongs to the mark before it.
// - All other characters form words; a word is the longest run of them. An apostrophe (' or U+2019)
//   between two of them, and a point or comma between two ASCII digits, belong to the word.
// For languages without spaces, use characters() or a SubwordModel.
TRIREME_API std::vector<std::string> words(std::string_view text, const WordOptions& options = {});

// Returns the parts between white space, as defined above.
TRIREME_API std::vector<std::string> split(std::string_view text);

// Returns every code point, also white space.
TRIREME_API std::vector<std::string> characters(std::string_view text);

// Returns every byte as an id in [0, 256). Needs no vocabulary; accepts any bytes.
TRIREME_API std::vector<std::int64_t> bytes(std::string_view text);
// Returns the text of such ids. Errors: data for an id out of range.
TRIREME_API std::string from_bytes(std::span<const std::int64_t> ids);

// Selects one of the tokenizations above.
struct TokenOptions {
  enum class Kind : std::uint8_t {
    words,
    split,
    characters,
    bytes,  // each as in byte_vocabulary(); the text may be any bytes
  };
  Kind kind = Kind::words;
  bool lower_case = false;  // of words() and split()
  // 2: appends all pairs of neighbors after the tokens, "not good"; 3: also triples; and so on.
  std::int64_t grams = 1;
  std::int64_t max_tokens = 0;  // only the first tokens of a text, and their grams; 0: all
  DeprecatedOption<std::int64_t, "most", "max_tokens"> most = {};
  bool distinct = false;  // each token once, at its first position
};
// Errors: data for bytes that are not UTF-8; usage for options out of range.
TRIREME_API std::vector<std::string> tokens(std::string_view text, const TokenOptions& options);

// Vocabularies.

using TokenCounts = std::unordered_map<std::string, std::int64_t>;

// Adds the tokens of a text to the counts.
TRIREME_API void count(const std::vector<std::string>& tokens, TokenCounts& counts);

struct VocabularyOptions {
  std::int64_t min_count = 1;  // rarer tokens are dropped
  std::int64_t max_size = 0;   // maximum number of ids, including special tokens; 0: no limit
  // The special tokens, which get the first ids in this order; "" for none. There is none for
  // padding, because sequences are ragged.
  std::string unknown = "<unk>";
  std::string begin = "<s>";
  std::string end = "</s>";
};

// Tokens and their ids, 0 ... size() - 1.
class TRIREME_API Vocabulary {
 public:
  // Special tokens, then the others by decreasing count; equal counts in the order of bytes, which
  // is the order of code points. A token of the text that equals a special one counts as that one.
  // Errors: data if there are no tokens with enough counts; usage if special tokens are equal or
  // exceed max_size.
  explicit Vocabulary(const TokenCounts& counts, const VocabularyOptions& options = {});

  // These tokens in this order, each with count 0. Special ones come first if they are not among
  // them. Errors: data for a token that occurs twice, is empty or not UTF-8.
  static Vocabulary of(const std::vector<std::string>& tokens,
                       const VocabularyOptions& options = {});

  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  bool contains(std::string_view token) const;

  // Returns the id of the unknown token for a token that is not in the vocabulary. Errors: data
  // with the token if there is no unknown token.
  std::int64_t id(std::string_view token) const;
  std::vector<std::int64_t> encode(const std::vector<std::string>& tokens) const;

  // Errors: data with the id, and with its position in a list.
  const std::string& token(std::int64_t id) const;
  std::vector<std::string> decode(std::span<const std::int64_t> ids) const;

  // Ids of the special tokens; -1 for none.
  std::int64_t unknown_id() const { return unknown_; }
  std::int64_t begin_id() const { return begin_; }
  std::int64_t end_id() const { return end_; }

  const std::vector<std::string>& tokens() const { return tokens_; }
  // The count of each token in the text; the unknown token counts all dropped ones.
  const std::vector<std::int64_t>& counts() const { return counts_; }

  // Writes a text file (docs/reference/formats/vocabulary.md) atomically. Errors: io.
  void save(const std::string& path) const;
  // Errors: not_found; io; data with the line if it is damaged, truncated or no vocabulary.
  static Vocabulary load(const std::string& path);

  // The same as text; `name` is for messages.
  std::string str() const;
  static Vocabulary parse(std::string_view text, const std::string& name);

 private:
  Vocabulary() = default;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view token) const {
      return std::hash<std::string_view>{}(token);
    }
  };

  bool add(const std::string& token, std::int64_t count);
  void name_special(const VocabularyOptions& options);

  std::vector<std::string> tokens_;
  std::vector<std::int64_t> counts_;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> ids_;
  std::int64_t unknown_ = -1;
  std::int64_t begin_ = -1;
  std::int64_t end_ = -1;
};

// The tokens of Kind::bytes, whose ids are the bytes: "!" to "~", and the others as "<0x0A>".
TRIREME_API Vocabulary byte_vocabulary();

// Subwords by SentencePiece (Kudo and Richardson, EMNLP 2018).

enum class SubwordKind : std::uint8_t {
  unigram,  // Kudo, "Subword Regularization", ACL 2018
  bpe,      // byte-pair encoding: Sennrich, Haddow and Birch, ACL 2016
};

struct SubwordOptions {
  SubwordKind kind = SubwordKind::unigram;
  std::int64_t size = 8000;  // pieces, including special ones
  bool fewer = false;        // allow fewer pieces if the text has no more; otherwise an error
  double coverage = 0.9995;  // share of the characters of the text with a piece, 0.98 to 1
  bool bytes = false;        // 256 more pieces, of bytes, for characters without a piece
  bool lower_case = false;
  std::int64_t sample = 0;  // train on this many random lines, by `seed`; 0: on all
  std::uint64_t seed = 0;
};

// Converts a text into subwords and back. The text is first normalized by SentencePiece's rule
// nmt_nfkc: Unicode NFKC, without control characters such as U+0001. Runs of white space, tabs and
// ends of lines too, become one space, and none at the ends. "▁" (U+2581) in a piece is a space. A
// model file from another program keeps its own rule. A cheap handle; thread-safe.
class TRIREME_API SubwordModel {
 public:
  // Trains a model, which depends only on lines and options. A line is a unit of text, such as a
  // sentence. Lines with the character "▅" (U+2585), which SentencePiece reserves, are skipped.
  // Errors: data if there is no text or it is not UTF-8; usage for an option out of range, or more
  // or fewer pieces than the text allows.
  static SubwordModel train(const std::vector<std::string>& lines,
                            const SubwordOptions& options = {});

  // Reads a model file of SentencePiece from any program. Errors: not_found; io; data if it is
  // damaged, truncated or no such file.
  static SubwordModel load(const std::string& path);
  // Writes a model file with a checksum, atomically. SentencePiece can read it, too. Errors: io.
  void save(const std::string& path) const;
  // The same from the bytes of a file; `name` is for messages.
  static SubwordModel parse(std::string_view bytes, const std::string& name);

  std::int64_t size() const;

  // Errors: data for bytes that are not UTF-8.
  std::vector<std::int64_t> encode(std::string_view text) const;
  std::vector<std::string> pieces(std::string_view text) const;
  // Special ids have no text; the unknown one is " ⁇ ". Errors: data with the id and its position.
  std::string decode(std::span<const std::int64_t> ids) const;

  // Errors: data with the id.
  std::string piece(std::int64_t id) const;
  // Returns the id of the unknown piece for a piece that is not in the model.
  std::int64_t id(std::string_view piece) const;

  // -1 if there is none, which is possible in files of other programs.
  std::int64_t unknown_id() const;
  std::int64_t begin_id() const;
  std::int64_t end_id() const;

 private:
  struct Model;
  explicit SubwordModel(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
  std::shared_ptr<const Model> model_;
};

// Converts texts to ids. A model of texts needs it in addition to its parameters.
struct TRIREME_API Encoder {
  Encoder(TokenOptions tokens, Vocabulary vocabulary);
  // With subwords: the first `max_tokens` of a text, 0: all. Uses the vocabulary of the pieces.
  // Errors: data if a file of another program has a piece twice.
  explicit Encoder(SubwordModel subwords, std::int64_t max_tokens = 0);

  TokenOptions tokens;  // with subwords, only `max_tokens` is used
  Vocabulary vocabulary;
  std::optional<SubwordModel> subwords;

  // Errors: data for bytes that are not UTF-8, and as Vocabulary::id().
  std::vector<std::int64_t> encode(std::string_view text) const;
  // Returns the text of ids, without special ones: words joined by spaces, other tokens joined
  // directly. Errors: data for an invalid id.
  std::string decode(std::span<const std::int64_t> ids) const;
};

// Samples for language models from the ids of running text.

// Every run of n ids: the first n - 1 ids are the context of the last one.
struct Ngrams {
  Tensor context;  // i64[samples, n - 1]
  Tensor next;     // i64[samples]
};
// No samples if there are fewer than n ids. Errors: usage if n is less than 1.
TRIREME_API Ngrams ngrams(std::span<const std::int64_t> ids, std::int64_t n);

struct SkipGramOptions {
  std::int64_t window = 5;  // words on each side
  bool shrink =
      true;  // each center draws its window from 1 ... window, so near words have more weight
  double subsample = 1e-3;  // drops frequent words at random, see keep_probability(); 0: never
  std::uint64_t seed = 0;   // draws depend only on seed, epoch and position
  std::int64_t epoch = 0;
};

// Clang warns of the deprecated member in the implicit constructors.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
// Pairs of a word and a nearby word.
struct SkipGrams {
  Tensor center;   // i64[pairs], in the order of the text
  Tensor context;  // i64[pairs]
  [[deprecated("use center")]] Tensor centre = center;
};
#pragma GCC diagnostic pop
// The skip-gram model of Mikolov et al., "Efficient Estimation of Word Representations in Vector
// Space", 2013. Words are dropped before windows are formed, so that windows reach further.
// `counts` has the count of each id in the text, like Vocabulary::counts(). Errors: data with an id
// that has no count; usage.
TRIREME_API SkipGrams skip_grams(std::span<const std::int64_t> ids,
                                 std::span<const std::int64_t> counts,
                                 const SkipGramOptions& options = {});

// Returns the probability of keeping a word when frequent ones are dropped: min(1, sqrt(t / f)),
// where f is its share of all words (Mikolov et al., "Distributed Representations of Words and
// Phrases and their Compositionality", NIPS 2013, formula 5). 1 for a word that was not counted.
// Errors: usage.
TRIREME_API std::vector<double> keep_probability(std::span<const std::int64_t> counts, double t);

// Returns the distribution of negative samples in the same paper, proportional to count^power.
// Errors: usage if no count is above 0.
TRIREME_API std::vector<double> noise_distribution(std::span<const std::int64_t> counts,
                                                   double power = 0.75);

// Draws ids, i64 of this shape, from a distribution or from weights proportional to one. An element
// depends only on seed, epoch and its position. Errors: usage if a weight is negative or not
// finite, or none is above 0.
TRIREME_API Tensor draw(std::span<const double> distribution, std::vector<std::int64_t> shape,
                        std::uint64_t seed, std::int64_t epoch = 0);

}  // namespace trireme::text
