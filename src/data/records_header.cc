// The text that says what a record file holds.
#include <algorithm>

#include "base/error.h"
#include "base/number_text.h"
#include "data/records.h"

namespace trireme::data {
namespace {

constexpr std::int64_t kMaxLevels = 16;

// Blanks, control characters and '%' as %XX, so that a name is one word of a line.
std::string escape(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && c != '%' && byte != 0x7f) result += c;
    else (result += '%', result += kDigits[byte >> 4], result += kDigits[byte & 15]);
  }
  return result;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  RecordsHeader read() {
    while (!text_.empty()) {
      ++line_;
      const std::size_t end = text_.find('\n');
      if (end == std::string_view::npos) fail_here("the last line does not end");
      read_line(text_.substr(0, end));
      text_.remove_prefix(end + 1);
    }
    if (header_.columns.empty()) fail_data(name_ + ": the header names no columns");
    return std::move(header_);
  }

 private:
  [[noreturn]] void fail_here(const std::string& what) const {
    fail_data(name_ + ": line " + std::to_string(line_) + " of the header: " + what);
  }

  static std::string_view next_word(std::string_view& line) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return word;
  }

  std::string unescape(std::string_view word) const {
    std::string result;
    for (std::size_t i = 0; i < word.size(); ++i) {
      if (word[i] != '%') {
        result += word[i];
        continue;
      }
      const int high = i + 2 < word.size() ? hex_digit(word[i + 1]) : -1;
      const int low = high >= 0 ? hex_digit(word[i + 2]) : -1;
      if (low < 0) fail_here("\"%\" must be followed by two digits");
      result += static_cast<char>(high * 16 + low);
      i += 2;
    }
    return result;
  }

  std::int64_t size(std::string_view word) const {
    const std::optional<std::int64_t> value = parse_integer(word);
    if (!value || *value < 0 || *value > kLargestExample) {
      fail_here("\"" + std::string(word.substr(0, 40)) + "\" is not a size");
    }
    return *value;
  }

  void read_line(std::string_view line) {
    const std::string_view key = next_word(line);
    if (key == "column") {
      read_column(line);
    } else if (key == "class") {
      header_.class_names.push_back(unescape(line));
    } else if (header_.columns.empty() || (key != "ids" && key != "word" && key != "levels")) {
      fail_here("\"" + std::string(key.substr(0, 40)) + "\" is not known here");
    } else if (key == "levels") {
      read_levels(line, header_.columns.back());
    } else if (key == "ids") {
      header_.columns.back().column.ids = size(line);
    } else {
      header_.columns.back().column.words.push_back(unescape(line));
    }
  }

  void read_levels(std::string_view line, StoredColumn& stored) const {
    const std::int64_t levels = size(line);
    if (levels < 1 || levels > kMaxLevels || stored.as_bytes) {
      fail_here(stored.as_bytes ? "a ragged column cannot be stored as another dtype"
                                : "there can be 1 to " + std::to_string(kMaxLevels) + " levels");
    }
    stored.column.levels = static_cast<int>(levels);
  }

  void read_column(std::string_view line) {
    StoredColumn stored;
    stored.column.name = unescape(next_word(line));
    if (is_splits_name(stored.column.name)) {
      fail_here("a column cannot be called as the splits of another are");
    }
    for (const StoredColumn& other : header_.columns) {
      if (other.column.name == stored.column.name) {
        fail_here("there is a column \"" + stored.column.name + "\" already");
      }
    }
    DType as = DType::f32;
    if (!parse_dtype(next_word(line), &stored.column.dtype) || !parse_dtype(next_word(line), &as)) {
      fail_here("not a dtype");
    }
    stored.as_bytes = stored.column.dtype == DType::f32 && as == DType::u8;
    if (!stored.as_bytes && as != stored.column.dtype) {
      fail_here("only f32 can be stored as another dtype, u8");
    }
    std::int64_t elements = 1;
    while (!line.empty()) {
      stored.column.shape.push_back(size(next_word(line)));
      elements *= stored.column.shape.back();
      if (elements > kLargestExample) break;
    }
    total_ += elements;
    if (total_ > kLargestExample) fail_here("one example has more than 2^31 values");
    header_.columns.push_back(std::move(stored));
  }

  std::string_view text_;
  const std::string& name_;
  int line_ = 0;
  std::int64_t total_ = 0;  // values of one example
  RecordsHeader header_;
};

}  // namespace

std::size_t StoredColumn::elements() const {
  std::size_t count = 1;
  for (const std::int64_t dim : column.shape) count *= static_cast<std::size_t>(dim);
  return count;
}

std::size_t StoredColumn::size_bytes() const {
  return elements() * (as_bytes ? 1 : size_of(column.dtype));
}

std::size_t RecordsHeader::payload() const {
  std::size_t bytes = 0;
  for (const StoredColumn& stored : columns) {
    bytes += stored.column.levels > 0 ? sizeof(std::int64_t) : stored.size_bytes();
  }
  return bytes;
}

bool RecordsHeader::ragged() const {
  return std::any_of(columns.begin(), columns.end(),
                     [](const StoredColumn& stored) { return stored.column.levels > 0; });
}

std::string print_header(const RecordsHeader& header) {
  std::string text;
  for (const StoredColumn& stored : header.columns) {
    const Column& column = stored.column;
    const std::string dtype(name_of(column.dtype));
    text += "column " + escape(column.name) + " " + dtype + " " + (stored.as_bytes ? "u8" : dtype);
    for (const std::int64_t dim : column.shape) text += " " + std::to_string(dim);
    text += "\n";
    if (column.levels > 0) text += "levels " + std::to_string(column.levels) + "\n";
    if (column.ids > 0) text += "ids " + std::to_string(column.ids) + "\n";
    for (const std::string& word : column.words) text += "word " + escape(word) + "\n";
  }
  for (const std::string& name : header.class_names) text += "class " + escape(name) + "\n";
  return text;
}

RecordsHeader parse_header(std::string_view text, const std::string& name) {
  return HeaderReader(text, name).read();
}

}  // namespace trireme::data
