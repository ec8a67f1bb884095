#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "data/columns.h"
#include "data/text/unicode.h"
#include "data/text/utf8.h"
#include "trireme/text_data.h"

namespace trireme {
namespace text {
namespace {

constexpr std::int64_t kMaxGrams = 8;

std::string byte_token(std::int64_t byte) {
  if (byte > ' ' && byte <= '~') return std::string(1, static_cast<char>(byte));
  constexpr char kDigits[] = "0123456789ABCDEF";
  return std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">";
}

std::vector<std::string> byte_tokens(std::string_view text) {
  std::vector<std::string> tokens;
  for (const std::int64_t byte : bytes(text)) tokens.push_back(byte_token(byte));
  return tokens;
}

// Character by character, as words() has it.
std::string lower(std::string_view text) {
  data::check_utf8(text, "the text");
  std::string result;
  while (!text.empty()) data::append_utf8(result, data::to_lower(data::take_code_point(text)));
  return result;
}

TokenOptions with_new_names(TokenOptions options) {
  options.most.apply_to(options.max_tokens);
  return options;
}

std::vector<std::string> cut(std::string_view text, const TokenOptions& options) {
  switch (options.kind) {
    case TokenOptions::Kind::words: return words(text, {.lower_case = options.lower_case});
    case TokenOptions::Kind::split: return split(options.lower_case ? lower(text) : text);
    case TokenOptions::Kind::characters: return characters(text);
    case TokenOptions::Kind::bytes: return byte_tokens(text);
  }
  fail_internal("tokens: an unknown kind");
}

}  // namespace

std::vector<std::string> tokens(std::string_view text, const TokenOptions& given) {
  const TokenOptions options = with_new_names(given);
  if (options.grams < 1 || options.grams > kMaxGrams || options.max_tokens < 0) {
    fail_usage("tokens: grams must be 1 to 8 and max_tokens not negative");
  }
  std::vector<std::string> tokens = cut(text, options);
  if (options.max_tokens > 0 && tokens.size() > static_cast<std::size_t>(options.max_tokens)) {
    tokens.resize(static_cast<std::size_t>(options.max_tokens));
  }
  const std::size_t single = tokens.size();
  for (std::size_t n = 2; n <= static_cast<std::size_t>(options.grams); ++n) {
    for (std::size_t i = 0; i + n <= single; ++i) {
      std::string gram = tokens[i];
      for (std::size_t k = 1; k < n; ++k) gram += " " + tokens[i + k];
      tokens.push_back(std::move(gram));
    }
  }
  if (options.distinct) {
    std::unordered_set<std::string> seen;
    std::erase_if(tokens, [&](const std::string& token) { return !seen.insert(token).second; });
  }
  return tokens;
}

Vocabulary byte_vocabulary() {
  std::vector<std::string> tokens;
  for (std::int64_t byte = 0; byte < 256; ++byte) tokens.push_back(byte_token(byte));
  return Vocabulary::of(tokens, {.unknown = "", .begin = "", .end = ""});
}

namespace {

Vocabulary vocabulary_of(const SubwordModel& model) {
  std::vector<std::string> pieces;
  for (std::int64_t id = 0; id < model.size(); ++id) pieces.push_back(model.piece(id));
  const auto name = [&](std::int64_t id) { return id < 0 ? std::string() : model.piece(id); };
  return Vocabulary::of(pieces, {.unknown = name(model.unknown_id()),
                                 .begin = name(model.begin_id()),
                                 .end = name(model.end_id())});
}

bool is_special(const Vocabulary& vocabulary, std::int64_t id) {
  return id == vocabulary.unknown_id() || id == vocabulary.begin_id() || id == vocabulary.end_id();
}

}  // namespace

Encoder::Encoder(TokenOptions tokens_in, Vocabulary vocabulary_in)
    : tokens(with_new_names(std::move(tokens_in))), vocabulary(std::move(vocabulary_in)) {}

Encoder::Encoder(SubwordModel model, std::int64_t max_tokens)
    : tokens{.max_tokens = max_tokens},
      vocabulary(vocabulary_of(model)),
      subwords(std::move(model)) {
  if (max_tokens < 0) fail_usage("Encoder: max_tokens must not be negative");
}

std::vector<std::int64_t> Encoder::encode(std::string_view text) const {
  if (!subwords) return vocabulary.encode(text::tokens(text, tokens));
  std::vector<std::int64_t> ids = subwords->encode(text);
  if (tokens.max_tokens > 0)
    ids.resize(std::min(ids.size(), static_cast<std::size_t>(tokens.max_tokens)));
  return ids;
}

std::string Encoder::decode(std::span<const std::int64_t> ids) const {
  if (subwords) return subwords->decode(ids);
  if (tokens.kind == TokenOptions::Kind::bytes) return from_bytes(ids);
  const bool spaced = tokens.kind != TokenOptions::Kind::characters;
  std::string text;
  for (const std::int64_t id : ids) {
    const std::string& token = vocabulary.token(id);
    if (is_special(vocabulary, id)) continue;
    if (spaced && !text.empty()) text += ' ';
    text += token;
  }
  return text;
}

}  // namespace text

namespace data {

text::Vocabulary vocabulary_of(const Corpus& corpus, const text::TokenOptions& tokens,
                               const text::VocabularyOptions& options, std::string_view field) {
  if (tokens.kind == text::TokenOptions::Kind::bytes) return text::byte_vocabulary();
  text::TokenCounts counts;
  for (const std::string& text : corpus.field(field)) {
    text::count(text::tokens(text, tokens), counts);
  }
  return text::Vocabulary(counts, options);
}

Dataset classified_texts(const Corpus& corpus, const text::Encoder& encoder,
                         std::vector<std::string> classes) {
  const std::vector<std::string>& labels = corpus.field("label");
  if (classes.empty()) {
    classes = labels;
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  }
  std::vector<std::vector<std::int64_t>> ids;
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto found = std::find(classes.begin(), classes.end(), labels[i]);
    if (found == classes.end()) {
      fail_data(corpus.name + ": example " + std::to_string(i) + " has the label \"" + labels[i] +
                "\", which is none of the " + std::to_string(classes.size()) + " classes");
    }
    ids.push_back(encoder.encode(corpus.field("text")[i]));
    numbers.push_back(found - classes.begin());
  }
  const auto count = static_cast<std::int64_t>(numbers.size());
  const RaggedTensor ragged = RaggedTensor::from(ids);
  const Column text{.name = "text", .shape = {}, .ids = encoder.vocabulary.size()};
  return from_columns(
      {{text, ragged.rows()},
       {{.name = splits_name("text", 0, 1), .shape = {}}, ragged.splits()},
       {{.name = "label", .shape = {}}, Tensor::from<std::int64_t>({count}, numbers)}},
      std::move(classes));
}

}  // namespace data
}  // namespace trireme
