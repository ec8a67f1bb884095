#pragma once

// What sort, argsort and top_k share.

#include <functional>
#include <vector>

#include "ops/index.h"

namespace trireme::ops {

// `count` of the elements along attribute `axis`, in order; all if it is not set.
// Error unless x holds numbers and has that axis.
std::vector<Type> ordered_type(const TypeContext& c, const Dim* count = nullptr);

// Result 0 is the values and result 1 their i64 indices; or the indices alone. They are as many as
// the results have room for.
ReferenceRule order_reference(std::function<bool(const Attributes&)> descending);

// The gradient of the values goes back to where they came from.
void order_gradient(GradientContext& c);

// Odd sizes, every axis, ties, none; `attributes` are added to each.
std::vector<Sample> order_samples(const Attributes& attributes);

}  // namespace trireme::ops
