#include "nn/embedding.h"
#include "nn/models/model.h"
#include "trireme/functions.h"
#include "trireme/recurrent.h"
#include "trireme/sequence.h"

namespace trireme::models {
namespace {

Value joined(const std::vector<Value>& parts) {
  return parts.size() == 1 ? parts[0] : concat(parts, {.axis = 1});
}

// Returns the row at the position and its two neighbors, concatenated, for each sequence.
Value neighbors(const Value& ids, const Value& embedded, const Value& position) {
  const Value splits = sequence::splits(ids);
  const Value begins = slice(splits, {.starts = {0}, .limits = {splits.dim(0) - 1}});
  const Value last = sequence::lengths(ids) - 1.0;
  std::vector<Value> window_rows;
  for (const double step : {-1.0, 0.0, 1.0}) {
    window_rows.push_back(gather(embedded, begins + minimum(maximum(position + step, 0.0), last)));
  }
  return concat(window_rows, {.axis = 1});
}

// Returns an embedding of the distance of each row from the position.
Value distance_embedding(const Value& ids, const Value& position, const TaggerOptions& options,
                         const SourceLocation& where) {
  const auto max_distance = static_cast<double>(options.max_distance);
  const Value distance = sequence::positions(ids) - sequence::expand(position, ids);
  return nn::embedding(clamp(distance, -max_distance, max_distance) + max_distance,
                       {.num_embeddings = 2 * options.max_distance + 1, .dim = options.mark_width},
                       where);
}

}  // namespace

Value tagger(const std::vector<IdField>& fields_in, const Value& position, TaggerOptions options,
             SourceLocation where) {
  Model model(first_ids(fields_in, "tagger"), "tagger", options.name, where);
  const std::vector<IdField> fields = checked(model, fields_in, where);
  const Value& ids = fields[0].ids;
  for (const IdField& field : fields) {
    model.require(field.ids.rank() == 1 && field.ids.dim(0) == ids.dim(0),
                  "all fields must be ids [rows] of the same sequences");
  }
  options.most_distance.apply_to(options.max_distance, TaggerOptions().max_distance);
  model.require(options.classes > 0 && options.width > 0 && options.units > 0 &&
                    options.layers > 0 && (fields.size() == 1 || options.other_width > 0),
                "classes, widths, units and layers must be at least 1");
  model.require(options.context >= 0 && options.mark_width >= 0 && options.max_distance > 0,
                "context and mark_width must not be negative, max_distance must be above 0");
  std::vector<Value> parts;
  for (const IdField& field : fields) {
    const bool first = parts.empty();
    parts.push_back(nn::embedding_of_checked(field.ids,
                                             {.num_embeddings = field.rows,
                                              .dim = first ? options.width : options.other_width,
                                              .sparse_gradient = first && options.sparse_gradient},
                                             where));
  }
  const Value embedded = nn::dropout(joined(parts), {.rate = options.dropout}, where);
  std::vector<Value> features{embedded};
  if (position && options.context > 0) {
    const Value context = nn::linear(neighbors(ids, embedded, position),
                                     {.units = options.context, .activation = nn::tanh}, where);
    features.push_back(sequence::expand(context, ids, where));
  }
  if (position && options.mark_width > 0) {
    features.push_back(distance_embedding(ids, position, options, where));
  }
  const Value x = nn::lstm(joined(features),
                           {.units = options.units,
                            .layers = static_cast<int>(options.layers),
                            .bidirectional = true,
                            .dropout = options.dropout},
                           where);
  const Value scores =
      nn::linear(nn::dropout(x, {.rate = options.dropout}, where),
                 {.units = options.classes, .weight_init = options.weight_init}, where);
  return model.finish(scores, options.decay_biases);
}

}  // namespace trireme::models
