#include <cmath>
#include <string>

#include "nn/layer.h"
#include "trireme/nn.h"

namespace trireme::nn {
namespace {

Initializer table_init(const EmbeddingOptions& options) {
  Initializer init =
      options.weight_init.value_or(normal(0, 1 / std::sqrt(static_cast<double>(options.width))));
  if (options.padding_row) ir::set(init.attributes, "zero_row", *options.padding_row);
  return init;
}

void check(Layer& layer, const Value& ids, const EmbeddingOptions& options) {
  layer.require(is_integer(ids.dtype()),
                "ids are integers, not " + std::string(name_of(ids.dtype())),
                "cast(ids, {.dtype = trireme::i64})");
  layer.require(options.rows > 0, "rows must be above 0, but is " + std::to_string(options.rows),
                "set .rows to the number of different ids");
  layer.require(options.width > 0, "width must be above 0, but is " + std::to_string(options.width),
                "set .width to the length of a row");
  const std::int64_t padding = options.padding_row.value_or(0);
  layer.require(padding >= 0 && padding < options.rows, "padding_row " + std::to_string(padding) +
                                                            " is outside [0, " +
                                                            std::to_string(options.rows) + ")");
}

}  // namespace

Value embedding(const Value& ids, EmbeddingOptions options, SourceLocation where) {
  Layer layer(ids, "embedding", options.name, where);
  check(layer, ids, options);
  const Value weight = layer.parameter("weight", f32, {options.rows, options.width},
                                       table_init(options), true, options.weight_settings);
  const Value rows = gather(weight, check_indices(ids, {.size = options.rows}),
                            {.sparse_gradient = options.sparse_gradient});
  if (!options.padding_row) return rows;
  const Value is_padding = equal(ids, static_cast<double>(*options.padding_row));
  const Value zeros =
      layer.make("constant", {{"dtype", f32}, {"shape", rows.shape()}, {"value", 0.0}});
  return select(spread(is_padding, rows, axes_but(ids.rank(), rows.rank())), zeros, rows);
}

}  // namespace trireme::nn
