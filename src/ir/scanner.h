#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "ir/program.h"

namespace trireme::ir {

// Walks over the characters of a Program's text. Knows white space, comments and the small tokens;
// what they mean is the parser's. Every failure is Error(data) with line and column.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Past white space and comments, to the next token.
  void skip();
  bool at_end();
  std::size_t position() const { return position_; }

  bool peek(char c);
  bool accept(char c);
  void expect(char c, const char* where);
  bool peek_word(std::string_view word);
  bool accept_word(std::string_view word);
  void expect_word(std::string_view word);

  // The longest run of letters, digits and "_./-+"; may be empty.
  std::string_view word();
  // A word that is a name (is_name()); `what` says of what, for the message.
  std::string name(const char* what);
  // "%image", "%12": what stands behind the percent sign.
  std::string value_name();
  // "text" in double quotes, with \" \\ \n and \xHH.
  std::string quoted();
  // All up to one of the characters `ends`, without white space around it; at most `longest` long.
  std::string_view until(std::string_view ends, std::size_t longest);
  // The location written as a comment behind the last token, on its line.
  Location trailing_location() const;

  [[noreturn]] void fail(const std::string& message, const std::string& hint = "") const;
  [[noreturn]] void fail_at(std::size_t position, const std::string& message,
                            const std::string& hint = "") const;

 private:
  std::string_view peek_run() const;
  void take(std::size_t count) { token_end_ = position_ += count; }
  std::string found() const;  // what stands here, for messages

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t token_end_ = 0;  // behind the last token that was taken; skip() leaves it
};

// "digits.cc:10 encoder/conv2d_0" as Location::str() writes it; empty if it is not that.
std::optional<Location> parse_location(std::string_view text);

}  // namespace trireme::ir
