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

#include "trireme/export.h"
#include "trireme/tensor.h"

// From text to numbers: tokens, ids for them, and samples for language models. docs/how-to/text.md has
// examples.
namespace trireme::text {

// Reading. All text is UTF-8; what is not is an error that names the line and the byte.

// A text file, plain, .gz or .zst. Errors: not_found, io; data, if it is empty or not UTF-8.
TRIREME_API std::string read(const std::string& path);
// Lines without their ends, "\n" or "\r\n"; empty ones too.
TRIREME_API std::vector<std::string> lines(std::string_view text);

// Cutting into tokens. Errors: data, for bytes that are not UTF-8.

struct WordOptions {
  bool lower_case = false;  // each character by Unicode's simple mapping
};

// Words, and each punctuation mark or symbol as a token of its own: "Don't go (3.14%)!" becomes
// Don't go ( 3.14 % ) !
// - Between tokens lie white space (the property White_Space) and control characters, which are no token.
// - A mark is a character of Unicode's categories P and S, but for "_" and its like (Pc). A variation
//   selector (U+FE0E, U+FE0F) stays with the mark before it.
// - All other characters are of words; a word is as long a run of them as there is. So is an apostrophe
//   (' or U+2019) between two of them, and a point or comma between two ASCII digits.
// Languages that are written without spaces want characters() or a SubwordModel.
TRIREME_API std::vector<std::string> words(std::string_view text, const WordOptions& options = {});

// What lies between white space, as defined above.
TRIREME_API std::vector<std::string> split(std::string_view text);

// Every code point, white space too.
TRIREME_API std::vector<std::string> characters(std::string_view text);

// Every byte as an id in [0, 256); needs no vocabulary. Any bytes will do.
TRIREME_API std::vector<std::int64_t> bytes(std::string_view text);
// The text of such ids. Errors: data, for an id outside.
TRIREME_API std::string from_bytes(std::span<const std::int64_t> ids);

// The ways of cutting above, by options.
struct TokenOptions {
  enum class Kind : std::uint8_t {
    words,
    split,
    characters,
    bytes,  // each as byte_vocabulary() calls it; the text need not be UTF-8
  };
  Kind kind = Kind::words;
  bool lower_case = false;  // of words() and split()
  std::int64_t grams =
      1;  // 2: behind the tokens all pairs of neighbours, "not good"; 3: triples too ...
  std::int64_t most = 0;  // only the first so many tokens of a text, and their grams; 0: all
  bool distinct = false;  // each token once, where it is first: whether it is there, not how often
};
// Errors: data, for bytes that are not UTF-8; usage, for options out of range.
TRIREME_API std::vector<std::string> tokens(std::string_view text, const TokenOptions& options);

// Vocabularies.

using TokenCounts = std::unordered_map<std::string, std::int64_t>;

// Adds the tokens of a text to the counts.
TRIREME_API void count(const std::vector<std::string>& tokens, TokenCounts& counts);

struct VocabularyOptions {
  std::int64_t min_count = 1;  // rarer tokens are left out
  std::int64_t max_size = 0;   // ids in all, special tokens too; 0: no limit
  // The special tokens, which come first, in this order; "" for none. There is none for padding:
  // sequences are ragged.
  std::string unknown = "<unk>";
  std::string begin = "<s>";
  std::string end = "</s>";
};

// Tokens and their ids, 0 ... size() - 1.
class TRIREME_API Vocabulary {
 public:
  // Special tokens, then the others by falling count; equal counts in the order of their bytes, which
  // is that of their code points. A token of the text that equals a special one is that one.
  // Errors: data, if there are no tokens, or none as frequent as asked; usage, if special tokens are
  // equal or max_size has no room for them.
  explicit Vocabulary(const TokenCounts& counts, const VocabularyOptions& options = {});

  // These tokens in this order, special ones first if they are not among them, each with count 0.
  // Errors: data, for a token that comes twice, is empty or no UTF-8.
  static Vocabulary of(const std::vector<std::string>& tokens,
                       const VocabularyOptions& options = {});

  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  bool contains(std::string_view token) const;

  // That of the unknown token for a token that is not here. Errors: data, naming the token, if there
  // is no unknown one.
  std::int64_t id(std::string_view token) const;
  std::vector<std::int64_t> encode(const std::vector<std::string>& tokens) const;

  // Errors: data, naming the id, and in a list its place.
  const std::string& token(std::int64_t id) const;
  std::vector<std::string> decode(std::span<const std::int64_t> ids) const;

  // Ids of the special tokens; -1 for none.
  std::int64_t unknown_id() const { return unknown_; }
  std::int64_t begin_id() const { return begin_; }
  std::int64_t end_id() const { return end_; }

  const std::vector<std::string>& tokens() const { return tokens_; }
  // How often the text had each token; the unknown one counts all that were left out.
  const std::vector<std::int64_t>& counts() const { return counts_; }

  // A text file (docs/reference/formats/vocabulary.md), written beside its place and renamed. Errors: io.
  void save(const std::string& path) const;
  // Errors: not_found, io; data, naming the line, if it is damaged, cut short or no vocabulary.
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

// The tokens of Kind::bytes, whose ids are the bytes: "!" to "~" as they are, the others "<0x0A>".
TRIREME_API Vocabulary byte_vocabulary();

// Pieces of words, found by SentencePiece (Kudo and Richardson, EMNLP 2018).

enum class SubwordKind : std::uint8_t {
  unigram,  // Kudo, "Subword Regularization", ACL 2018
  bpe,      // byte-pair encoding: Sennrich, Haddow and Birch, ACL 2016
};

struct SubwordOptions {
  SubwordKind kind = SubwordKind::unigram;
  std::int64_t size = 8000;  // pieces, special ones too
  bool fewer = false;  // take fewer pieces where the text does not yield as many; else an error
  double coverage = 0.9995;  // share of the text's characters that have a piece, 0.98 to 1
  bool bytes = false;        // 256 pieces more, of bytes, for characters without a piece
  bool lower_case = false;
  std::int64_t sample = 0;  // learn from that many lines, picked at random by `seed`; 0: from all
  std::uint64_t seed = 0;
};

// A text becomes pieces of words, and they become that text again: after the normal form NFKC, with runs
// of white space as one space and none at the ends. "▁" (U+2581) in a piece is a space. A cheap handle;
// several threads may use one model.
class TRIREME_API SubwordModel {
 public:
  // The same lines and options give the same model. A line is a unit of text, such as a sentence; those
  // with the character "▅" (U+2585), which SentencePiece keeps for itself, are passed over.
  // Errors: data, if there is no text or it is not UTF-8; usage, for an option out of range or more or
  // fewer pieces than the text can have.
  static SubwordModel train(const std::vector<std::string>& lines,
                            const SubwordOptions& options = {});

  // A model file of SentencePiece, ours or another program's. Errors: not_found, io; data, if it is
  // damaged, cut short or no such file.
  static SubwordModel load(const std::string& path);
  // Writes one, with a checksum, that SentencePiece itself reads too; beside its place and renamed.
  // Errors: io.
  void save(const std::string& path) const;
  // The same from the bytes of a file; `name` is for messages.
  static SubwordModel parse(std::string_view bytes, const std::string& name);

  std::int64_t size() const;

  // Errors: data, for bytes that are not UTF-8.
  std::vector<std::int64_t> encode(std::string_view text) const;
  std::vector<std::string> pieces(std::string_view text) const;
  // Special ids give no text, the unknown one " ⁇ ". Errors: data, naming the id and its place.
  std::string decode(std::span<const std::int64_t> ids) const;

  // Errors: data, naming the id.
  std::string piece(std::int64_t id) const;
  // That of the unknown piece for a piece that is not here.
  std::int64_t id(std::string_view piece) const;

  // -1 for none, which files of other programs may have.
  std::int64_t unknown_id() const;
  std::int64_t begin_id() const;
  std::int64_t end_id() const;

 private:
  struct Model;
  explicit SubwordModel(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
  std::shared_ptr<const Model> model_;
};

// Texts to ids: what a model of texts needs beside its parameters.
struct TRIREME_API Encoder {
  Encoder(TokenOptions tokens, Vocabulary vocabulary);
  // By pieces of words; only the first `most` of a text, 0: all. The vocabulary is that of the pieces. Errors: data,
  // if a file of another program has a piece twice.
  explicit Encoder(SubwordModel subwords, std::int64_t most = 0);

  TokenOptions tokens;  // where there are subwords, only `most` of it counts
  Vocabulary vocabulary;
  std::optional<SubwordModel> subwords;

  // Errors: data, for bytes that are not UTF-8, and as Vocabulary::id().
  std::vector<std::int64_t> encode(std::string_view text) const;
  // The text of ids, of which the special ones give none: words with a space between, all else as it was cut. Errors:
  // data, for an id that is none.
  std::string decode(std::span<const std::int64_t> ids) const;
};

// Samples for language models, from the ids of running text.

// Every run of n ids: the first n - 1 are the context of the last.
struct Ngrams {
  Tensor context;  // i64[samples, n - 1]
  Tensor next;     // i64[samples]
};
// No samples if there are fewer than n ids. Errors: usage, if n is less than 1.
TRIREME_API Ngrams ngrams(std::span<const std::int64_t> ids, std::int64_t n);

struct SkipGramOptions {
  std::int64_t window = 5;  // words on each side
  bool shrink = true;  // each centre draws its window from 1 ... window, so near words count more
  double subsample =
      1e-3;  // frequent words are left out at random, see keep_probability; 0: none are
  std::uint64_t seed = 0;  // draws depend on seed, epoch and place alone
  std::int64_t epoch = 0;
};

// Pairs of a word and one near it.
struct SkipGrams {
  Tensor centre;   // i64[pairs], in the order of the text
  Tensor context;  // i64[pairs]
};
// The skip-gram model of Mikolov et al., "Efficient Estimation of Word Representations in Vector Space",
// 2013. Words are left out before windows are laid, so that windows then reach further. `counts` holds
// how often each id is in the text, as Vocabulary::counts() does.
// Errors: data, naming an id that has no count; usage.
TRIREME_API SkipGrams skip_grams(std::span<const std::int64_t> ids,
                                 std::span<const std::int64_t> counts,
                                 const SkipGramOptions& options = {});

// The probability that a word stays when frequent ones are left out: min(1, sqrt(t / f)), where f is its
// share of all words (Mikolov et al., "Distributed Representations of Words and Phrases and their
// Compositionality", NIPS 2013, formula 5). 1 for a word that was not counted. Errors: usage.
TRIREME_API std::vector<double> keep_probability(std::span<const std::int64_t> counts, double t);

// Where negative samples come from, in the same paper: in proportion to count^power. Errors: usage, if
// no count is above 0.
TRIREME_API std::vector<double> noise_distribution(std::span<const std::int64_t> counts,
                                                   double power = 0.75);

// Ids drawn from a distribution, or weights in proportion to one, i64 of this shape; an element depends
// on seed, epoch and its place alone. Errors: usage, if a weight is negative or not finite, or none is
// above 0.
TRIREME_API Tensor draw(std::span<const double> distribution, std::vector<std::int64_t> shape,
                        std::uint64_t seed, std::int64_t epoch = 0);

}  // namespace trireme::text
