#pragma once

// Prints predictions of a model as a table or JSON.

#include <optional>
#include <string>
#include <vector>

#include "commands.h"
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

void print_predictions(const trireme::Model& model, const Examples& examples,
                       const trireme::Tensor& output, const PredictArguments& arguments);

}  // namespace commands
