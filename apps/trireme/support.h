#pragma once

// Functions that several subcommands share.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "trireme/data.h"
#include "trireme/metrics.h"
#include "trireme/saved_model.h"
#include "trireme/tensor.h"

// Seconds since this process was started, including the loading of libraries.
double seconds_since_start();

// Text of one line, or with indented lines. Bytes that are not UTF-8, which file names may have,
// become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

// Formats rows of cells as aligned columns under headings. Columns of numbers are aligned right.
std::string table(const std::vector<std::string>& headings,
                  const std::vector<std::vector<std::string>>& rows);

// Dtype and shape of a column: "f32[28, 28]", or "i64[ragged]" for sequences.
std::string type_of(const trireme::data::Column& column);

// The name of a class, or its number if it has no name.
std::string class_name(const std::vector<std::string>& names, std::int64_t index);

// Prints metrics, one a line with the prefix `what`: accuracy or mse first, then the others except
// the loss, then the confusion matrix if there is one.
void print_measured(const trireme::Metrics& metrics, const std::string& what,
                    const std::vector<std::string>& class_names);

// The index of the largest score.
std::int64_t winner(const float* scores, std::int64_t count);

// The columns of a batch that the model takes. Errors: data, if one is missing.
trireme::data::Batch inputs_of(const trireme::Model& model, const trireme::data::Batch& batch);

// A name beside `path` that no other process uses, also in another container.
std::string temporary_name(const std::string& path);

// Writes a file as a whole: readers see the old content or the new one. Errors: io.
void write_file(const std::string& path, const std::string& content);

// The candidate nearest to a misspelled word, or "" if none is near.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// Parses "0:10", "7" or "7:" into rows [begin, end); `count` is the number of rows. Errors: usage.
struct RowRange {
  std::int64_t begin = 0, end = 0;
};
RowRange read_rows(const std::string& rows, std::int64_t count);
