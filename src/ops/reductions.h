#pragma once

// What sum, mean, reduce_max, reduce_min and argmax share.

#include <functional>
#include <vector>

#include "ops/index.h"

namespace trireme::ops {

// The shape without attribute `axes` (all if the list is empty), kept as 1 with `keep`.
TypeRule reduced_type(Numbers numbers);

// Combines the summands of every result element in row-major order with `f`, then finishes
// the total.
ReferenceRule reduction_reference(double identity, std::function<double(double, double)> f,
                                  std::function<double(double, double count)> finish = {});

// A gradient by the result of a reduction, or the result, spread over the shape of the operand.
Value spread(const GradientContext& c, const Value& reduced);
// The number of summands of one element: a double, or a value in the dtype of the operand.
Operand summands(const GradientContext& c);

// Gradient of the two extrema: equal shares for all elements that are equal to the result.
void extremum_gradient(GradientContext& c);

// No axis kept, one, all; an axis in front; odd sizes; one element. Empty ones where `empty`.
std::vector<Sample> reduction_samples(bool empty, DType dtype = DType::f32);

}  // namespace trireme::ops
