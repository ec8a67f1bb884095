#pragma once

#include <string>
#include <string_view>

#include "data/csv.h"
#include "data/table_encoding.h"
#include "trireme/data.h"

namespace trireme::data {

// Returns the cells of a CSV file. In features, the word for missing values becomes an empty cell.
CsvTable read_table(std::string_view text, const std::string& name, const CsvOptions& options);

// Returns the columns of the encoding. `class_names` names classes of a target of numbers; words of
// a target have names. Without `with_target` the table needs no target. Errors: usage for a missing
// column; data with the line.
Dataset encode_table(const CsvTable& table, const TableEncoding& encoding,
                     std::vector<std::string> class_names, bool with_target);

// Returns the columns that the options select. Words, means and deviations come from `reference`,
// which must have the same header (usage).
Dataset table_dataset(const CsvTable& table, const CsvTable& reference, const CsvOptions& options,
                      std::vector<std::string> class_names = {});

// As csv(), with the encoding.
struct EncodedTable {
  Dataset dataset;
  TableEncoding encoding;
};
EncodedTable read_encoded_table(const std::string& path, const CsvOptions& options);

// As csv(), for text in memory. `name` is for messages.
Dataset table_from_csv(std::string_view text, const std::string& name, const CsvOptions& options);

}  // namespace trireme::data
