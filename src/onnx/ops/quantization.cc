// Quantised tensors: their numbers times a scale, from a zero point.

#include <algorithm>

#include "onnx/ops/convolutions.h"
#include "onnx/ops/operators.h"
#include "onnx/ops/slices.h"
#include "onnx/ops/types.h"
#include "onnx/ops/windows.h"
#include "onnx/small_float.h"
#include "onnx/tensor.h"
#include "trireme/functions.h"
#include "trireme/indexing.h"
#include "trireme/linalg.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

Value as_f32(const Value& x) { return x.dtype() == f32 ? x : cast(x, {.dtype = f32}); }

// Scales and zero points in a shape that is broadcast to x: one number, one for each index of
// `axis`, or one for each block of `block` elements along it.
Value for_elements(const NodeContext& n, const Value& given, const Value& x, int axis,
                   std::int64_t block) {
  const bool single =
      given.rank() == 0 || (given.rank() == 1 && given.dim(0) == Dim(1) && block == 0);
  if (single) return reshape(given, {.shape = {}});
  if (block == 0) {
    n.require(given.rank() == 1 && axis < x.rank(),
              "its scale " + given.str() + " does not fit " + x.str());
    Shape shape(static_cast<std::size_t>(x.rank()), Dim(1));
    shape[static_cast<std::size_t>(axis)] = given.dim(0);
    return reshape(given, {.shape = shape});
  }
  const Value wide = repeat_interleave(given, block, axis);
  return wide.dim(axis) == x.dim(axis) ? wide : part_of(wide, axis, 0, x.dim(axis));
}

// x / scale as a number of the type.
Value quantized(const Value& ratio, const std::optional<Value>& zero, ElementType type,
                bool saturate) {
  if (is_small_float(type)) return cast_to(ratio, ElementType::f32, type, {.saturate = saturate});
  const auto [low, high] = integer_range(type);
  Value number = round(ratio);
  if (zero) number = number + as_f32(*zero);
  return cast(minimum(maximum(number, low), high), {.dtype = *carrier_of(type)});
}

void import_quantize(NodeContext& n) {
  const Value x = n.value(0);
  const std::int64_t block = n.integer("block_size", 0);
  const int axis = x.rank() == 0 ? 0
                                 : n.axis(n.integer("axis", 1),
                                          std::max(x.rank(), n.integer("axis", 1) == 1 ? 2 : 1));
  const auto wanted = static_cast<ElementType>(n.integer("output_dtype", 0));
  const ElementType type = n.has(2)                           ? n.type(2)
                           : wanted == ElementType::undefined ? ElementType::u8
                                                              : wanted;
  const Value scale = for_elements(n, as_f32(n.value(1)), x, axis, block);
  std::optional<Value> zero;
  if (n.has(2) && !is_small_float(type)) zero = for_elements(n, n.value(2), x, axis, block);
  n.set(0, quantized(as_f32(x) / scale, zero, type, n.integer("saturate", 1) != 0), type);
}

void import_dequantize(NodeContext& n) {
  const Value x = n.value(0);
  const std::int64_t block = n.integer("block_size", 0);
  const int axis = x.rank() < 2 ? 0 : n.axis(n.integer("axis", 1), x.rank());
  const auto wanted = static_cast<ElementType>(n.integer("output_dtype", 0));
  const ElementType type = wanted == ElementType::undefined ? n.type(1) : wanted;
  Value number = as_f32(x);
  if (n.has(2)) number = number - as_f32(for_elements(n, n.value(2), x, axis, block));
  const Value y = number * for_elements(n, as_f32(n.value(1)), x, axis, block);
  n.set(0, cast_to(y, ElementType::f32, type), type);
}

// To u8, by the range of x with 0 in it.
void import_dynamic_quantize(NodeContext& n) {
  const Value x = n.value(0);
  const Value low = minimum(reduce_min(x), 0.0), high = maximum(reduce_max(x), 0.0);
  const Value scale = (high - low) / 255.0;
  const Value zero = cast(minimum(maximum(round(-low / scale), 0.0), 255.0), {.dtype = u8});
  n.set(0, quantized(x / scale, zero, ElementType::u8, true), ElementType::u8);
  n.set(1, scale);
  n.set(2, zero);
}

// A quantised operand as whole numbers in f64, which holds their products exactly.
Value whole(NodeContext& n, std::size_t x, std::size_t zero, int axis) {
  Value number = cast(n.value(x), {.dtype = f64});
  if (!n.has(zero)) return number;
  const Value z = cast(n.value(zero), {.dtype = f64});
  return number - for_elements(n, z, number, axis, 0);
}

void import_matmul_integer(NodeContext& n) {
  const Value a = n.value(0);
  const Value y = broadcast_matmul(whole(n, 0, 2, std::max(a.rank() - 2, 0)),
                                   whole(n, 1, 3, n.value(1).rank() - 1));
  n.set(0, cast(y, {.dtype = i32}));
}

void import_conv_integer(NodeContext& n) {
  const Value x = whole(n, 0, 2, 1), weight = whole(n, 1, 3, 0);
  std::vector<std::int64_t> kernel;
  for (int axis = 2; axis < weight.rank(); ++axis) kernel.push_back(weight.dim(axis).constant());
  const Windows w = windows_of(n, spatial_sizes(n, x), kernel);
  n.set(0, cast(convolution(n, x, weight, w, n.integer("group", 1)), {.dtype = i32}));
}

// Inputs 0 to 7 are a, its scale and zero point, b with its own, and those of the result.
template <class Product>
void quantized_product(NodeContext& n, int a_axis, int b_axis, int y_axis, const Product& product) {
  const Value y = product(whole(n, 0, 2, a_axis), whole(n, 3, 5, b_axis));
  const auto scale = [&](std::size_t i, int axis) {
    return for_elements(n, cast(n.value(i), {.dtype = f64}), y, axis, 0);
  };
  const Value ratio = y * (scale(1, a_axis) * scale(4, y_axis) / scale(6, y_axis));
  const Value zero = for_elements(n, n.value(7), y, y_axis, 0);
  const auto [low, high] = integer_range(n.type(7));
  const Value number = round(ratio) + cast(zero, {.dtype = f64});
  n.set(0, cast(minimum(maximum(number, low), high), {.dtype = *carrier_of(n.type(7))}), n.type(7));
}

void import_qlinear_matmul(NodeContext& n) {
  const int a_axis = std::max(n.rank(0) - 2, 0), b_axis = n.rank(3) - 1;
  quantized_product(n, a_axis, b_axis, std::max(n.rank(0), n.rank(3)) - 1,
                    [](const Value& a, const Value& b) { return broadcast_matmul(a, b); });
}

void import_qlinear_conv(NodeContext& n) {
  quantized_product(n, 1, 0, 1, [&](const Value& x, const Value& weight) {
    std::vector<std::int64_t> kernel;
    for (int axis = 2; axis < weight.rank(); ++axis) kernel.push_back(weight.dim(axis).constant());
    const Windows w = windows_of(n, spatial_sizes(n, x), kernel);
    Value y = convolution(n, x, weight, w, n.integer("group", 1));
    if (!n.has(8)) return y;
    Shape shape(static_cast<std::size_t>(y.rank()), Dim(1));
    const Value bias = cast(n.value(8), {.dtype = f64});
    shape[1] = bias.dim(0);
    return y + reshape(bias, {.shape = shape});
  });
}

constexpr Operator kQuantizationOperators[] = {
    {"", "ConvInteger", import_conv_integer, {.widens = false}},
    {"", "DequantizeLinear", import_dequantize, {.widens = false}},
    {"", "DynamicQuantizeLinear", import_dynamic_quantize, {.widens = false}},
    {"", "MatMulInteger", import_matmul_integer, {.widens = false}},
    {"", "QLinearConv", import_qlinear_conv, {.widens = false}},
    {"", "QLinearMatMul", import_qlinear_matmul, {.widens = false}},
    {"", "QuantizeLinear", import_quantize, {.widens = false}},
};

}  // namespace

Operators quantization_operators() { return kQuantizationOperators; }

}  // namespace trireme::onnx
