#pragma once

// eval and predict for models that write texts.

#include <string>
#include <vector>

#include "commands.h"
#include "trireme/saved_model.h"

namespace commands {

// Source texts of a corpus and the texts that they should become.
struct TextPairs {
  std::vector<std::string> source, target;
};
// limit 0: all.
TextPairs open_pairs(const std::string& specification, std::int64_t limit = 0);
// Returns the BLEU score of what the model writes.
double bleu_of(trireme::Model& model, const TextPairs& pairs, std::int64_t batch);

// Prints the BLEU score.
void eval_texts(trireme::Model& model, const EvalArguments& arguments);
// Prints a line for each source text of the arguments or of the data set.
void predict_texts(trireme::Model& model, const PredictArguments& arguments);

}  // namespace commands
