#pragma once

// Predictions of a model: printed as a table or JSON, or written to a file.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "support.h"
#include "trireme/data.h"
#include "trireme/ragged.h"
#include "trireme/saved_model.h"

namespace commands {

// Examples to predict for, and the name of each in the output.
struct Examples {
  std::vector<std::string> names;
  trireme::data::Batch feeds;
  // The input sequences, if the output has a row for each of their rows.
  std::optional<trireme::RaggedTensor> rows = {};
  bool next = false;  // print only the last of these rows: the next token after a text
};

// The prediction for each example, as JSON and as a row of a table.
struct Predictions {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows = {};
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
};

// `digits` of numbers in rows.
Predictions predictions_of(const trireme::Model& model, const Examples& examples,
                           const trireme::Tensor& output, const PredictArguments& arguments,
                           int digits);

// The rows of the data set that --rows selects, at least one. Errors: usage if there is none, or
// they are out of range.
RowRange rows_to_predict(const PredictArguments& arguments, std::int64_t count);

void print(const Predictions& predictions, bool as_json);

}  // namespace commands
