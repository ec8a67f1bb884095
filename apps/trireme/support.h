#pragma once

// What several subcommands share.

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/data.h"
#include "trireme/metrics.h"
#include "trireme/saved_model.h"
#include "trireme/tensor.h"

// Seconds since this process was started, loading of libraries included.
double seconds_since_start();

// Rows of cells as aligned columns under headings; numbers to the right.
std::string table(const std::vector<std::string>& headings,
                  const std::vector<std::vector<std::string>>& rows);

// Class names with numbers where there are none.
std::string class_name(const std::vector<std::string>& names, std::int64_t index);

// What was measured, a line each behind `what`: first the number that says most, accuracy or mse, then
// the others but the loss; then the confusion matrix, if there is one.
void print_measured(const trireme::Metrics& metrics, const std::string& what,
                    const std::vector<std::string>& class_names);

// The largest of a row's scores.
std::int64_t winner(const float* scores, std::int64_t count);

// Those columns of a batch that the model takes. Errors: data, for one that is missing.
trireme::data::Batch inputs_of(const trireme::Model& model, const trireme::data::Batch& batch);

// The candidate nearest to a mistyped word, or "".
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// Of "0:10", "7" or "7:" the first row and the one behind the last, among `count`. Errors: usage.
struct RowRange {
  std::int64_t begin = 0, end = 0;
};
RowRange read_rows(const std::string& rows, std::int64_t count);
