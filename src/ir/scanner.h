#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "ir/program.h"

namespace trireme::ir {

// Splits the text of a Program into tokens. It knows white space, comments and tokens, but not
// their meaning, which is the parser's. Every failure is Error(data) with line and column.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Skips white space and comments up to the next token.
  void skip();
  bool at_end();
  std::size_t position() const { return position_; }

  bool peek(char c);
  bool accept(char c);
  void expect(char c, const char* where);
  bool peek_word(std::string_view word);
  bool accept_word(std::string_view word);
  void expect_word(std::string_view word);

  // Reads the longest run of letters, digits and "_./-+"; may be empty.
  std::string_view word();
  // Reads a word that is a valid name (is_name()). `what` describes the named thing in messages.
  std::string name(const char* what);
  // Reads "%image" or "%12". Returns the part after the percent sign.
  std::string value_name();
  // Reads a text in double quotes, with the escapes \" \\ \n and \xHH.
  std::string quoted();
  // Reads up to one of the characters `ends`, at most `max_length` characters. Trims white space.
  std::string_view until(std::string_view ends, std::size_t max_length);
  // Returns the location in the comment after the last token, on the same line.
  Location trailing_location() const;

  [[noreturn]] void fail(const std::string& message, const std::string& hint = "") const;
  [[noreturn]] void fail_at(std::size_t position, const std::string& message,
                            const std::string& hint = "") const;

 private:
  std::string_view peek_run() const;
  void take(std::size_t count) { token_end_ = position_ += count; }
  std::string found() const;  // the text at this position, for messages

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t token_end_ = 0;  // end of the last token; skip() does not move it
};

// Parses "digits.cc:10 encoder/conv2d_0", the form of Location::str(). Returns nullopt if the text
// has another form.
std::optional<Location> parse_location(std::string_view text);

}  // namespace trireme::ir
