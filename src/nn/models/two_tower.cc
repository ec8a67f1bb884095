#include "nn/models/model.h"

namespace trireme::models {
namespace {

struct Tower {
  Value vector, bias;  // [batch, width], [batch, 1]
};

Tower tower(const Value& first, const IdField& field, const char* name,
            const TwoTowerOptions& options, const SourceLocation& where) {
  Model model(first, name, name, where);
  const JoinedIds ids = join_ids(checked(model, {field}, where));
  model.require(ids.count == 1, "a tower needs one id for each example, [batch]");
  Tower result;
  const std::int64_t width = options.hidden.empty() ? options.width : options.hidden.front();
  Value x = nn::flatten(look_up(ids, width, options.embedding_init, options.sparse_gradient, where),
                        where);
  if (options.dropout != 0) x = nn::dropout(x, {.rate = options.dropout}, where);
  if (!options.hidden.empty()) {
    x = hidden_layers(
        x,
        {.units = options.hidden, .dropout = options.dropout, .weight_init = options.weight_init},
        where);
    x = nn::linear(x, {.units = options.width, .weight_init = options.weight_init}, where);
  }
  result.vector = x;
  result.bias = nn::flatten(look_up(ids, 1, nn::zeros(), options.sparse_gradient, where), where);
  return result;
}

}  // namespace

Value two_tower(const IdField& user, const IdField& item, TwoTowerOptions options,
                SourceLocation where) {
  Model model(user.ids, "two_tower", options.name, where);
  model.require(options.width > 0, "width must be at least 1");
  const Tower a = tower(user.ids, user, "user", options, where);
  const Tower b = tower(user.ids, item, "item", options, where);
  const Value product = sum(a.vector * b.vector, {.axes = {1}, .keep = true});
  const Value bias = model.parameter("bias", a.vector.dtype(), {1}, nn::constant(options.mean));
  return model.finish(product + a.bias + b.bias + bias, options.decay_biases);
}

}  // namespace trireme::models
