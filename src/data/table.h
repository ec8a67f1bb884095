#pragma once

#include <string>
#include <string_view>

#include "data/csv.h"
#include "trireme/data.h"

namespace trireme::data {

// The cells of a CSV file, with the word for missing values taken out of features.
CsvTable read_table(std::string_view text, const std::string& name, const CsvOptions& options);

// The columns that the options ask for; words, means and deviations are those of `reference`, which
// must have the same header (usage).
Dataset table_dataset(const CsvTable& table, const CsvTable& reference, const CsvOptions& options,
                      std::vector<std::string> class_names = {});

// What csv() does, on text that is there already. `name` is for messages.
Dataset table_from_csv(std::string_view text, const std::string& name, const CsvOptions& options);

}  // namespace trireme::data
