#include "ir/scanner.h"

#include <algorithm>

#include "base/error.h"
#include "base/number_text.h"

namespace trireme::ir {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/' || c == '-' || c == '+';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

// Splits "digits.cc:10" into file and line. Returns false if the text has another form.
bool parse_place(std::string_view text, Location* location) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view digits = text.substr(colon + 1);
  if (digits.empty() || digits.size() > 9) return false;
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return false;
  location->file = text.substr(0, colon);
  location->line = static_cast<int>(*parse_integer(digits));
  return true;
}

}  // namespace

// Layer names contain neither ':' nor spaces, so the last colon and the space after it are enough.
std::optional<Location> parse_location(std::string_view text) {
  Location location;
  const std::size_t space = text.rfind(' ');
  if (space != std::string_view::npos && is_name(text.substr(space + 1))) {
    location.layer = text.substr(space + 1);
    text = text.substr(0, space);
  }
  if (!parse_place(text, &location)) return std::nullopt;
  return location;
}

void Scanner::skip() {
  while (position_ < text_.size()) {
    if (is_space(text_[position_])) {
      ++position_;
    } else if (text_.substr(position_, 2) == "//") {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else {
      return;
    }
  }
}

bool Scanner::at_end() {
  skip();
  return position_ == text_.size();
}

bool Scanner::peek(char c) { return !at_end() && text_[position_] == c; }

bool Scanner::accept(char c) {
  if (!peek(c)) return false;
  take(1);
  return true;
}

void Scanner::expect(char c, const char* where) {
  if (!accept(c)) fail("expected '" + std::string(1, c) + "' " + where + ", found " + found());
}

std::string_view Scanner::peek_run() const {
  std::size_t end = position_;
  while (end < text_.size() && is_word_character(text_[end])) ++end;
  return text_.substr(position_, end - position_);
}

bool Scanner::peek_word(std::string_view word) {
  skip();
  if (text_.substr(position_, word.size()) != word) return false;
  const std::size_t end = position_ + word.size();
  return end == text_.size() || !is_word_character(text_[end]);
}

bool Scanner::accept_word(std::string_view word) {
  if (!peek_word(word)) return false;
  take(word.size());
  return true;
}

void Scanner::expect_word(std::string_view word) {
  if (!accept_word(word)) fail("expected '" + std::string(word) + "', found " + found());
}

std::string_view Scanner::word() {
  skip();
  const std::string_view run = peek_run();
  take(run.size());
  return run;
}

std::string Scanner::name(const char* what) {
  skip();
  const std::string_view run = peek_run();
  if (!is_name(run)) fail("expected the name of " + std::string(what) + ", found " + found());
  take(run.size());
  return std::string(run);
}

std::string Scanner::value_name() {
  expect('%', "before the name of a value");
  const std::string_view run = peek_run();
  const bool number = !run.empty() && run.size() <= 18 &&
                      run.find_first_not_of("0123456789") == std::string_view::npos;
  if (!number && !is_name(run))
    fail("'%' must be followed by a name or a number, found " + found());
  take(run.size());
  return std::string(run);
}

std::string Scanner::quoted() {
  expect('"', "before a text");
  std::string result;
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '"') {
      take(1);
      return result;
    }
    if (static_cast<unsigned char>(c) < ' ') break;
    ++position_;
    if (c != '\\') {
      result += c;
      continue;
    }
    const char escaped = position_ < text_.size() ? text_[position_++] : '\0';
    if (escaped == '"' || escaped == '\\') {
      result += escaped;
    } else if (escaped == 'n') {
      result += '\n';
    } else if (escaped == 'x' && position_ + 2 <= text_.size()) {
      const auto high = hex_digit(text_[position_]);
      const auto low = hex_digit(text_[position_ + 1]);
      if (!high || !low) fail("\\x needs two of 0-9 a-f");
      result += static_cast<char>(*high * 16 + *low);
      position_ += 2;
    } else {
      fail("unknown escape in a text; use \\\" \\\\ \\n or \\xHH");
    }
  }
  fail("a text must end with '\"' on its line");
}

std::string_view Scanner::until(std::string_view ends, std::size_t max_length) {
  skip();
  const std::size_t begin = position_;
  while (position_ < text_.size() && ends.find(text_[position_]) == std::string_view::npos) {
    if (position_ - begin == max_length) {
      fail_at(begin, "longer than " + std::to_string(max_length) + " characters");
    }
    ++position_;
  }
  take(0);
  return trimmed(text_.substr(begin, position_ - begin));
}

Location Scanner::trailing_location() const {
  std::size_t begin = token_end_;
  while (begin < text_.size() && (text_[begin] == ' ' || text_[begin] == '\t')) ++begin;
  if (text_.substr(begin, 3) != "// ") return {};
  begin += 3;
  std::string_view comment = text_.substr(begin, text_.find('\n', begin) - begin);
  while (!comment.empty() && is_space(comment.back())) comment.remove_suffix(1);
  return parse_location(comment).value_or(Location());
}

std::string Scanner::found() const {
  if (position_ >= text_.size()) return "the end of the text";
  std::string_view run = peek_run();
  if (run.empty()) run = text_.substr(position_, 1);
  std::string result = "'";
  for (const char c : run.substr(0, 40)) {
    result += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  }
  return result + (run.size() > 40 ? "...'" : "'");
}

void Scanner::fail(const std::string& message, const std::string& hint) const {
  fail_at(position_, message, hint);
}

void Scanner::fail_at(std::size_t position, const std::string& message,
                      const std::string& hint) const {
  const std::string_view before = text_.substr(0, std::min(position, text_.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  fail_data("program text " + std::to_string(line) + ":" + std::to_string(column) + ": " + message +
            (hint.empty() ? "" : "\n  hint   " + hint));
}

}  // namespace trireme::ir
