#include "data/csv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/number_text.h"
#include "data/lines.h"

namespace trireme::data {
namespace {

std::string at_line(const std::string& name, int line) {
  return name + ":" + std::to_string(line) + ": ";
}

// Reads cells one after the other and counts lines.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& name, const CsvFormat& format)
      : text_(without_bom(text)), name_(name), format_(format) {}

  int line() const { return line_; }
  bool at_end() const { return text_.empty(); }

  void skip_line() {
    take_to(text_.find_first_of("\r\n"));
    end_cell();
  }

  // The next row that is not a line of blanks; false at the end of the text.
  bool next_row(std::vector<std::string>* cells, int* line) {
    while (!text_.empty() && is_blank_line()) skip_line();
    if (text_.empty()) return false;
    *line = line_;
    cells->clear();
    do cells->push_back(next_cell());
    while (!row_ended_);
    return true;
  }

 private:
  char take() {
    const char c = text_[0];
    text_.remove_prefix(1);
    if (c == '\n' || (c == '\r' && !text_.starts_with('\n'))) ++line_;
    return c;
  }
  std::string_view take_to(std::size_t end) {
    const std::string_view taken = text_.substr(0, end);
    text_.remove_prefix(taken.size());
    return taken;
  }

  bool is_blank(char c) const { return (c == ' ' || c == '\t') && c != format_.separator; }
  bool is_blank_line() const {
    std::size_t at = 0;
    while (at < text_.size() && is_blank(text_[at])) ++at;
    return at == text_.size() || text_[at] == '\n' || text_[at] == '\r';
  }

  std::string next_cell() {
    row_ended_ = false;
    if (format_.skip_initial_space) {
      while (!text_.empty() && is_blank(text_[0])) take();
    }
    if (!text_.empty() && text_[0] == '"') return quoted_cell();
    const char ends[] = {format_.separator, '\n', '\r'};
    const std::string_view cell = take_to(text_.find_first_of({ends, sizeof ends}));
    end_cell();
    return std::string(trimmed(cell));
  }

  std::string quoted_cell() {
    const int start = line_;
    take();
    std::string cell;
    for (;;) {
      if (text_.empty()) fail_data(at_line(name_, start) + "a quote is not closed");
      const char c = take();
      if (c != '"') {
        cell += c;
      } else if (!text_.empty() && text_[0] == '"') {
        cell += take();
      } else {
        break;
      }
    }
    while (!text_.empty() && is_blank(text_[0])) take();
    if (!text_.empty() && text_[0] != format_.separator && text_[0] != '\n' && text_[0] != '\r') {
      fail_data(at_line(name_, line_) + "text after a closing quote");
    }
    end_cell();
    return cell;
  }

  // Past the separator or the line end after a cell.
  void end_cell() {
    const char end = text_.empty() ? '\n' : take();
    row_ended_ = end == '\n' || end == '\r';
    if (end == '\r' && text_.starts_with('\n')) take();
  }

  std::string_view text_;
  const std::string& name_;
  const CsvFormat& format_;
  int line_ = 1;
  bool row_ended_ = false;
};

void check_format(const CsvFormat& format) {
  const char thousands = format.thousands;
  if (format.decimal == format.separator || format.decimal == thousands) {
    fail_usage(std::string("CSV: decimal is '") + format.decimal +
               "', which also separates cells or thousands");
  }
}

void check_names(const CsvTable& table, int line) {
  std::set<std::string> seen;
  for (const std::string& column : table.header) {
    if (seen.insert(column).second) continue;
    fail_data(at_line(table.name, line) + "two columns have the name \"" + column +
              "\"\n  hint   give them other names: header = false, skip_lines = 1 and names");
  }
}

std::string hint_for(const std::vector<std::string>& cells, const CsvFormat& format) {
  const bool quoted = std::any_of(cells.begin(), cells.end(),
                                  [](const std::string& cell) { return cell.starts_with('"'); });
  if (!quoted || format.skip_initial_space) return "";
  return "\n  hint   a quote follows a blank: set skip_initial_space";
}

}  // namespace

CsvTable parse_csv(std::string_view text, const std::string& name, const CsvFormat& format) {
  check_format(format);
  CsvReader reader(text, name, format);
  for (int i = 0; i < format.skip_lines && !reader.at_end(); ++i) reader.skip_line();
  CsvTable table;
  table.name = name;
  table.format = format;
  std::vector<std::string> cells;
  int line = 0;
  bool more = reader.next_row(&cells, &line);
  if (!more) fail_data(name + ": the file has no rows");
  if (format.header) {
    table.header = cells;
    check_names(table, line);
    more = reader.next_row(&cells, &line);
  } else {
    for (std::size_t c = 0; c < cells.size(); ++c) table.header.push_back(std::to_string(c));
  }
  table.columns.resize(table.header.size());
  for (; more; more = reader.next_row(&cells, &line)) {
    if (cells.size() != table.header.size()) {
      fail_data(at_line(name, line) + std::to_string(cells.size()) +
                " cells, but the first line has " + std::to_string(table.header.size()) +
                hint_for(cells, format));
    }
    table.lines.push_back(line);
    for (std::size_t c = 0; c < cells.size(); ++c) {
      table.columns[c].push_back(cells[c]);
    }
  }
  return table;
}

std::vector<std::string> CsvColumn::words() const {
  std::vector<std::string> words;
  words.reserve(size());
  for (const std::string_view cell : *this) words.emplace_back(cell);
  return words;
}

std::size_t CsvTable::index(const std::string& column) const {
  for (std::size_t c = 0; c < header.size(); ++c) {
    if (header[c] == column) return c;
  }
  std::string message = name + ": no column \"" + column + "\"";
  const std::string near = nearest(column, header);
  if (!near.empty()) message += "; did you mean \"" + near + "\"?";
  fail_usage(message);
}

std::string CsvTable::number_text(std::string_view cell) const {
  if (format.decimal == '.' && format.thousands == '\0') return std::string(cell);
  const auto is_digit = [&](std::size_t i) {
    return i < cell.size() && cell[i] >= '0' && cell[i] <= '9';
  };
  std::string text;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] == format.thousands) {
      if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) return "";
    } else if (cell[i] == format.decimal) {
      text += '.';
    } else if (cell[i] == '.') {
      return "";
    } else {
      text += cell[i];
    }
  }
  return text;
}

// What to try if a cell is no number.
std::string CsvTable::hint_for(std::string_view cell) const {
  std::string lower(cell);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const char* word : {"na", "n/a", "nan", "null", "none", "nil", "?", "-", "."}) {
    if (lower == word) return "if it means a missing value, set missing_word to it, and missing";
  }
  for (const char* other : {";", "\t", "|"}) {
    if (header.size() == 1 && cell.find(other) != std::string_view::npos) {
      return std::string("set separator to \"") + (*other == '\t' ? "\\t" : other) + "\"";
    }
  }
  if (format.decimal == '.' && cell.find(',') != std::string_view::npos) {
    return "set decimal or thousands to \",\"";
  }
  return "a column of words can be one_hot or one of the categories";
}

std::vector<double> CsvTable::numbers(std::size_t column, bool allow_missing) const {
  std::vector<double> result;
  for (std::size_t row = 0; row < rows(); ++row) {
    const std::string_view cell = columns[column][row];
    const std::optional<double> number = parse_float(number_text(cell));
    if (number && std::isfinite(*number)) {
      result.push_back(*number);
    } else if (!cell.empty()) {
      fail_data(at_line(name, lines[row]) + "column \"" + header[column] + "\": \"" +
                std::string(cell.substr(0, 40)) + "\" is not a number\n  hint   " + hint_for(cell));
    } else if (allow_missing) {
      result.push_back(std::numeric_limits<double>::quiet_NaN());
    } else {
      fail_data(at_line(name, lines[row]) + "column \"" + header[column] +
                "\": missing value\n  hint   remove the row or, for a feature, set missing to a "
                "mean or a number");
    }
  }
  return result;
}

}  // namespace trireme::data
