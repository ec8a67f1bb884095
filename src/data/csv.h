#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::data {

struct CsvFormat {
  char separator = ',';
  bool header = true;
  int skip_lines = 0;
  bool skip_initial_space = false;  // blanks before a quote: then the cell is quoted
  char decimal = '.';
  char thousands = '\0';  // between the digits of a number; '\0': none
};

// The cells of a CSV file, as text, in rows of equal length.
struct CsvTable {
  std::string name;  // for messages
  CsvFormat format;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> columns;  // columns[c][row]
  std::vector<int> lines;                         // lines[row]: where the row starts, from 1

  std::size_t rows() const { return lines.size(); }
  // Errors: usage with the nearest name.
  std::size_t index(const std::string& column) const;
  // Returns a column as numbers. Errors: data with the line for text that is no number. An empty
  // cell becomes NaN, or is an error if `allow_missing` is false.
  std::vector<double> numbers(std::size_t column, bool allow_missing = false) const;
  // Returns the number of a cell with a decimal point and nothing between thousands; empty if the
  // cell is no number of the format.
  std::string number_text(const std::string& cell) const;
};

// RFC 4180: cells may be quoted with ", "" inside is one ", and a quoted cell may hold separators
// and line ends. A line ends with CR, LF or both. Lines of blanks are skipped; blanks around
// unquoted cells are removed. A byte-order mark is dropped.
// Errors: data with the line for a row of another length or a quote that is not closed, and for two
// columns of one name; usage for a format that is ambiguous.
CsvTable parse_csv(std::string_view text, const std::string& name, const CsvFormat& format = {});

}  // namespace trireme::data
