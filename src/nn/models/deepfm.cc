#include "nn/models/model.h"
#include "trireme/functions.h"

namespace trireme::models {
namespace {

// An embedding [batch, fields, width] of every id and number, and the sum of their weights,
// [batch, 1].
struct Embedded {
  Value vectors, first_order;
};

Embedded embed_fields(Model& model, const std::vector<IdField>& fields, const Value& numbers,
                      const DeepfmOptions& options, const SourceLocation& where) {
  const JoinedIds ids = join_ids(checked(model, fields, where));
  const Value vectors =
      look_up(ids, options.width, options.embedding_init, options.sparse_gradient, where);
  const Value weights = look_up(ids, 1, nn::zeros(), options.sparse_gradient, where);
  Embedded result{vectors, sum(weights, {.axes = {1}})};
  if (!numbers) return result;
  model.require(numbers.rank() == 2 && numbers.dim(1).is_constant(),
                "numbers must be [batch, n], but are " + numbers.str());
  const Value table = model.parameter("numbers", numbers.dtype(), {numbers.dim(1), options.width},
                                      options.embedding_init);
  result.vectors = concat({vectors, unsqueeze(numbers, 2) * unsqueeze(table, 0)}, {.axis = 1});
  result.first_order =
      result.first_order +
      nn::linear(numbers, {.units = 1, .bias = false, .weight_init = nn::zeros()}, where);
  return result;
}

// The sum of the products of all pairs of vectors, computed as half of the square of the sum minus
// the sum of squares: Rendle 2010, lemma 3.1.
Value pairs(const Value& vectors) {
  const Value total = sum(vectors, {.axes = {1}});
  const Value squares = sum(vectors * vectors, {.axes = {1}});
  return sum(total * total - squares, {.axes = {1}, .keep = true}) * 0.5;
}

}  // namespace

Value deepfm(const std::vector<IdField>& fields, const Value& numbers, DeepfmOptions options,
             SourceLocation where) {
  Model model(first_ids(fields, "deepfm"), "deepfm", options.name, where);
  model.require(options.width > 0, "width must be at least 1");
  const Embedded x = embed_fields(model, fields, numbers, options, where);
  const Value deep = hidden_layers(
      nn::flatten(x.vectors, where),
      {.units = options.hidden, .dropout = options.dropout, .weight_init = options.weight_init},
      where);
  const Value logits = x.first_order + pairs(x.vectors) +
                       nn::linear(deep, {.units = 1, .weight_init = options.weight_init}, where);
  return model.finish(logits, options.decay_biases);
}

}  // namespace trireme::models
