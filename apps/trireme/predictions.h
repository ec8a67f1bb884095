#pragma once

// What a model predicted, as a table or JSON.

#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "trireme/data.h"
#include "trireme/ragged.h"
#include "trireme/saved_model.h"

namespace commands {

// What to predict for, and how each example is called in the answer.
struct Examples {
  std::vector<std::string> names;
  trireme::data::Batch feeds;
  // Of sequences, if the output has a row for each of theirs.
  std::optional<trireme::RaggedTensor> rows = {};
  bool next = false;  // the last of these rows is asked for: what comes behind a text
};

void print_predictions(const trireme::Model& model, const Examples& examples,
                       const trireme::Tensor& output, const PredictArguments& arguments);

}  // namespace commands
