#include "data/text/vocabulary_file.h"

#include <algorithm>
#include <optional>

#include "base/checksum.h"
#include "base/error.h"
#include "base/number_text.h"
#include "data/text/utf8.h"

namespace trireme::text {
namespace {

constexpr std::string_view kKind = "trireme vocabulary ";
constexpr std::int64_t kVersion = 1;
constexpr std::string_view kSpecial[] = {"unknown", "begin", "end"};
constexpr std::string_view kNone = "none";
constexpr std::size_t kDigestLine = 33;  // 32 digits and the line's end

std::string escaped(const std::string& token) {
  std::string text;
  for (const char c : token) {
    switch (c) {
      case '\\': text += "\\\\"; break;
      case '\n': text += "\\n"; break;
      case '\r': text += "\\r"; break;
      case '\t': text += "\\t"; break;
      default: text += c;
    }
  }
  return text;
}

// Digits alone: no sign, no blanks.
std::optional<std::int64_t> whole_number(std::string_view text) {
  const bool digits =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits ? parse_integer(text) : std::nullopt;
}

class VocabularyReader {
 public:
  VocabularyReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  VocabularyFile read() {
    check_kind();
    check_whole();
    data::check_utf8(text_, name_);
    next_line();
    read_header();
    for (std::int64_t id = 0; id < size_; ++id) read_token();
    if (!text_.empty()) fail_here("more lines than the " + std::to_string(size_) + " tokens");
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail_here(const std::string& what) const {
    fail_data(name_ + ":" + std::to_string(line_) + ": " + what);
  }

  void check_kind() const {
    if (text_.empty()) fail_data(name_ + ": the file is empty");
    if (!text_.starts_with(kKind)) {
      fail_data(name_ + ": no vocabulary file, whose first line would be \"" + std::string(kKind) +
                std::to_string(kVersion) + "\"");
    }
    const std::string_view version = text_.substr(0, text_.find('\n')).substr(kKind.size());
    const std::optional<std::int64_t> number = whole_number(version);
    if (!number) fail_data(name_ + ":1: no version of the format");
    if (*number != kVersion) {
      fail_data(name_ + ": a vocabulary of version " + std::to_string(*number) +
                "; this program reads version " + std::to_string(kVersion));
    }
  }

  // Takes the digest off the end.
  void check_whole() {
    const std::size_t body = text_.size() - std::min(text_.size(), kDigestLine);
    const std::string_view digest = text_.substr(body);
    text_ = text_.substr(0, body);
    if (digest != checksum(text_) + "\n" || !text_.ends_with('\n')) {
      fail_data(name_ +
                ": damaged or cut short: the checksum in the last line is not that of the " +
                "lines before; build the vocabulary again, or take a copy");
    }
  }

  std::string_view next_line() {
    if (text_.empty()) fail_here("the file ends here, but more lines must follow");
    ++line_;
    const std::size_t end = text_.find('\n');
    const std::string_view line = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return line;
  }

  // The value of a line "word value".
  std::string_view value_of(std::string_view word) {
    const std::string_view line = next_line();
    if (!line.starts_with(word) || line.substr(word.size(), 1) != " ") {
      fail_here("must be \"" + std::string(word) + "\" and a number");
    }
    return line.substr(word.size() + 1);
  }

  void read_header() {
    const std::optional<std::int64_t> size = whole_number(value_of("tokens"));
    if (!size || *size < 1) fail_here("the number of tokens must be at least 1");
    size_ = *size;
    for (std::size_t i = 0; i < std::size(kSpecial); ++i)
      file_.special[i] = read_special(kSpecial[i]);
  }

  std::int64_t read_special(std::string_view word) {
    const std::string_view value = value_of(word);
    if (value == kNone) return -1;
    const std::optional<std::int64_t> id = whole_number(value);
    if (!id || *id >= size_) {
      fail_here("must be \"none\" or an id from 0 to " + std::to_string(size_ - 1));
    }
    const auto& known = file_.special;
    if (std::find(known.begin(), known.end(), *id) != known.end()) {
      fail_here("id " + std::to_string(*id) + " is another special token, too");
    }
    return *id;
  }

  void read_token() {
    const std::string_view line = next_line();
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) fail_here("must be a count, a tab and a token");
    const std::optional<std::int64_t> count = whole_number(line.substr(0, tab));
    if (!count) fail_here("\"" + std::string(line.substr(0, tab)) + "\" is no count");
    file_.counts.push_back(*count);
    file_.tokens.push_back(unescaped(line.substr(tab + 1)));
  }

  std::string unescaped(std::string_view text) const {
    if (text.empty()) fail_here("an empty token");
    std::string token;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\t' || text[i] == '\r') fail_here("a tab or \\r in a token must be escaped");
      if (text[i] != '\\') {
        token += text[i];
        continue;
      }
      const std::size_t which = std::string_view("\\nrt").find(text.substr(++i, 1));
      if (i == text.size() || which == std::string_view::npos) {
        fail_here("after a backslash must stand \\, n, r or t");
      }
      token += "\\\n\r\t"[which];
    }
    return token;
  }

  std::string_view text_;
  const std::string& name_;
  int line_ = 0;
  std::int64_t size_ = 0;
  VocabularyFile file_{{}, {}, {-1, -1, -1}};
};

}  // namespace

std::string vocabulary_text(const VocabularyFile& file) {
  std::string text = std::string(kKind) + std::to_string(kVersion) + "\ntokens " +
                     std::to_string(file.tokens.size()) + "\n";
  for (std::size_t i = 0; i < std::size(kSpecial); ++i) {
    const std::int64_t id = file.special[i];
    text +=
        std::string(kSpecial[i]) + " " + (id < 0 ? std::string(kNone) : std::to_string(id)) + "\n";
  }
  for (std::size_t i = 0; i < file.tokens.size(); ++i) {
    text += std::to_string(file.counts[i]) + "\t" + escaped(file.tokens[i]) + "\n";
  }
  return text + checksum(text) + "\n";
}

VocabularyFile parse_vocabulary(std::string_view text, const std::string& name) {
  return VocabularyReader(text, name).read();
}

}  // namespace trireme::text
