#pragma once

// What the reductions share: sum, mean, prod, reduce_max, reduce_min, any, all, argmax, argmin.

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

// argmax and argmin: the i64 position of the winner along the single axis of `axes`.
std::vector<Type> position_type(const TypeContext& c);
// The first NaN wins or, without one, the first element that is better than those before it.
ReferenceRule position_reference(std::function<bool(double x, double best)> better);
std::vector<Sample> position_samples();

// No axis kept, one, all; an axis in front; odd sizes; one element. Empty ones where `empty`.
std::vector<Sample> reduction_samples(bool empty, DType dtype = DType::f32);

}  // namespace trireme::ops
