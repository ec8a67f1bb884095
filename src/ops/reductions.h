#pragma once

// Common code of the reductions: sum, mean, prod, reduce_max, reduce_min, any, all, argmax, argmin.

#include <functional>
#include <vector>

#include "ops/index.h"

namespace trireme::ops {

// The shape without the attribute `axes` (all axes if empty); with `keep` these axes have size 1.
TypeRule reduced_type(Numbers numbers);

// Combines the summands of every result element with `f` in row-major order, then finishes the
// total.
ReferenceRule reduction_reference(double identity, std::function<double(double, double)> f,
                                  std::function<double(double, double count)> finish = {});

// Broadcasts a reduced value (the result or its gradient) to the shape of the operand.
Value spread(const GradientContext& c, const Value& reduced);
// Returns the number of summands of one element, as a double or a value in the operand's dtype.
Operand summands(const GradientContext& c);

// The gradient of reduce_max and reduce_min: elements equal to the result share it equally.
void extremum_gradient(GradientContext& c);

// argmax and argmin: the i64 index of the selected element along the single axis in `axes`.
std::vector<Type> position_type(const TypeContext& c);
// Selects the first NaN; without one, the first element that is better than all before it.
ReferenceRule position_reference(std::function<bool(double x, double best)> better);
std::vector<Sample> position_samples();

// Samples that reduce no, one or all axes, with odd sizes and one element; no elements if `empty`.
std::vector<Sample> reduction_samples(bool empty, DType dtype = DType::f32);

}  // namespace trireme::ops
