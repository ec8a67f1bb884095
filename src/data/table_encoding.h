#pragma once

// How the cells of a CSV file become columns of a data set: which columns, the words of columns of
// words, means and deviations. It is fitted on training data, and saved with a model, so that the
// model reads other files in the same way.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv.h"
#include "trireme/readers.h"

namespace trireme::data {

struct EncodedColumn {
  enum class Kind : std::uint8_t { number, one_hot, category, integer };
  std::string name;  // in the file
  Kind kind = Kind::number;
  std::vector<std::string> words = {};  // of one_hot and category, sorted
  double mean = 0, deviation = 0;       // of numbers
};

struct TableEncoding {
  CsvOptions options;  // of these: format, names, named, standardize and missing values
  std::vector<EncodedColumn> columns;
  std::string target;                               // in the file
  std::optional<std::vector<std::string>> classes;  // sorted; if the target is words
  std::string source;                               // the file it was fitted on, for messages
};

// Errors: usage for columns that do not exist; data with the line for text in a column of numbers.
TableEncoding fit_table(const CsvTable& table, const CsvOptions& options);

// As JSON: model.json has it under "table".
std::string encoding_text(const TableEncoding& encoding);
// Errors: data with `name` if it is not an encoding.
TableEncoding read_encoding(std::string_view json, const std::string& name);

}  // namespace trireme::data
