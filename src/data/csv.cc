#include "data/csv.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
  CsvReader(std::string_view text, const std::string& name, char separator)
      : text_(text), name_(name), separator_(separator) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);  // byte-order mark
  }

  int line() const { return line_; }

  void skip_line() {
    while (!text_.empty() && take() != '\n') {
    }
  }

  // The next row that is not an empty line; false at the end of the text.
  bool next_row(std::vector<std::string>* cells, int* line) {
    while (!text_.empty() && (text_[0] == '\n' || text_[0] == '\r')) take();
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
    if (c == '\n') ++line_;
    return c;
  }

  std::string next_cell() {
    row_ended_ = false;
    if (!text_.empty() && text_[0] == '"') return quoted_cell();
    const char ends[] = {separator_, '\n', '\0'};
    const std::size_t end = std::min(text_.find_first_of(ends), text_.size());
    const std::string_view cell = text_.substr(0, end);
    text_.remove_prefix(end);
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
    if (!text_.empty() && text_[0] == '\r') take();
    if (!text_.empty() && text_[0] != separator_ && text_[0] != '\n') {
      fail_data(at_line(name_, line_) + "text after a closing quote");
    }
    end_cell();
    return cell;
  }

  // Past the separator or the line end behind a cell.
  void end_cell() { row_ended_ = text_.empty() || take() == '\n'; }

  std::string_view text_;
  const std::string& name_;
  char separator_;
  int line_ = 1;
  bool row_ended_ = false;
};

}  // namespace

CsvTable parse_csv(std::string_view text, const std::string& name, const CsvFormat& format) {
  CsvReader reader(text, name, format.separator);
  for (int i = 0; i < format.skip_lines; ++i) reader.skip_line();
  CsvTable table;
  table.name = name;
  std::vector<std::string> cells;
  int line = 0;
  bool more = reader.next_row(&cells, &line);
  if (!more) fail_data(name + ": the file has no rows");
  if (format.header) {
    table.header = cells;
    more = reader.next_row(&cells, &line);
  } else {
    for (std::size_t c = 0; c < cells.size(); ++c) table.header.push_back(std::to_string(c));
  }
  table.columns.resize(table.header.size());
  for (; more; more = reader.next_row(&cells, &line)) {
    if (cells.size() != table.header.size()) {
      fail_data(at_line(name, line) + std::to_string(cells.size()) +
                " cells, but the first line has " + std::to_string(table.header.size()));
    }
    table.lines.push_back(line);
    for (std::size_t c = 0; c < cells.size(); ++c) {
      table.columns[c].push_back(std::move(cells[c]));
    }
  }
  return table;
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

std::vector<double> CsvTable::numbers(std::size_t column, bool allow_missing) const {
  std::vector<double> result;
  for (std::size_t row = 0; row < rows(); ++row) {
    const std::string& cell = columns[column][row];
    const std::optional<double> number = parse_float(cell);
    if (number && std::isfinite(*number)) {
      result.push_back(*number);
    } else if (!cell.empty()) {
      fail_data(at_line(name, lines[row]) + "column \"" + header[column] + "\": \"" +
                cell.substr(0, 40) +
                "\" is not a number; a column of words can be one_hot or one of the categories");
    } else if (allow_missing) {
      result.push_back(std::numeric_limits<double>::quiet_NaN());
    } else {
      fail_data(at_line(name, lines[row]) + "column \"" + header[column] + "\": missing value");
    }
  }
  return result;
}

}  // namespace trireme::data
