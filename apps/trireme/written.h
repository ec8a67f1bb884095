#pragma once

// What eval and predict do with a model that writes texts.

#include "commands.h"
#include "trireme/saved_model.h"

namespace commands {

// Measures BLEU.
void eval_texts(trireme::Model& model, const EvalArguments& arguments);
// A line for each text that is given, or of the data named.
void predict_texts(trireme::Model& model, const PredictArguments& arguments);

}  // namespace commands
