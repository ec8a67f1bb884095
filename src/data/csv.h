#pragma once

#include <cstddef>
#include <iterator>
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

// The cells of a column: their texts one after the other, and the place where each ends. So an
// empty cell takes 8 bytes.
class CsvColumn {
 public:
  class Iterator {
   public:
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    using pointer = const std::string_view*;
    using reference = std::string_view;
    Iterator(const CsvColumn& column, std::size_t row) : column_(&column), row_(row) {}
    std::string_view operator*() const { return (*column_)[row_]; }
    Iterator& operator++() {
      ++row_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return row_ == other.row_; }

   private:
    const CsvColumn* column_;
    std::size_t row_;
  };

  std::size_t size() const { return ends_.size(); }
  // The view is valid until the column changes.
  std::string_view operator[](std::size_t row) const {
    const std::size_t begin = row == 0 ? 0 : ends_[row - 1];
    return std::string_view(text_).substr(begin, ends_[row] - begin);
  }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }
  void push_back(std::string_view cell) {
    text_ += cell;
    ends_.push_back(text_.size());
  }
  // Returns the cells as texts of their own.
  std::vector<std::string> words() const;

 private:
  std::string text_;
  std::vector<std::size_t> ends_;
};

// The cells of a CSV file, as text, in rows of equal length.
struct CsvTable {
  std::string name;  // for messages
  CsvFormat format;
  std::vector<std::string> header;
  std::vector<CsvColumn> columns;  // columns[c][row]
  std::vector<int> lines;          // lines[row]: where the row starts, from 1

  std::size_t rows() const { return lines.size(); }
  // Errors: usage with the nearest name.
  std::size_t index(const std::string& column) const;
  // Returns a column as numbers. Errors: data with the line for text that is no number. An empty
  // cell becomes NaN, or is an error if `allow_missing` is false.
  std::vector<double> numbers(std::size_t column, bool allow_missing = false) const;
  // Returns the number of a cell with a decimal point and nothing between thousands; empty if the
  // cell is no number of the format.
  std::string number_text(std::string_view cell) const;

 private:
  std::string hint_for(std::string_view cell) const;
};

// RFC 4180: cells may be quoted with ", "" inside is one ", and a quoted cell may hold separators
// and line ends. A line ends with CR, LF or both. Lines of blanks are skipped; blanks around
// unquoted cells are removed. A byte-order mark is dropped.
// Errors: data with the line for a row of another length or a quote that is not closed, and for two
// columns of one name; usage for a format that is ambiguous.
CsvTable parse_csv(std::string_view text, const std::string& name, const CsvFormat& format = {});

}  // namespace trireme::data
