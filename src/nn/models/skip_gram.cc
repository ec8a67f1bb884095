#include "nn/embedding.h"
#include "nn/models/model.h"
#include "trireme/functions.h"
#include "trireme/sequence.h"

namespace trireme::models {

Value skip_gram(const IdField& center, const IdField& candidates, SkipGramOptions options,
                SourceLocation where) {
  Model model(first_ids({center, candidates}, "skip_gram"), "skip_gram", options.name, where);
  const std::vector<IdField> fields = checked(model, {center, candidates}, where);
  const Value &word = fields[0].ids, &others = fields[1].ids;
  model.require(options.width > 0, "width must be at least 1");
  model.require(word.rank() == 1, "the center must be one id for each example, [batch]");
  model.require(others.rank() == 1 || others.rank() == 2,
                "candidates must be ids [batch, n], or sequences of ids");
  const auto vectors = [&](const IdField& field, std::int64_t width, const Initializer& init,
                           const char* name) {
    return nn::embedding_of_checked(field.ids,
                                    {.num_embeddings = field.rows,
                                     .dim = width,
                                     .weight_init = init,
                                     .sparse_gradient = options.sparse_gradient,
                                     .name = name},
                                    where);
  };
  Value x = vectors(fields[0], options.width, options.embedding_init, "words");
  const Value y = vectors(fields[1], options.width, nn::zeros(), "candidates");
  const int last = others.rank();
  if (last == 2) x = unsqueeze(x, 1);
  else if (others.dim(0) != word.dim(0)) x = sequence::expand(x, y, where);
  Value scores = sum(y * x, {.axes = {last}});
  if (options.bias) {
    scores = scores + sum(vectors(fields[1], 1, nn::zeros(), "bias"), {.axes = {last}});
  }
  return model.finish(scores, options.decay_biases);
}

}  // namespace trireme::models
