#include "nn/models/model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "nn/embedding.h"
#include "trireme/functions.h"

namespace trireme::models {

Model::Model(const Value& x, const char* stem, const std::string& name, const SourceLocation& where)
    : Layer(x, stem, name, where), first_(program().parameters().size()) {}

Value Model::finish(const Value& logits, bool decay_biases) {
  const auto& parameters = program().parameters();
  for (std::size_t i = first_; i < parameters.size() && !decay_biases; ++i) {
    if (parameters[i]->value->type.rank() < 2) parameters[i]->settings.weight_decay = 0;
  }
  return logits;
}

Value conv_norm(const Value& x, const ConvNorm& options, const std::optional<Initializer>& init,
                const SourceLocation& where) {
  const Value y = nn::conv2d(x,
                             {.channels = options.channels,
                              .kernel = options.kernel,
                              .stride = options.stride,
                              .padding = options.kernel / 2,
                              .groups = options.groups,
                              .bias = false,
                              .weight_init = init.value_or(nn::kaiming_normal())},
                             where);
  return nn::batch_norm(y, {}, where);
}

std::int64_t scaled(Model& model, std::int64_t channels, double factor) {
  constexpr double kMaxFactor = 1024;
  model.require(factor > 0 && factor <= kMaxFactor, "width must be above 0 and at most 1024",
                "1 is the width in the paper");
  return std::max<std::int64_t>(std::llround(static_cast<double>(channels) * factor), 1);
}

Value hidden_layers(Value x, const Hidden& options, const SourceLocation& where) {
  for (const std::int64_t units : options.units) {
    x = nn::linear(
        x, {.units = units, .activation = options.activation, .weight_init = options.weight_init},
        where);
    if (options.dropout != 0) x = nn::dropout(x, {.rate = options.dropout}, where);
  }
  return x;
}

Value as_rows(const Value& x, const SourceLocation& where) {
  return x.rank() > 2 ? nn::flatten(x, where) : x;
}

Value normalize(const Value& x, const std::vector<double>& mean, const std::vector<double>& stddev,
                SourceLocation where) {
  Model model(x, "normalize", "", where);
  model.require(x.rank() == 4 && x.dim(1).is_constant(), "the input is not a batch of images",
                "[batch, channels, height, width]");
  const auto channels = static_cast<std::size_t>(x.dim(1).constant());
  const auto along_channels = [&](const std::vector<double>& numbers, const char* what) {
    model.require(numbers.size() == 1 || numbers.size() == channels,
                  std::string(what) + " has " + std::to_string(numbers.size()) + " numbers for " +
                      std::to_string(channels) + " channels",
                  "give one number for each channel, or one for all");
    std::vector<Value> parts;
    for (const double number : numbers) {
      parts.push_back(
          model.make("constant", {{"dtype", x.dtype()}, {"shape", Shape{1}}, {"value", number}}));
    }
    return parts.size() == 1 ? reshape(parts[0], {.shape = {}})
                             : nn::spread(concat(parts, {.axis = 0}), x, {1});
  };
  for (const double number : stddev) {
    model.require(number > 0, "a deviation must be above 0");
  }
  std::vector<double> factors;
  for (const double number : stddev) factors.push_back(1 / number);
  return (x - along_channels(mean, "mean")) * along_channels(factors, "stddev");
}

Value look_up(const JoinedIds& ids, std::int64_t width, const Initializer& init, bool sparse,
              const SourceLocation& where) {
  return nn::embedding_of_checked(
      ids.ids,
      {.num_embeddings = ids.rows, .dim = width, .weight_init = init, .sparse_gradient = sparse},
      where);
}

std::vector<IdField> checked(Model& model, const std::vector<IdField>& fields,
                             const SourceLocation& where) {
  std::vector<IdField> result;
  for (const IdField& field : fields) {
    const std::string name = "field " + std::to_string(result.size());
    model.require(
        static_cast<bool>(field.ids) && is_integer(field.ids.dtype()) &&
            (field.ids.rank() == 1 || (field.ids.rank() == 2 && field.ids.dim(1).is_constant())),
        name + " is not ids [batch] or [batch, n]", "use an input of dtype i64");
    model.require(field.rows > 0, name + " has no rows",
                  "set .rows to the number of different ids: {.ids = ids, .rows = 1000}");
    const nn::Layer scope(field.ids, "field", "field_" + std::to_string(result.size()), where);
    const Value ids = check_indices(field.ids, {.size = field.rows});
    // i64 is wide enough for the joined rows of all fields.
    result.push_back({cast(ids, {.dtype = i64}), field.rows});
  }
  return result;
}

JoinedIds join_ids(const std::vector<IdField>& fields) {
  JoinedIds joined;
  std::vector<Value> parts;
  for (const IdField& field : fields) {
    const Value ids = field.ids.rank() == 1 ? unsqueeze(field.ids, 1) : field.ids;
    parts.push_back(joined.rows == 0 ? ids : ids + static_cast<double>(joined.rows));
    joined.rows += field.rows;
    joined.count += ids.dim(1).constant();
  }
  joined.ids = parts.size() == 1 ? parts[0] : concat(parts, {.axis = 1});
  return joined;
}

const Value& first_ids(const std::vector<IdField>& fields, const char* what) {
  if (fields.empty()) fail_usage(std::string(what) + ": there are no fields of ids");
  return fields[0].ids;
}

}  // namespace trireme::models
