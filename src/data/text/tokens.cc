// Text cut into tokens, by the rules that trireme/text.h states.
#include "base/error.h"
#include "data/lines.h"
#include "data/text/corpus.h"
#include "data/text/unicode.h"
#include "data/text/utf8.h"
#include "trireme/text.h"

namespace trireme::text {
namespace {

using data::Character;
using data::CharacterKind;

constexpr const char* kTheText = "the text";

bool is_digit(char32_t code) { return code >= '0' && code <= '9'; }
bool is_apostrophe(char32_t code) { return code == '\'' || code == 0x2019; }
bool is_variation(char32_t code) { return code == 0xFE0E || code == 0xFE0F; }
bool is_word(const Character& character) {
  return character.length > 0 && data::kind_of(character.code) == CharacterKind::word;
}

// Reads one text from its front to its end. Precondition: it is UTF-8.
class WordReader {
 public:
  WordReader(std::string_view text, const WordOptions& options) : rest_(text), options_(options) {}

  std::vector<std::string> read() {
    while (!rest_.empty()) {
      const Character next = data::first_character(rest_);
      switch (data::kind_of(next.code)) {
        case CharacterKind::white: rest_.remove_prefix(next.length); break;
        case CharacterKind::mark: read_mark(next); break;
        case CharacterKind::word: read_word(); break;
      }
    }
    return std::move(tokens_);
  }

 private:
  void take(const Character& character) {
    if (options_.lower_case) {
      data::append_utf8(tokens_.back(), data::to_lower(character.code));
    } else {
      tokens_.back() += rest_.substr(0, character.length);
    }
    rest_.remove_prefix(character.length);
  }

  void read_mark(const Character& mark) {
    tokens_.emplace_back();
    take(mark);
    const Character next = data::first_character(rest_);
    if (is_variation(next.code)) take(next);
  }

  void read_word() {
    tokens_.emplace_back();
    char32_t last = 0;
    for (;;) {
      const Character next = data::first_character(rest_);
      if (!is_word(next) && !joins(last, next)) return;
      take(next);
      last = next.code;
    }
  }

  // Whether a character that is not of words stands inside one all the same.
  bool joins(char32_t last, const Character& joint) const {
    if (joint.length == 0) return false;
    const Character after = data::first_character(rest_.substr(joint.length));
    if (is_apostrophe(joint.code)) return is_word(after);
    return (joint.code == '.' || joint.code == ',') && is_digit(last) && is_digit(after.code);
  }

  std::string_view rest_;
  const WordOptions& options_;
  std::vector<std::string> tokens_;
};

}  // namespace

std::string read(const std::string& path) {
  std::string text = data::read_text(path);
  if (text.empty()) fail_data(path + ": the file is empty");
  return text;
}

std::vector<std::string> lines(std::string_view text) {
  const std::vector<std::string_view> views = data::lines_of(text);
  return {views.begin(), views.end()};
}

std::vector<std::string> words(std::string_view text, const WordOptions& options) {
  data::check_utf8(text, kTheText);
  return WordReader(text, options).read();
}

std::vector<std::string> split(std::string_view text) {
  data::check_utf8(text, kTheText);
  std::vector<std::string> tokens;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const Character next = data::first_character(text.substr(at));
    const bool white = data::kind_of(next.code) == CharacterKind::white;
    if (!white && !inside) tokens.emplace_back();
    if (!white) tokens.back() += text.substr(at, next.length);
    inside = !white;
    at += next.length;
  }
  return tokens;
}

std::vector<std::string> characters(std::string_view text) {
  data::check_utf8(text, kTheText);
  std::vector<std::string> tokens;
  for (std::size_t at = 0; at < text.size(); at += tokens.back().size()) {
    tokens.emplace_back(text.substr(at, data::first_character(text.substr(at)).length));
  }
  return tokens;
}

std::vector<std::int64_t> bytes(std::string_view text) {
  std::vector<std::int64_t> ids;
  ids.reserve(text.size());
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

std::string from_bytes(std::span<const std::int64_t> ids) {
  std::string text;
  text.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] > 255) {
      fail_data("id " + std::to_string(ids[i]) + " at place " + std::to_string(i) +
                " is no byte; bytes are 0 to 255");
    }
    text += static_cast<char>(ids[i]);
  }
  return text;
}

}  // namespace trireme::text
