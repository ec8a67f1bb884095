#include "session/job/guess.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/number_text.h"

namespace trireme::job {
namespace {

using Column = data::CsvColumn;

constexpr std::size_t kMaxWords = 32;    // of a column that becomes zeros and ones
constexpr std::size_t kMaxClasses = 20;  // of a target of whole numbers
constexpr std::size_t kMinOfClass = 5;   // rows for each class, on average

constexpr const char* kMissingWords[] = {"?",   "NA",   "N/A",  "n/a",  "NaN", "nan",
                                         "NAN", "null", "NULL", "None", "-"};
constexpr const char* kTargetNames[] = {"target", "label", "class", "outcome", "y"};
constexpr const char* kIdNames[] = {"", "id", "index", "row", "unnamed: 0", "uuid", "key"};

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

template <std::size_t n>
bool is_one_of(const char* const (&list)[n], std::string_view text) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

std::optional<double> number_in(std::string_view cell) {
  const std::optional<double> number = parse_float(cell);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

// The character that separates most cells of the first line.
char separator_of(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  char best = ',';
  for (const char c : {';', '\t', '|'}) {
    if (std::count(line.begin(), line.end(), c) > std::count(line.begin(), line.end(), best)) {
      best = c;
    }
  }
  return best;
}

// Makes the first row the header, unless it has a number.
bool take_header(data::CsvTable& table) {
  const bool is_data = std::any_of(table.columns.begin(), table.columns.end(),
                                   [](const Column& c) { return number_in(c[0]).has_value(); });
  if (is_data) return false;
  table.lines.erase(table.lines.begin());
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    table.header[c] = table.columns[c][0];
    Column rest;
    for (std::size_t row = 1; row < table.columns[c].size(); ++row) {
      rest.push_back(table.columns[c][row]);
    }
    table.columns[c] = std::move(rest);
  }
  return true;
}

struct Cells {
  std::set<std::string> words;  // without missing ones
  bool has_missing = false;
  bool numbers = true;  // all but missing ones
  bool whole = true;    // these are integers
  double least = INFINITY, largest = -INFINITY;
};

Cells look_at(const Column& column, const std::string& missing_word) {
  Cells cells;
  for (const std::string_view cell : column) {
    if (cell.empty() || cell == missing_word) {
      cells.has_missing = true;
      continue;
    }
    cells.words.emplace(cell);
    const std::optional<double> number = number_in(cell);
    cells.numbers &= number.has_value();
    if (!number) continue;
    cells.whole &= parse_integer(cell).has_value();
    cells.least = std::min(cells.least, *number);
    cells.largest = std::max(cells.largest, *number);
  }
  return cells;
}

// The most frequent word for missing values.
std::string missing_word_of(const data::CsvTable& table) {
  std::map<std::string, std::size_t> counts;
  for (const Column& column : table.columns) {
    for (const std::string_view cell : column) {
      if (is_one_of(kMissingWords, cell)) ++counts[std::string(cell)];
    }
  }
  const auto best =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return best == counts.end() ? "" : best->first;
}

// Whether the cells are a, a + 1, a + 2 ...
bool numbers_the_rows(const Column& column) {
  std::optional<std::int64_t> last;
  for (const std::string_view cell : column) {
    const std::optional<std::int64_t> number = parse_integer(cell);
    if (!number || (last && (*last == INT64_MAX || *number != *last + 1))) return false;
    last = number;
  }
  return column.size() > 2;
}

ColumnGuess guess_column(const std::string& name, const Column& column, const Cells& cells) {
  ColumnGuess guess{name, ColumnGuess::Use::left_out, "", cells.has_missing};
  const std::size_t distinct = cells.words.size();
  if (distinct == 0) {
    guess.reason = "it is empty";
  } else if (distinct == 1 && !cells.has_missing) {
    guess.reason = "it has one value";
  } else if (cells.whole && cells.numbers && numbers_the_rows(column)) {
    guess.reason = "it numbers the rows";
  } else if (distinct == column.size() && distinct > 2 && is_one_of(kIdNames, lower(name))) {
    guess.reason = "it names the rows";
  } else if (cells.numbers) {
    guess.use = ColumnGuess::Use::number;
  } else if (distinct <= kMaxWords) {
    guess.use = ColumnGuess::Use::words;
  } else {
    guess.reason = "it has " + with_thousands(static_cast<std::int64_t>(distinct)) +
                   " different words; `categories` turns them into ids";
  }
  return guess;
}

std::size_t guess_target(const data::CsvTable& table, const std::vector<ColumnGuess>& columns) {
  for (const char* usual : kTargetNames) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (lower(columns[c].name) == usual) return c;
    }
  }
  for (std::size_t c = columns.size(); c-- > 0;) {
    if (columns[c].use != ColumnGuess::Use::left_out) return c;
  }
  fail_data(
      table.name + ": no column has values that a model can predict: " +
      (columns.empty() ? "there are none" : columns.back().name + ": " + columns.back().reason));
}

TargetGuess describe_target(const data::CsvTable& table, std::size_t c, const Cells& cells) {
  const Column& column = table.columns[c];
  const std::string what = table.name + ": column \"" + table.header[c] + "\": ";
  for (std::size_t row = 0; cells.has_missing && row < column.size(); ++row) {
    if (cells.words.contains(std::string(column[row]))) continue;
    fail_data(what + "the target is missing in line " + std::to_string(table.lines[row]) +
              "; remove such rows, or choose another column with --target");
  }
  TargetGuess target{table.header[c], TargetGuess::Kind::number, cells.words.size(), cells.least,
                     cells.largest};
  if (target.distinct < 2) fail_data(what + "the target has the same value in every row");
  const bool repeats = target.distinct * kMinOfClass <= column.size();
  if (!cells.numbers) {
    if (!repeats && target.distinct > kMaxClasses) {
      fail_data(what + "the target has " + std::to_string(target.distinct) +
                " different words in " + std::to_string(column.size()) +
                " rows, too many for classes; choose another column with --target");
    }
    target.kind = TargetGuess::Kind::classes;
  } else if (target.distinct == 2 && cells.least == 0 && cells.largest == 1) {
    target.kind = TargetGuess::Kind::zero_one;
  } else if (cells.whole && repeats && target.distinct <= kMaxClasses) {
    target.kind = TargetGuess::Kind::classes;
  }
  return target;
}

}  // namespace

TableGuess guess_table(std::string_view text, const std::string& name, const std::string& target) {
  TableGuess guess;
  guess.format.separator = separator_of(text);
  data::CsvTable table = data::parse_csv(text, name, {guess.format.separator, false});
  guess.format.header = take_header(table);
  guess.rows = table.rows();
  if (guess.rows == 0) fail_data(name + ": the file has a header, but no rows");
  guess.missing_word = missing_word_of(table);
  std::vector<Cells> cells;
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    cells.push_back(look_at(table.columns[c], guess.missing_word));
    guess.columns.push_back(guess_column(table.header[c], table.columns[c], cells[c]));
  }
  const std::size_t chosen =
      target.empty() ? guess_target(table, guess.columns) : table.index(target);
  guess.target = describe_target(table, chosen, cells[chosen]);
  guess.columns[chosen].use = ColumnGuess::Use::target;
  if (std::none_of(guess.columns.begin(), guess.columns.end(), [](const ColumnGuess& column) {
        return column.use == ColumnGuess::Use::number || column.use == ColumnGuess::Use::words;
      })) {
    fail_data(name + ": besides the target \"" + guess.target.name +
              "\" there is no column with numbers or with few different words");
  }
  return guess;
}

}  // namespace trireme::job
