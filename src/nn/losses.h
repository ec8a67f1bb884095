#pragma once

// Code that the losses share.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nn/layer.h"
#include "trireme/loss.h"

namespace trireme::nn {

// Error(usage) with the name of the loss unless both have one shape and dtype.
void require_same(const char* what, const Value& x, const Value& target);
// Error(usage) unless the logits are [..., classes] and the labels integers [...].
void require_labels(const char* what, const Value& logits, const Value& label);
void require_option(bool holds, const char* what, const std::string& message, const Value& x);

// Returns one weight for each class, the last axis of x, with the shape of x; empty if there are no
// weights. They are the parameter `name` of a layer `what`, which is not trained. Error(usage) for
// another number of weights, and for weights that are negative or not finite.
Value class_weights(const char* what, const char* name, const Value& x,
                    const std::vector<double>& weights, const SourceLocation& where);

// Names for messages about a table: "the table of inner nodes must be f32[nodes, 8]".
struct RowNames {
  const char* table;
  const char* axis;
};
// For losses that read a few rows of a table. Error(usage) unless hidden is floats [batch, width],
// the labels are i64[batch], weight is [rows, width] with hidden's dtype and a constant number of
// rows, and bias is [rows] or empty. Returns the number of rows.
std::int64_t require_table(Layer& layer, const Value& hidden, const Value& label,
                           const Value& weight, const Value& bias, const RowNames& rows);

// Returns the labels after a check at run time: Error(data) for one outside [0, classes) that is
// not `ignore_index`. A symbolic number of classes is not checked.
Value checked_labels(const Value& label, const Dim& classes,
                     const std::optional<std::int64_t>& ignore_index = {});
// Applies the reduction. `weights` are those of the losses; empty: 1 each.
Value reduced(const Value& losses, const Value& weights, Reduction reduction);

// Returns booleans with the logits' shape: whether an element belongs to the label. A comparison
// selects the label's element without a gather and without a scatter in the gradient, so that it
// stays one fused kernel.
Value label_mask(LocationScope& at, const Value& logits, const Value& label);

}  // namespace trireme::nn
