#include "data/sequence/words.h"

#include "data/text/utf8.h"

namespace trireme::data {
namespace {

bool is_space(char32_t c) {
  return (c >= 0x9 && c <= 0xD) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_no_digit(char c) { return !is_digit(c); }
bool is_stop(char c) { return c == '.' || c == ','; }
bool is_hyphen(char c) { return c == '-'; }

// ASCII's signs without the apostrophe, comma, hyphen and full stop; a space counts as one, which
// changes nothing.
bool is_sign(char c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

std::string with_spaced_signs(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (is_sign(c)) result.append({' ', c, ' '});
    else result += c;
  }
  return result;
}

using Test = bool (*)(char);

// Inserts a space inside each pair of characters that passes the tests, and another one before or
// after the pair, from the left and without overlap. Bytes of longer characters count as no digits,
// which gives the same result as whole characters.
enum class Outer { behind, before };
std::string with_spaced_pairs(const std::string& text, Test first, Test second, Outer outer) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      result += text[i];
      continue;
    }
    if (outer == Outer::before) result += ' ';
    result.append({text[i], ' ', text[i + 1]});
    if (outer == Outer::behind) result += ' ';
    ++i;
  }
  return result;
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  while (!text.empty()) {
    const std::string_view from = text;
    const bool space = is_space(take_code_point(text));
    if (!space && !inside) words.emplace_back();
    if (!space) words.back() += from.substr(0, from.size() - text.size());
    inside = !space;
  }
  return words;
}

std::string spaced_13a(std::string_view segment) {
  std::string text(segment);
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
  text = with_spaced_signs(" " + text + " ");
  text = with_spaced_pairs(text, is_no_digit, is_stop, Outer::behind);
  text = with_spaced_pairs(text, is_stop, is_no_digit, Outer::before);
  return with_spaced_pairs(text, is_digit, is_hyphen, Outer::behind);
}

}  // namespace trireme::data
