#pragma once

// What the losses share.

#include <string>

#include "nn/layer.h"

namespace trireme::nn {

// Error(usage) naming the loss unless both have one shape and dtype.
void require_same(const char* what, const Value& x, const Value& target);
// Error(usage) unless the logits are [..., classes] and the labels integers [...].
void require_labels(const char* what, const Value& logits, const Value& label);
void require_option(bool holds, const char* what, const std::string& message, const Value& x);

// boolean, of the logits' shape: whether an element is that of the label. A comparison picks the
// label's element with no gather, and no scatter in the gradient, which stays one fused kernel.
Value label_mask(At& at, const Value& logits, const Value& label);

}  // namespace trireme::nn
