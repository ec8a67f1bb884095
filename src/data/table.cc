// Columns of numbers, ids and classes from CSV files.
#include "data/table.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/number_text.h"
#include "data/blob.h"
#include "data/columns.h"

namespace trireme::data {
namespace {

using Numbers = std::vector<double>;
using Words = std::vector<std::string>;

bool has(const Words& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void fail_cell(const CsvTable& table, std::size_t column, std::size_t row,
                            const std::string& what) {
  fail_data(table.name + ":" + std::to_string(table.lines[row]) + ": column \"" +
            table.header[column] + "\": " + what);
}

// The different words of a column, sorted, without the empty one.
Words vocabulary(const CsvTable& table, std::size_t column) {
  std::set<std::string> words(table.columns[column].begin(), table.columns[column].end());
  words.erase("");
  return {words.begin(), words.end()};
}

// Makes the columns of a data set from those of a table.
class Builder {
 public:
  Builder(const CsvTable& table, const CsvTable& reference, const CsvOptions& options)
      : table_(table),
        reference_(reference),
        options_(options),
        count_(static_cast<std::int64_t>(table.rows())) {}

  Dataset build(Words class_names) {
    const std::size_t target =
        options_.target.empty() ? table_.header.size() - 1 : table_.index(options_.target);
    std::vector<std::size_t> chosen;
    for (const Words* list :
         {&options_.features, &options_.one_hot, &options_.categories, &options_.integers}) {
      for (const std::string& name : *list) chosen.push_back(table_.index(name));
    }
    if (options_.features.empty()) {
      chosen.clear();
      for (std::size_t c = 0; c < table_.header.size(); ++c) {
        if (c != target) chosen.push_back(c);
      }
    }
    std::set<std::size_t> seen;
    for (const std::size_t c : chosen) {
      if (seen.insert(c).second) add_feature(c);
    }
    add_matrix();
    if (options_.classes) class_names = add_label(target);
    else add_target(target);
    return from_columns(std::move(columns_), std::move(class_names));
  }

 private:
  void add_feature(std::size_t c) {
    const std::string& name = table_.header[c];
    if (has(options_.one_hot, name)) {
      for (const std::string& word : vocabulary(reference_, c)) {
        Numbers column;
        for (std::size_t row = 0; row < table_.rows(); ++row) {
          column.push_back(present(c, row) && table_.columns[c][row] == word ? 1 : 0);
        }
        matrix_.push_back(std::move(column));
      }
      if (vocabulary(reference_, c).empty()) check_present(c);
    } else if (has(options_.categories, name)) {
      add_ids(c, vocabulary(reference_, c));
    } else if (has(options_.integers, name)) {
      add_integers(c);
    } else if (options_.named) {
      add_numbers(name, {numbers(c)});
    } else {
      matrix_.push_back(numbers(c));
    }
  }

  // Whether there is a value. Errors: data, if there must be one.
  bool present(std::size_t c, std::size_t row) const {
    if (!table_.columns[c][row].empty()) return true;
    if (options_.missing == Missing::error) fail_cell(table_, c, row, "missing value");
    return false;
  }

  void check_present(std::size_t c) const {
    for (std::size_t row = 0; row < table_.rows(); ++row) present(c, row);
  }

  // Returns numbers with missing ones filled in, standardized if the options request it.
  Numbers numbers(std::size_t c) const {
    const bool allow = options_.missing != Missing::error;
    Numbers column = table_.numbers(c, allow);
    Numbers fitted = &table_ == &reference_ ? column : reference_.numbers(c, allow);
    std::erase_if(fitted, [](double value) { return std::isnan(value); });
    const auto count = static_cast<double>(std::max<std::size_t>(fitted.size(), 1));
    double mean = 0;
    for (const double value : fitted) mean += value / count;
    double variance = 0;
    for (const double value : fitted) variance += (value - mean) * (value - mean) / count;
    const double deviation = std::sqrt(variance);
    const double filler = options_.missing == Missing::mean ? mean : options_.missing_value;
    for (double& value : column) {
      if (std::isnan(value)) value = filler;
      if (options_.standardize) value = deviation == 0 ? 0 : (value - mean) / deviation;
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
        const std::string& cell = table_.columns[c][row];
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
      const std::string& cell = table_.columns[c][row];
      std::optional<std::int64_t> value = parse_integer(cell);
      if (!present(c, row)) value = static_cast<std::int64_t>(options_.missing_value);
      if (!value) {
        fail_cell(table_, c, row, "\"" + cell.substr(0, 40) + "\" is not a whole number");
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

  void add_target(std::size_t c) { add_numbers("target", {table_.numbers(c)}); }

  Words add_label(std::size_t c) {
    Words words = vocabulary(reference_, c);
    Tensor tensor = Tensor::uninitialized(i64, {count_});
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      const std::string& cell = table_.columns[c][row];
      if (cell.empty()) fail_cell(table_, c, row, "missing value");
      const auto place = std::lower_bound(words.begin(), words.end(), cell);
      if (place == words.end() || *place != cell) {
        fail_cell(table_, c, row,
                  "\"" + cell.substr(0, 40) + "\" is no class of " + reference_.name);
      }
      tensor.data<std::int64_t>()[row] = place - words.begin();
    }
    columns_.push_back({Column{"label"}, std::move(tensor)});
    return words;
  }

  const CsvTable& table_;
  const CsvTable& reference_;
  const CsvOptions& options_;
  const std::int64_t count_;
  std::vector<Numbers> matrix_;  // columns of "features"
  std::vector<std::pair<Column, Tensor>> columns_;
};

}  // namespace

CsvTable read_table(std::string_view text, const std::string& name, const CsvOptions& options) {
  CsvTable table = parse_csv(text, name, {options.separator, options.header, options.skip_lines});
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
  for (auto& column : table.columns) {
    for (std::string& cell : column) {
      if (!options.missing_word.empty() && cell == options.missing_word) cell.clear();
    }
  }
  return table;
}

Dataset table_dataset(const CsvTable& table, const CsvTable& reference, const CsvOptions& given,
                      std::vector<std::string> class_names) {
  if (table.header != reference.header) {
    fail_data(table.name + ": its columns are not those of " + reference.name);
  }
  CsvOptions options = given;
  options.standardise.apply_to(options.standardize);
  return Builder(table, reference, options).build(std::move(class_names));
}

Dataset table_from_csv(std::string_view text, const std::string& name, const CsvOptions& options) {
  const CsvTable table = read_table(text, name, options);
  return table_dataset(table, table, options);
}

Dataset csv(const std::string& path, const CsvOptions& options) {
  const Blob file = read_blob(path);
  if (options.fit.empty()) return table_from_csv(file.bytes, path, options);
  const CsvTable reference = read_table(read_blob(options.fit).bytes, options.fit, options);
  return table_dataset(read_table(file.bytes, path, options), reference, options);
}

}  // namespace trireme::data
