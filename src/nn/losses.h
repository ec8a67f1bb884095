#pragma once

// What the losses share.

#include <cstdint>
#include <string>

#include "nn/layer.h"

namespace trireme::nn {

// Error(usage) naming the loss unless both have one shape and dtype.
void require_same(const char* what, const Value& x, const Value& target);
// Error(usage) unless the logits are [..., classes] and the labels integers [...].
void require_labels(const char* what, const Value& logits, const Value& label);
void require_option(bool holds, const char* what, const std::string& message, const Value& x);

// What the rows of a table stand for: "the table of inner nodes must be f32[nodes, 8]".
struct RowNames {
  const char* table;
  const char* axis;
};
// Of a loss that reads a few rows of a table. Error(usage) unless hidden is floats [batch, width],
// the labels are i64[batch], weight is [rows, width] of hidden's dtype with a number of rows that is
// known, and bias is [rows] or empty. Gives the number of rows.
std::int64_t require_table(Layer& layer, const Value& hidden, const Value& label,
                           const Value& weight, const Value& bias, const RowNames& rows);

// boolean, of the logits' shape: whether an element is that of the label. A comparison picks the
// label's element with no gather, and no scatter in the gradient, which stays one fused kernel.
Value label_mask(At& at, const Value& logits, const Value& label);

}  // namespace trireme::nn
