#pragma once

// Helpers that the op files share: common type rules, lowerings, reference loops and samples, and
// helpers for gradients that trireme/ops.h does not have.

#include <cmath>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"
#include "trireme/ops.h"

namespace trireme::ops {

using ir::GradientContext;
using ir::Trait;
using ir::Type;
using ir::TypeContext;
using ir::TypeError;
using kernel_ir::Builder;
using kernel_ir::ExprOp;
using Args = std::span<const ExprId>;

// Returns a single trait as the bits of OpDef::traits; join several with `|`.
constexpr std::uint32_t bits(Trait trait) { return static_cast<std::uint32_t>(trait); }

// --- Type rules -------------------------------------------------------------------------------

enum class Numbers {
  any,      // every dtype, also bf16 and f16, which ops only move and do not compute with
  numeric,  // integers, f32 and f64
  common,   // u8, i32, i64, f32 and f64: what library kernels take
  floats,
  integers,
  booleans,
  ordered  // every dtype that can be compared: all but bf16 and f16
};
bool is(DType dtype, Numbers numbers);
// u8, i32 and i64: the integers that ops take as indices.
constexpr bool is_index(DType dtype) {
  return dtype == DType::u8 || dtype == DType::i32 || dtype == DType::i64;
}

using TypeRule = std::function<std::vector<Type>(const TypeContext&)>;

// Returns the elements of x in a word of 32 bits: 4 of u8 and i8, 2 of i16, 0 of others.
std::int64_t elements_of_word(DType x);
// Returns one of the `elements` signed numbers in a word, the lowest first.
double part_of_word(double word, std::int64_t elements, std::int64_t number);

// Returns the dtype of a sum of products of elements of x and weight: that of both if they are
// floats, and i32 if x is u8 or i8 and weight is i8. nullopt if they have no such sum.
std::optional<DType> product_dtype(DType x, DType weight);

// All operands and the result have one type, with a dtype of class `numbers`.
TypeRule same_type(Numbers numbers);
// All operands have one type; the result has their shape and dtype `dtype`.
TypeRule same_shape_to(DType dtype, Numbers numbers = Numbers::ordered);
// The result type is given by the attributes `shape` and `dtype`; TypeError for negative sizes.
TypeRule type_of_attributes(Numbers numbers = Numbers::any);

// Throws TypeError with `message` and `hint` unless `holds`.
void require(bool holds, std::string_view message, std::string_view hint = "");
// The same with a function that makes the message. For ops that are recorded often: in immediate
// mode, making texts would take longer than recording.
template <std::invocable Message>
void require(bool holds, const Message& message, std::string_view hint = "") {
  if (!holds) require(false, std::string_view(std::string(message())), hint);
}
// Returns `axis`, which is in [-rank, rank), as a number in [0, rank); otherwise TypeError.
int checked_axis(std::int64_t axis, int rank);
// Returns the attribute `axis`, checked in the same way.
std::size_t axis_of(const Attributes& attributes, int rank);
// Returns the axes as sorted distinct numbers in [0, rank); all axes if the list is empty.
std::vector<int> checked_axes(const std::vector<std::int64_t>& axes, int rank);

// A rule for OpDef::row_wise of ops that work along the attribute `axis` or `axes`: true if these
// do not include axis 0. An operand without rows is allowed only if it is not joined with one that
// has rows.
bool along_other_axes(const ir::Op& op, const std::vector<bool>& rows);

// A rule for OpDef::mixed_axes: the attribute `axis` or `axes`; all axes if the list is empty.
std::vector<int> axes_of_attributes(const ir::Op& op);

// --- Lowering ---------------------------------------------------------------------------------

using Lower = std::function<ExprId(Lowering&)>;

// Element i of the result is f of elements i of all operands.
Lower pointwise(std::function<ExprId(Builder&, Args)> f);
Lower pointwise(ExprOp op);  // one or two operands

// Returns `value` as a constant of the type of expression `like`.
ExprId number(Builder& k, ExprId like, double value);

// --- Reference --------------------------------------------------------------------------------

using ReferenceRule = std::function<void(const Reference&)>;

// The same loop in double. `f` must return whole numbers if the result is integer or boolean.
ReferenceRule pointwise_reference(std::function<double(double)> f);
ReferenceRule pointwise_reference(std::function<double(double, double)> f);
ReferenceRule pointwise_reference(std::function<double(double, double, double)> f);

// The same sample with an input of `dtype`, u8 or i8, and a weight of i8, over all their values.
Sample of_bytes(Sample sample, DType dtype);

// Returns the value converted to `dtype`, as kernel_ir::ExprOp::cast does. f32 is not rounded.
double to_dtype(double value, DType dtype);

// --- Gradients --------------------------------------------------------------------------------

// Returns a value with the shape and dtype of `like` and all elements equal to `number`.
Value filled_like(const Value& like, double number);

// Appends an op without operands to the insertion point of `program`.
std::vector<Value> emit_in(ir::Program& program, std::string_view op, Attributes attributes,
                           const SourceLocation& where);

// --- Samples ----------------------------------------------------------------------------------

Type type_of(std::vector<std::int64_t> shape, DType dtype = DType::f32);

// The shapes that every elementwise op is tested with: odd sizes, more elements than a vector, one
// element, a scalar, and no elements. Makes `operands` operands of one type, uniform in [low,
// high].
std::vector<Sample> elementwise_samples(int operands, double low = -2, double high = 2,
                                        DType dtype = DType::f32);
// Concatenates lists of samples.
std::vector<Sample> joined(std::initializer_list<std::vector<Sample>> lists);

}  // namespace trireme::ops
