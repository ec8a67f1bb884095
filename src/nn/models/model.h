#pragma once

// Common code of the models of the bank.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nn/layer.h"
#include "trireme/models.h"

namespace trireme::models {

// The scope of one model.
class Model : public nn::Layer {
 public:
  Model(const Value& x, const char* stem, const std::string& name, const SourceLocation& where);
  // Must be called last. Without `decay_biases`, disables weight decay for the vectors among the
  // model's parameters. Returns the logits.
  Value finish(const Value& logits, bool decay_biases);

 private:
  std::size_t first_;  // index of the model's first parameter
};

// --- Layers -----------------------------------------------------------------------------------

struct ConvNorm {
  std::int64_t channels = 0;
  std::int64_t kernel = 3;  // odd; the padding is half of it
  std::int64_t stride = 1;
  std::int64_t groups = 1;
};
// A convolution without bias and its batch norm.
Value conv_norm(const Value& x, const ConvNorm& options, const std::optional<Initializer>& init,
                const SourceLocation& where);

// Returns `channels` times `factor`, at least 1. Error(usage) if the factor is out of range.
std::int64_t scaled(Model& model, std::int64_t channels, double factor);

struct Hidden {
  const std::vector<std::int64_t>& units;
  nn::Activation activation = nn::relu;
  double dropout = 0;
  std::optional<Initializer> weight_init = {};
};
// A stack of linear layers with activation and dropout.
Value hidden_layers(Value x, const Hidden& options, const SourceLocation& where);

// Reshapes x [batch, ...] to [batch, n].
Value as_rows(const Value& x, const SourceLocation& where);

// --- Tables of ids ----------------------------------------------------------------------------

// Returns the fields with ids that are checked once when the Program runs, however often they are
// used. An id out of range is Error(data) and names field_0, field_1, ... Error(usage) for ids that
// are not integers, or a field without rows.
std::vector<IdField> checked(Model& model, const std::vector<IdField>& fields,
                             const SourceLocation& where);

// Several fields as ids [batch, n] of one table, which concatenates their rows.
struct JoinedIds {
  Value ids;
  std::int64_t rows = 0;   // rows of all fields
  std::int64_t count = 0;  // n
};
// Precondition: the fields come from checked(), or are computed from such fields so that their ids
// are in range. An id too large for its field would select a row of the next field.
JoinedIds join_ids(const std::vector<IdField>& fields);

// Returns rows [batch, n, width] of a new table of parameters; with `sparse` its gradient is
// row-sparse.
Value look_up(const JoinedIds& ids, std::int64_t width, const Initializer& init, bool sparse,
              const SourceLocation& where);

// Returns the ids of field 0, from which a model gets its Program. Error(usage) if there are no
// fields.
const Value& first_ids(const std::vector<IdField>& fields, const char* what);

}  // namespace trireme::models
