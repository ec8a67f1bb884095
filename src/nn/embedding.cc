#include "nn/embedding.h"

#include <cmath>
#include <string>

#include "nn/layer.h"

namespace trireme::nn {
namespace {

Initializer table_init(const EmbeddingOptions& options) {
  Initializer init =
      options.weight_init.value_or(normal(0, 1 / std::sqrt(static_cast<double>(options.dim))));
  if (options.padding_row) set_attribute(init.attributes, "zero_row", *options.padding_row);
  return init;
}

void check(Layer& layer, const Value& ids, EmbeddingOptions& options) {
  options.rows.apply_to(options.num_embeddings);
  options.width.apply_to(options.dim);
  layer.require(is_integer(ids.dtype()),
                "ids must be integers, not " + std::string(name_of(ids.dtype())),
                "cast(ids, {.dtype = trireme::i64})");
  layer.require(options.num_embeddings > 0,
                "num_embeddings must be above 0, but is " + std::to_string(options.num_embeddings),
                "set .num_embeddings to the number of different ids");
  layer.require(options.dim > 0, "dim must be above 0, but is " + std::to_string(options.dim),
                "set .dim to the length of a row");
  const std::int64_t padding = options.padding_row.value_or(0);
  layer.require(padding >= 0 && padding < options.num_embeddings,
                "padding_row " + std::to_string(padding) + " is outside [0, " +
                    std::to_string(options.num_embeddings) + ")");
}

// Gathers rows of a new table by ids, all of which are in [0, rows).
Value look_up(Layer& layer, const Value& ids, const EmbeddingOptions& options) {
  const Value weight = layer.parameter("weight", f32, {options.num_embeddings, options.dim},
                                       table_init(options), true, options.weight_settings);
  if (!options.padding_row) {
    return gather(weight, ids, {.sparse_gradient = options.sparse_gradient});
  }
  const Value is_padding = equal(ids, static_cast<double>(*options.padding_row));
  // In a row-sparse gradient, -1 means no row, so that padding is not summed.
  const Value row_ids =
      !options.sparse_gradient ? ids : trireme::where(is_padding, -1.0, cast(ids, {.dtype = i64}));
  const Value rows = gather(weight, row_ids, {.sparse_gradient = options.sparse_gradient});
  return trireme::where(spread(is_padding, rows, axes_but(ids.rank(), rows.rank())), 0.0, rows);
}

}  // namespace

Value embedding(const Value& ids, EmbeddingOptions options, SourceLocation where) {
  Layer layer(ids, "embedding", options.name, where);
  check(layer, ids, options);
  return look_up(layer, check_indices(ids, {.size = options.num_embeddings}), options);
}

Value embedding_of_checked(const Value& ids, EmbeddingOptions options, SourceLocation where) {
  Layer layer(ids, "embedding", options.name, where);
  check(layer, ids, options);
  return look_up(layer, ids, options);
}

}  // namespace trireme::nn
