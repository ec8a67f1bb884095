#pragma once

// What the op files share: type rules, lowerings, reference loops and samples of the common kinds,
// and the few helpers that gradients need besides the public functions of trireme/ops.h.

#include <cmath>
#include <functional>
#include <initializer_list>
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

// A single trait as the bits of OpDef::traits; several are joined with `|`.
constexpr std::uint32_t bits(Trait trait) { return static_cast<std::uint32_t>(trait); }

// --- Type rules -------------------------------------------------------------------------------

enum class Numbers {
  any,      // bf16 and f16 too, which no other has: they are moved, not computed with
  numeric,  // no booleans
  floats,
  integers,
  booleans,
  ordered  // whatever can be compared
};
bool is(DType dtype, Numbers numbers);

using TypeRule = std::function<std::vector<Type>(const TypeContext&)>;

// All operands have one type, of the given numbers, and so has the result.
TypeRule same_type(Numbers numbers);
// All operands have one type and the result has their shape and dtype `dtype`.
TypeRule same_shape_to(DType dtype, Numbers numbers = Numbers::ordered);
// The type that the attributes `shape` and `dtype` name; sizes must not be negative.
TypeRule type_of_attributes(Numbers numbers = Numbers::any);

// Throws TypeError with `message` and `hint` unless `holds`.
void require(bool holds, const std::string& message, const std::string& hint = "");
// `axis` in [-rank, rank) as [0, rank); otherwise TypeError.
int checked_axis(std::int64_t axis, int rank);
// The attribute `axis`, checked like that.
std::size_t axis_of(const Attributes& attributes, int rank);
// The axes of a list as sorted distinct numbers in [0, rank); all axes if the list is empty.
std::vector<int> checked_axes(const std::vector<std::int64_t>& axes, int rank);

// A rule for OpDef::row_wise: the op works along its attribute `axis` or `axes`, and that is not axis 0.
// Operands without rows do not matter if they are not joined with those that have them.
bool along_other_axes(const ir::Op& op, const std::vector<bool>& rows);

// --- Lowering ---------------------------------------------------------------------------------

using Lower = std::function<ExprId(Lowering&)>;

// Element i of the result is f of elements i of all operands.
Lower pointwise(std::function<ExprId(Builder&, Args)> f);
Lower pointwise(ExprOp op);  // one or two operands

// The number as a constant of the type of expression `like`.
ExprId number(Builder& k, ExprId like, double value);

// --- Reference --------------------------------------------------------------------------------

using ReferenceRule = std::function<void(const Reference&)>;

// The same loop in double. Results of integer and boolean type must come out as whole numbers.
ReferenceRule pointwise_reference(std::function<double(double)> f);
ReferenceRule pointwise_reference(std::function<double(double, double)> f);
ReferenceRule pointwise_reference(std::function<double(double, double, double)> f);

// The value as an element of `dtype` holds it: cast as kernel_ir::ExprOp::cast does, except that
// floats are not rounded.
double to_dtype(double value, DType dtype);

// --- Gradients --------------------------------------------------------------------------------

// A value of the shape and dtype of `like` with all elements `number`.
Value filled_like(const Value& like, double number);

// Appends an op without operands to the insertion point of `program`.
std::vector<Value> emit_in(ir::Program& program, std::string_view op, Attributes attributes,
                           const SourceLocation& where);

// --- Samples ----------------------------------------------------------------------------------

Type type_of(std::vector<std::int64_t> shape, DType dtype = DType::f32);

// The shapes every elementwise op is tried with: odd sizes, more elements than a vector, one
// element, a scalar and none at all. `operands` operands of one type, uniform in [low, high].
std::vector<Sample> elementwise_samples(int operands, double low = -2, double high = 2,
                                        DType dtype = DType::f32);
// Samples of several lists in one.
std::vector<Sample> joined(std::initializer_list<std::vector<Sample>> lists);

}  // namespace trireme::ops
