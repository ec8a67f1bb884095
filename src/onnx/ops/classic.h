#pragma once

// What the operators of the domain ai.onnx.ml share: scores and labels.

#include <string>
#include <vector>

#include "onnx/node.h"

namespace trireme::onnx {

inline constexpr const char* kClassic = "ai.onnx.ml";

// Numbers of an attribute: floats, integers or, under the name with "_as_tensor", a tensor.
std::vector<double> attribute_numbers(NodeContext& n, const std::string& name);

// Numbers that are known now as a value.
Value table(NodeContext& n, DType dtype, const std::vector<std::int64_t>& shape,
            const std::vector<double>& numbers);

// An input with floats: f64 stays, all others become f32.
Value float_input(NodeContext& n, std::size_t i);

// NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT of scores [rows, n].
Value post_transform(NodeContext& n, const Value& scores, const std::string& name);

// x [rows, columns] times coefficients [targets, columns], plus the intercepts of this attribute:
// [rows, targets].
Value linear_scores(NodeContext& n, const std::string& intercepts);

// Outputs 0 and 1 of a classifier with the classes of classlabels_int64s, classlabels_ints or
// classlabels_strings: the labels at `index` i64[rows], and the scores. Texts become their indices,
// with a warning.
std::size_t count_labels(NodeContext& n);
void set_classes(NodeContext& n, const Value& index, const Value& scores);

}  // namespace trireme::onnx
