#include "nn/models/model.h"

namespace trireme::models {
namespace {

// Adds a field for each cross of two fields. Its id is first id * rows of the second + second id.
std::vector<IdField> crossed(Model& model, const std::vector<IdField>& fields,
                             const WideAndDeepOptions& options) {
  std::vector<IdField> all = fields;
  const auto one_id = [&](std::int64_t index) {
    model.require(
        index >= 0 && index < static_cast<std::int64_t>(fields.size()),
        "a cross names field " + std::to_string(index) + " of " + std::to_string(fields.size()));
    const IdField& field = fields[static_cast<std::size_t>(index)];
    model.require(field.ids.rank() == 1, "a cross needs fields with one id per example, [batch]");
    return field;
  };
  constexpr std::int64_t kMaxRows = std::int64_t{1} << 31;
  for (const auto& [first, second] : options.crosses) {
    const IdField a = one_id(first), b = one_id(second);
    model.require(a.rows <= kMaxRows / std::max<std::int64_t>(b.rows, 1),
                  "a cross has too many pairs: " + std::to_string(a.rows) + " times " +
                      std::to_string(b.rows));
    all.push_back({a.ids * static_cast<double>(b.rows) + b.ids, a.rows * b.rows});
  }
  return all;
}

Value wide(Model& model, const std::vector<IdField>& fields, const Value& numbers,
           const WideAndDeepOptions& options, const SourceLocation& where) {
  const JoinedIds ids = join_ids(crossed(model, fields, options));
  Value y = sum(look_up(ids, options.classes, nn::zeros(), options.sparse_gradient, where),
                {.axes = {1}});
  if (numbers) {
    y = y + nn::linear(numbers,
                       {.units = options.classes, .bias = false, .weight_init = nn::zeros()},
                       where);
  }
  return y;
}

Value deep(const std::vector<IdField>& fields, const Value& numbers,
           const WideAndDeepOptions& options, const SourceLocation& where) {
  const JoinedIds ids = join_ids(fields);
  Value x = nn::flatten(
      look_up(ids, options.width, options.embedding_init, options.sparse_gradient, where), where);
  if (numbers) x = concat({x, numbers}, {.axis = 1});
  x = hidden_layers(
      x, {.units = options.hidden, .dropout = options.dropout, .weight_init = options.weight_init},
      where);
  return nn::linear(x, {.units = options.classes, .weight_init = options.weight_init}, where);
}

}  // namespace

Value wide_and_deep(const std::vector<IdField>& fields, const Value& numbers,
                    WideAndDeepOptions options, SourceLocation where) {
  Model model(first_ids(fields, "wide_and_deep"), "wide_and_deep", options.name, where);
  model.require(options.classes > 0, "classes must be at least 1");
  const std::vector<IdField> checked_fields = checked(model, fields, where);
  const Value linear_part = wide(model, checked_fields, numbers, options, where);
  const Value logits = linear_part + deep(checked_fields, numbers, options, where);
  return model.finish(logits, options.decay_biases);
}

}  // namespace trireme::models
