#pragma once

// What the models of the bank share.

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
  // To be called last: without `decay_biases` the vectors among the model's parameters are not
  // decayed. Gives the logits back.
  Value finish(const Value& logits, bool decay_biases);

 private:
  std::size_t first_;  // parameter
};

// --- Layers -----------------------------------------------------------------------------------

struct ConvNorm {
  std::int64_t channels = 0;
  std::int64_t kernel = 3;  // odd; the border is padded by half of it
  std::int64_t stride = 1;
  std::int64_t groups = 1;
};
// A convolution without bias and its batch norm.
Value conv_norm(const Value& x, const ConvNorm& options, const std::optional<Initializer>& init,
                const SourceLocation& where);

// `channels` times `factor`, at least 1. Errors: usage, if the factor is not above 0.
std::int64_t scaled(Model& model, std::int64_t channels, double factor);

struct Hidden {
  const std::vector<std::int64_t>& units;
  nn::Activation activation = nn::relu;
  double dropout = 0;
  std::optional<Initializer> weight_init = {};
};
// Linear layers with activation and dropout, in a row.
Value hidden_layers(Value x, const Hidden& options, const SourceLocation& where);

// x [batch, ...] as [batch, n].
Value as_rows(const Value& x, const SourceLocation& where);

// --- Tables of ids ----------------------------------------------------------------------------

// The fields with ids that are checked when the Program runs, once, whatever looks them up. An id that
// is out of range is Error(data) and names field_0, field_1, ... Errors: usage, for ids that are no
// integers, or a field without rows.
std::vector<IdField> checked(Model& model, const std::vector<IdField>& fields,
                             const SourceLocation& where);

// Several fields as ids [batch, n] of one table, in which they stand one behind the other.
struct JoinedIds {
  Value ids;
  std::int64_t rows = 0;   // of all fields
  std::int64_t count = 0;  // n
};
// Precondition: the fields come from checked(), or are made of such so that their ids are in range.
// An id too large for its field would be one of the next.
JoinedIds join_ids(const std::vector<IdField>& fields);

// The rows [batch, n, width] of a table of parameters; with `sparse` its gradient is row-sparse.
Value look_up(const JoinedIds& ids, std::int64_t width, const Initializer& init, bool sparse,
              const SourceLocation& where);

// The ids of field 0, by which a model finds its Program. Errors: usage, if there are no fields.
const Value& first_ids(const std::vector<IdField>& fields, const char* what);

}  // namespace trireme::models
