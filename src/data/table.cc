// Columns of numbers, ids and classes from CSV files.
#include "data/table.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number_text.h"
#include "data/blob.h"
#include "data/columns.h"

namespace trireme::data {
namespace {

using Numbers = std::vector<double>;
using Words = std::vector<std::string>;

[[noreturn]] void fail_cell(const CsvTable& table, std::size_t column, std::size_t row,
                            const std::string& what) {
  fail_data(table.name + ":" + std::to_string(table.lines[row]) + ": column \"" +
            table.header[column] + "\": " + what);
}

[[noreturn]] void fail_missing(const CsvTable& table, std::size_t column, std::size_t row) {
  fail_cell(table, column, row,
            "missing value\n  hint   remove the row or, for a feature, set missing to a mean or a "
            "number");
}

// The beginning of a cell, for messages.
std::string shortened(std::string_view cell) { return std::string(cell.substr(0, 40)); }

// Makes the columns of a data set from those of a table.
class Builder {
 public:
  Builder(const CsvTable& table, const TableEncoding& encoding)
      : table_(table),
        encoding_(encoding),
        options_(encoding.options),
        count_(static_cast<std::int64_t>(table.rows())) {}

  Dataset build(Words class_names, bool with_target) {
    for (const EncodedColumn& column : encoding_.columns) add_feature(column);
    add_matrix();
    if (encoding_.classes) class_names = *encoding_.classes;
    if (with_target) {
      const std::size_t target = table_.index(encoding_.target);
      if (encoding_.classes) add_label(target);
      else add_numbers("target", {checked(target, table_.numbers(target))});
    }
    return from_columns(std::move(columns_), std::move(class_names));
  }

 private:
  void add_feature(const EncodedColumn& column) {
    const std::size_t c = table_.index(column.name);
    switch (column.kind) {
      case EncodedColumn::Kind::one_hot: add_one_hot(c, column.words); break;
      case EncodedColumn::Kind::category: add_ids(c, column.words); break;
      case EncodedColumn::Kind::integer: add_integers(c); break;
      case EncodedColumn::Kind::number:
        if (options_.named) add_numbers(column.name, {numbers(c, column)});
        else matrix_.push_back(numbers(c, column));
    }
  }

  // Errors: data, if the numbers of the features need more memory than data files may have.
  void add_one_hot(std::size_t c, const Words& words) {
    check_size(c, words.size());
    std::unordered_map<std::string_view, std::size_t> columns;
    for (const std::string& word : words) {
      columns.emplace(word, matrix_.size());
      matrix_.emplace_back(table_.rows(), 0.0);
    }
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      if (!present(c, row)) continue;
      const auto found = columns.find(table_.columns[c][row]);
      if (found != columns.end()) matrix_[found->second][row] = 1;
    }
  }

  void check_size(std::size_t c, std::size_t words) const {
    Checked bytes = static_cast<std::int64_t>(matrix_.size());
    bytes = (bytes + static_cast<std::int64_t>(words)) * count_ *
            static_cast<std::int64_t>(sizeof(double));
    if (bytes.valid() &&
        static_cast<std::uint64_t>(bytes.value()) <= max_bytes(FileLimit::content)) {
      return;
    }
    fail_data(
        table_.name + ": column \"" + table_.header[c] + "\" has " + std::to_string(words) +
        " different words in " + std::to_string(table_.rows()) +
        " rows; as zeros and ones they are more than " +
        std::to_string(max_bytes(FileLimit::content)) +
        " bytes\n  hint   make it one of the categories, whose ids an embedding takes; or set "
        "TRIREME_MAX_FILE_BYTES to raise the limit");
  }

  // Whether there is a value. Errors: data, if there must be one.
  bool present(std::size_t c, std::size_t row) const {
    if (!table_.columns[c][row].empty()) return true;
    if (options_.missing == Missing::error) fail_missing(table_, c, row);
    return false;
  }

  void check_present(std::size_t c) const {
    for (std::size_t row = 0; row < table_.rows(); ++row) present(c, row);
  }

  // Returns numbers with missing ones filled in, standardized if the options request it.
  Numbers numbers(std::size_t c, const EncodedColumn& fitted) const {
    Numbers column = table_.numbers(c, options_.missing != Missing::error);
    const double filler = options_.missing == Missing::mean ? fitted.mean : options_.missing_value;
    for (double& value : column) {
      if (std::isnan(value)) value = filler;
      if (options_.standardize) {
        value = fitted.deviation == 0 ? 0 : (value - fitted.mean) / fitted.deviation;
      }
    }
    return checked(c, std::move(column));
  }

  // Errors: data for a number that f32 cannot hold.
  Numbers checked(std::size_t c, Numbers column) const {
    for (std::size_t row = 0; row < column.size(); ++row) {
      if (std::isfinite(static_cast<float>(column[row]))) continue;
      fail_cell(table_, c, row,
                "\"" + shortened(table_.columns[c][row]) + "\" is too large for f32");
    }
    return column;
  }

  void add_numbers(const std::string& name, const std::vector<Numbers>& values) {
    const auto width = static_cast<std::int64_t>(values.size());
    Tensor tensor = Tensor::uninitialized(f32, {count_, width});
    for (std::size_t c = 0; c < values.size(); ++c) {
      for (std::size_t row = 0; row < values[c].size(); ++row) {
        tensor.data<float>()[row * values.size() + c] = static_cast<float>(values[c][row]);
      }
    }
    columns_.push_back({Column{name}, std::move(tensor)});
  }

  void add_matrix() {
    const bool only_ids = matrix_.empty() && !columns_.empty();
    if (only_ids) return;
    add_numbers("features", matrix_);
    std::rotate(columns_.begin(), columns_.end() - 1, columns_.end());  // it comes first
  }

  void add_ids(std::size_t c, Words words) {
    Tensor tensor = Tensor::uninitialized(i64, {count_});
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      std::int64_t id = 0;
      if (present(c, row)) {
        const std::string_view cell = table_.columns[c][row];
        const auto place = std::lower_bound(words.begin(), words.end(), cell);
        if (place != words.end() && *place == cell) id = place - words.begin() + 1;
      }
      tensor.data<std::int64_t>()[row] = id;
    }
    words.insert(words.begin(), "");
    Column column{table_.header[c]};
    column.ids = static_cast<std::int64_t>(words.size());
    column.words = std::move(words);
    columns_.push_back({std::move(column), std::move(tensor)});
  }

  void add_integers(std::size_t c) {
    if (options_.missing == Missing::mean) {
      check_present_for_integers(c);
    }
    Tensor tensor = Tensor::uninitialized(i64, {count_});
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      const std::string_view cell = table_.columns[c][row];
      std::optional<std::int64_t> value = parse_integer(table_.number_text(cell));
      if (!present(c, row)) {
        value = to_integer(options_.missing_value);
        if (!value) {
          fail_cell(table_, c, row,
                    "missing value, and " + float_text(options_.missing_value) +
                        " in its place is no whole number of 64 bits");
        }
      }
      if (!value) {
        fail_cell(table_, c, row, "\"" + shortened(cell) + "\" is not a whole number");
      }
      tensor.data<std::int64_t>()[row] = *value;
    }
    columns_.push_back({Column{table_.header[c]}, std::move(tensor)});
  }

  void check_present_for_integers(std::size_t c) const {
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      if (table_.columns[c][row].empty()) {
        fail_cell(table_, c, row,
                  "missing value, and whole numbers have no mean; fill it with a constant");
      }
    }
  }

  void add_label(std::size_t c) {
    const Words& words = *encoding_.classes;
    Tensor tensor = Tensor::uninitialized(i64, {count_});
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      const std::string_view cell = table_.columns[c][row];
      if (cell.empty()) fail_cell(table_, c, row, "missing value");
      const auto place = std::lower_bound(words.begin(), words.end(), cell);
      if (place == words.end() || *place != cell) {
        fail_cell(table_, c, row, "\"" + shortened(cell) + "\" is no class of " + encoding_.source);
      }
      tensor.data<std::int64_t>()[row] = place - words.begin();
    }
    columns_.push_back({Column{"label"}, std::move(tensor)});
  }

  const CsvTable& table_;
  const TableEncoding& encoding_;
  const CsvOptions& options_;
  const std::int64_t count_;
  std::vector<Numbers> matrix_;  // columns of "features"
  std::vector<std::pair<Column, Tensor>> columns_;
};

}  // namespace

CsvTable read_table(std::string_view text, const std::string& name, const CsvOptions& options) {
  CsvFormat format{options.separator, options.header, options.skip_lines};
  format.skip_initial_space = options.skip_initial_space;
  format.decimal = options.decimal;
  format.thousands = options.thousands;
  CsvTable table = parse_csv(text, name, format);
  if (table.rows() == 0) fail_data(name + ": the file has a header, but no rows");
  if (!options.names.empty()) {
    if (options.header) fail_usage(name + ": names of columns are for files without header");
    if (options.names.size() != table.header.size()) {
      fail_data(name + ": " + std::to_string(options.names.size()) +
                " names of columns are given, but the file has " +
                std::to_string(table.header.size()) + " columns");
    }
    table.header = options.names;
  }
  if (options.missing_word.empty()) return table;
  for (CsvColumn& column : table.columns) {
    CsvColumn changed;
    for (const std::string_view cell : column) {
      changed.push_back(cell == options.missing_word ? std::string_view() : cell);
    }
    column = std::move(changed);
  }
  return table;
}

namespace {

void check_same_header(const CsvTable& table, const CsvTable& reference) {
  if (table.header == reference.header) return;
  fail_data(table.name + ": its columns are not those of " + reference.name);
}

}  // namespace

Dataset encode_table(const CsvTable& table, const TableEncoding& encoding, Words class_names,
                     bool with_target) {
  return Builder(table, encoding).build(std::move(class_names), with_target);
}

Dataset table_dataset(const CsvTable& table, const CsvTable& reference, const CsvOptions& options,
                      Words class_names) {
  check_same_header(table, reference);
  return encode_table(table, fit_table(reference, options), std::move(class_names), true);
}

Dataset table_from_csv(std::string_view text, const std::string& name, const CsvOptions& options) {
  const CsvTable table = read_table(text, name, options);
  return table_dataset(table, table, options);
}

EncodedTable read_encoded_table(const std::string& path, const CsvOptions& options) {
  const CsvTable table = read_table(read_blob(path).bytes, path, options);
  std::optional<CsvTable> reference;
  if (!options.fit.empty()) {
    reference = read_table(read_blob(options.fit).bytes, options.fit, options);
    check_same_header(table, *reference);
  }
  TableEncoding encoding = fit_table(reference ? *reference : table, options);
  return {encode_table(table, encoding, {}, true), std::move(encoding)};
}

Dataset csv(const std::string& path, const CsvOptions& options) {
  return read_encoded_table(path, options).dataset;
}

}  // namespace trireme::data
