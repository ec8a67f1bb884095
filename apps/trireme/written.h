#pragma once

// eval and predict for models that write texts.

#include "commands.h"
#include "trireme/saved_model.h"

namespace commands {

// Prints the BLEU score.
void eval_texts(trireme::Model& model, const EvalArguments& arguments);
// Prints a line for each source text of the arguments or of the data set.
void predict_texts(trireme::Model& model, const PredictArguments& arguments);

}  // namespace commands
