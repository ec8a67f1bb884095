#pragma once

#include <string>
#include <string_view>

#include "data/csv.h"
#include "trireme/data.h"

namespace trireme::data {

// Returns the cells of a CSV file. In features, the word for missing values becomes an empty cell.
CsvTable read_table(std::string_view text, const std::string& name, const CsvOptions& options);

// Returns the columns that the options select. Words, means and deviations come from `reference`,
// which must have the same header (usage).
Dataset table_dataset(const CsvTable& table, const CsvTable& reference, const CsvOptions& options,
                      std::vector<std::string> class_names = {});

// As csv(), for text in memory. `name` is for messages.
Dataset table_from_csv(std::string_view text, const std::string& name, const CsvOptions& options);

}  // namespace trireme::data
