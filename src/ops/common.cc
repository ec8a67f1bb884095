#include "ops/common.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/half.h"
#include "ir/builder.h"
#include "ops/philox.h"

namespace trireme::ops {

std::optional<DType> product_dtype(DType x, DType weight) {
  if (is_arithmetic_float(x)) return x == weight ? std::optional(x) : std::nullopt;
  const bool bytes = (x == DType::u8 || x == DType::i8) && weight == DType::i8;
  return bytes ? std::optional(DType::i32) : std::nullopt;
}

// --- Type rules -------------------------------------------------------------------------------

bool is(DType dtype, Numbers numbers) {
  switch (numbers) {
    case Numbers::any: return true;
    case Numbers::ordered: return !is_half(dtype);
    case Numbers::numeric: return dtype != DType::boolean && !is_half(dtype);
    case Numbers::common: return is_arithmetic_float(dtype) || is_index(dtype);
    case Numbers::floats: return is_arithmetic_float(dtype);
    case Numbers::integers: return is_integer(dtype);
    case Numbers::booleans: return dtype == DType::boolean;
  }
  return false;
}

namespace {

std::string describe(Numbers numbers) {
  switch (numbers) {
    case Numbers::any: return "of any dtype";
    case Numbers::ordered: return "of any dtype but bf16 and f16";
    case Numbers::numeric: return "numeric (integers, f32 or f64)";
    case Numbers::common: return "u8, i32, i64, f32 or f64";
    case Numbers::floats: return "floating-point numbers (f32 or f64)";
    case Numbers::integers: return "integers";
    case Numbers::booleans: return "booleans";
  }
  return "";
}

// Texts are made for errors only: most of the time, recording an op would be making them.
void require_equal_types(const TypeContext& context, Numbers numbers) {
  const Type& first = context.operands.front();
  if (!is(first.dtype, numbers)) {
    require(false,
            "the elements must be " + describe(numbers) + ", but the operand is " + first.str(),
            is_half(first.dtype)
                ? "bf16 and f16 are for storage only; cast it to f32 first: cast(x, f32)"
                : "convert it with cast()");
  }
  for (std::size_t i = 1; i < context.operands.size(); ++i) {
    const Type& other = context.operands[i];
    if (other.dtype == first.dtype && other.shape == first.shape) continue;
    const std::string pair = first.str() + " and " + other.str();
    require(other.dtype == first.dtype, "the dtypes differ: " + pair, "convert one with cast()");
    require(false, "the shapes differ: " + pair,
            "shapes must agree, or one must have size 1 where they differ");
  }
}

}  // namespace

void require(bool holds, std::string_view message, std::string_view hint) {
  if (!holds) throw TypeError{std::string(message), std::string(hint)};
}

TypeRule same_type(Numbers numbers) {
  return [numbers](const TypeContext& context) -> std::vector<Type> {
    require_equal_types(context, numbers);
    return {context.operands.front()};
  };
}

TypeRule same_shape_to(DType dtype, Numbers numbers) {
  return [dtype, numbers](const TypeContext& context) -> std::vector<Type> {
    require_equal_types(context, numbers);
    Type type = context.operands.front();
    type.dtype = dtype;
    return {type};
  };
}

TypeRule type_of_attributes(Numbers numbers) {
  return [numbers](const TypeContext& context) -> std::vector<Type> {
    const DType dtype = get_attribute<DType>(context.attributes, "dtype");
    const Shape& shape = get_attribute<Shape>(context.attributes, "shape");
    require(is(dtype, numbers), [&] {
      return "the elements must be " + describe(numbers) + ", but dtype is " +
             std::string(name_of(dtype));
    });
    for (const Dim& dim : shape) {
      require(!dim.is_constant() || dim.constant() >= 0,
              [&] { return "a size is negative: " + str(shape); });
    }
    return {Type{dtype, shape, ""}};
  };
}

int checked_axis(std::int64_t axis, int rank) {
  require(
      axis >= -rank && axis < rank,
      [&] {
        return "axis " + std::to_string(axis) + " is out of range for " + std::to_string(rank) +
               " dimensions";
      },
      "axes count from 0; negative axes count from the end");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::size_t axis_of(const Attributes& attributes, int rank) {
  return static_cast<std::size_t>(
      checked_axis(get_attribute<std::int64_t>(attributes, "axis"), rank));
}

std::vector<int> checked_axes(const std::vector<std::int64_t>& axes, int rank) {
  std::vector<int> result;
  for (std::int64_t axis : axes) result.push_back(checked_axis(axis, rank));
  if (axes.empty()) {
    for (int axis = 0; axis < rank; ++axis) result.push_back(axis);
  }
  std::sort(result.begin(), result.end());
  const auto duplicate = std::adjacent_find(result.begin(), result.end());
  if (duplicate != result.end()) {
    throw TypeError{"axis " + std::to_string(*duplicate) + " is given twice", ""};
  }
  return result;
}

bool along_other_axes(const ir::Op& op, const std::vector<bool>& rows) {
  if (std::find(rows.begin(), rows.end(), false) != rows.end()) return false;
  const int rank = op.operands[0]->type.rank();
  if (has_attribute(op.attributes, "axis")) return axis_of(op.attributes, rank) != 0;
  const auto axes =
      checked_axes(get_attribute<std::vector<std::int64_t>>(op.attributes, "axes"), rank);
  return axes.empty() || axes.front() != 0;
}

std::vector<int> axes_of_attributes(const ir::Op& op) {
  const int rank = op.operands[0]->type.rank();
  if (has_attribute(op.attributes, "axis")) {
    return {static_cast<int>(axis_of(op.attributes, rank))};
  }
  return checked_axes(get_attribute<std::vector<std::int64_t>>(op.attributes, "axes"), rank);
}

// --- Lowering ---------------------------------------------------------------------------------

Lower pointwise(std::function<ExprId(Builder&, Args)> f) {
  return [f = std::move(f)](Lowering& l) {
    std::vector<ExprId> args;
    for (std::size_t i = 0; i < l.op().operands.size(); ++i) {
      args.push_back(l.load(static_cast<int>(i), l.index()));
    }
    return f(l.k(), args);
  };
}

Lower pointwise(ExprOp op) {
  return pointwise([op](Builder& k, Args x) {
    return x.size() == 1 ? k.unary(op, x[0]) : k.binary(op, x[0], x[1]);
  });
}

ExprId number(Builder& k, ExprId like, double value) {
  const DType type = k.type(like);
  return is_arithmetic_float(type) ? k.constant(type, value)
                                   : k.integer(static_cast<std::int64_t>(value), type);
}

// --- Reference --------------------------------------------------------------------------------

ReferenceRule pointwise_reference(std::function<double(double)> f) {
  return [f = std::move(f)](const Reference& r) {
    for (std::size_t i = 0; i < r.results[0]->data.size(); ++i) {
      r.results[0]->data[i] = f(r.operands[0]->data[i]);
    }
  };
}

ReferenceRule pointwise_reference(std::function<double(double, double)> f) {
  return [f = std::move(f)](const Reference& r) {
    for (std::size_t i = 0; i < r.results[0]->data.size(); ++i) {
      r.results[0]->data[i] = f(r.operands[0]->data[i], r.operands[1]->data[i]);
    }
  };
}

ReferenceRule pointwise_reference(std::function<double(double, double, double)> f) {
  return [f = std::move(f)](const Reference& r) {
    for (std::size_t i = 0; i < r.results[0]->data.size(); ++i) {
      r.results[0]->data[i] =
          f(r.operands[0]->data[i], r.operands[1]->data[i], r.operands[2]->data[i]);
    }
  };
}

namespace {

template <class T>
double saturated(double value) {
  constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<T>::max());
  if (std::isnan(value)) return 0;
  return std::trunc(std::clamp(value, low, high));
}

}  // namespace

double to_dtype(double value, DType dtype) {
  switch (dtype) {
    case DType::boolean: return value != 0 ? 1 : 0;
    case DType::u8: return saturated<std::uint8_t>(value);
    case DType::i32: return saturated<std::int32_t>(value);
    case DType::i64: return saturated<std::int64_t>(value);
    case DType::i8: return saturated<std::int8_t>(value);
    case DType::i16: return saturated<std::int16_t>(value);
    case DType::u16: return saturated<std::uint16_t>(value);
    case DType::u32: return saturated<std::uint32_t>(value);
    case DType::u64: return saturated<std::uint64_t>(value);
    case DType::f32:
    case DType::f64: return value;
    case DType::bf16: return to_float(to_bf16(static_cast<float>(value)));
    case DType::f16: return to_float(to_f16(static_cast<float>(value)));
  }
  return value;
}

// --- Gradients --------------------------------------------------------------------------------

std::vector<Value> emit_in(ir::Program& program, std::string_view op, Attributes attributes,
                           const SourceLocation& where) {
  ir::Builder& builder = program.builder();
  const ir::Location location = builder.locate(where);
  const ir::Builder::LocationGuard guard(builder, location);
  const ir::OpDef* def = program.op_set().find(op);
  if (def != nullptr && def->has(Trait::random)) choose_stream(builder, op, attributes);
  const ir::Op* new_op = builder.append(op, {}, std::move(attributes));
  std::vector<Value> results;
  for (const auto& result : new_op->results) results.emplace_back(result.get());
  return results;
}

Value filled_like(const Value& like, double number) {
  Attributes attributes;
  attributes.push_back({"dtype", like.dtype()});
  attributes.push_back({"shape", like.shape()});
  attributes.push_back({"value", number});
  return emit_in(*like.get()->program, "constant", std::move(attributes), SourceLocation::current())
      .front();
}

// --- Samples ----------------------------------------------------------------------------------

Type type_of(std::vector<std::int64_t> shape, DType dtype) {
  return Type{dtype, Shape(shape.begin(), shape.end()), ""};
}

std::vector<Sample> elementwise_samples(int operands, double low, double high, DType dtype) {
  const std::vector<std::vector<std::int64_t>> shapes = {{3, 5}, {2, 3, 17}, {1}, {}, {0, 3}};
  std::vector<Sample> samples;
  for (const auto& shape : shapes) {
    Sample sample;
    sample.operands.assign(static_cast<std::size_t>(operands), type_of(shape, dtype));
    sample.low = low;
    sample.high = high;
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::vector<Sample> joined(std::initializer_list<std::vector<Sample>> lists) {
  std::vector<Sample> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Sample of_bytes(Sample sample, DType dtype) {
  sample.operands[0].dtype = dtype;
  sample.operands[1].dtype = DType::i8;
  sample.ranges = {dtype == DType::u8 ? std::pair{0.0, 256.0} : std::pair{-128.0, 128.0},
                   {-128.0, 128.0}};
  sample.check_gradient = false;
  return sample;
}

}  // namespace trireme::ops
