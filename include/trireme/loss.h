#pragma once

// Losses, not yet averaged: mean(nn::cross_entropy(logits, label)).

#include "trireme/export.h"
#include "trireme/program.h"

namespace trireme::nn {

struct CrossEntropyOptions {
  double label_smoothing = 0;  // of the target, spread evenly over all classes; in [0, 1)
};
// -log softmax(logits)[label], for logits [..., classes] and integer labels [...]. Labels must
// be in [0, classes): data sets check that.
TRIREME_API Value cross_entropy(const Value& logits, const Value& label,
                                CrossEntropyOptions options = {},
                                SourceLocation where = SourceLocation::current());

// Element by element, for targets in [0, 1]; safe for large logits.
TRIREME_API Value binary_cross_entropy_with_logits(
    const Value& logits, const Value& target, SourceLocation where = SourceLocation::current());

// Element by element: (x - target)^2 and |x - target|.
TRIREME_API Value mse(const Value& x, const Value& target,
                      SourceLocation where = SourceLocation::current());
TRIREME_API Value l1(const Value& x, const Value& target,
                     SourceLocation where = SourceLocation::current());

struct HuberOptions {
  double delta = 1;
};
// d^2 / 2 where |d| <= delta, else delta * (|d| - delta / 2), with d = x - target.
TRIREME_API Value huber(const Value& x, const Value& target, HuberOptions options = {},
                        SourceLocation where = SourceLocation::current());

}  // namespace trireme::nn
