#pragma once

// Common code of sort, argsort and top_k.

#include <functional>
#include <vector>

#include "ops/index.h"

namespace trireme::ops {

// Returns the types of `count` elements along attribute `axis` and of their indices; of all
// elements if `count` is null. TypeError unless x is numeric and has that axis.
std::vector<Type> ordered_type(const TypeContext& c, const Dim* count = nullptr);

// Result 0 is the values and result 1 their i64 indices; or the only result is the indices.
// Computes as many elements as the results have.
ReferenceRule order_reference(std::function<bool(const Attributes&)> descending);

// Scatters the gradient of the values back to their original positions.
void order_gradient(GradientContext& c);

// Samples with odd sizes, every axis, ties and no elements; `attributes` are added to each.
std::vector<Sample> order_samples(const Attributes& attributes);

}  // namespace trireme::ops
