#pragma once

// Guesses the meaning of the columns of a CSV file, for suggest_job(). A guess is a proposal that
// a person reads; it never looks at more than the cells and the names of columns.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv.h"

namespace trireme::job {

struct ColumnGuess {
  enum class Use : std::uint8_t { number, words, left_out, target };
  std::string name;
  Use use = Use::left_out;
  std::string reason = {};  // of left_out: "it numbers the rows"
  bool has_missing = false;
};

struct TargetGuess {
  enum class Kind : std::uint8_t { number, zero_one, classes };
  std::string name;
  Kind kind = Kind::number;
  std::size_t distinct = 0;       // different cells
  double least = 0, largest = 0;  // of a number
};

struct TableGuess {
  data::CsvFormat format;
  std::size_t rows = 0;
  std::vector<ColumnGuess> columns;
  TargetGuess target;
  std::string missing_word;  // that means missing, such as "?"; "" if none does
};

// `text` is the content of the file `name`. `target` is the column to predict; "" guesses it: a
// column with a usual name, or else the last usable one. Errors: data if the file has no rows, no
// usable feature, or the target is missing in a row; usage if there is no such column.
TableGuess guess_table(std::string_view text, const std::string& name, const std::string& target);

}  // namespace trireme::job
