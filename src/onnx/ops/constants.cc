// Operators that make tensors: of a number, a range, or at random.

#include <cmath>

#include "onnx/importer.h"
#include "onnx/ops/operators.h"
#include "onnx/tensor.h"
#include "trireme/indexing.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

void import_constant(NodeContext& n) {
  Item item;
  if (const AttributeProto* a = n.attribute("value"); a != nullptr && a->t) {
    item.type = a->t->type;
    item.known = n.importer().tensor(*a->t);
  } else if (const AttributeProto* s = n.attribute("sparse_value"); s != nullptr && s->sparse) {
    item.type = s->sparse->values.type;
    item.known = n.importer().tensor(*s->sparse);
  } else if (const AttributeProto* f = n.attribute("value_float")) {
    item.known = Tensor::scalar(f->f);
  } else if (const AttributeProto* i = n.attribute("value_int")) {
    item.known = Tensor::scalar(i->i);
  } else if (const AttributeProto* fs = n.attribute("value_floats")) {
    item.known = Tensor::from({static_cast<std::int64_t>(fs->floats_.size())}, fs->floats_);
  } else if (const AttributeProto* is = n.attribute("value_ints")) {
    item.known = Tensor::from({static_cast<std::int64_t>(is->ints_.size())}, is->ints_);
  } else {
    n.fail("its value is a text or missing");
  }
  if (item.type == ElementType::undefined) item.type = element_type_of(item.known->dtype());
  if (n.wants(0)) item.name = n.node().outputs[0];
  n.set(0, std::move(item));
}

void import_constant_of_shape(NodeContext& n) {
  Tensor value = Tensor::scalar(0.0F);
  ElementType type = ElementType::f32;
  if (const AttributeProto* a = n.attribute("value"); a != nullptr && a->t) {
    value = n.importer().tensor(*a->t);
    type = a->t->type;
  }
  n.require(value.elements() == 1,
            "its value has " + std::to_string(value.elements()) + " elements");
  const double number = *value.cast(f64).data<double>();
  n.set(0,
        constant(n.program(),
                 {.value = number, .dtype = value.dtype(), .shape = n.sizes(0, "a shape")}),
        type);
}

// Known, or of as many elements as a symbol says.
void import_range(NodeContext& n) {
  const bool known = n.item(0).known && n.item(1).known && n.item(2).known;
  if (known) {
    const double start = n.known_number(0, ""), limit = n.known_number(1, ""),
                 step = n.known_number(2, "");
    n.require(step != 0, "its step is 0");
    const double count = std::max(std::ceil((limit - start) / step), 0.0);
    n.require(count < 1e9, "its range has " + std::to_string(count) + " elements");
    const DType dtype = n.item(0).known->dtype();
    const DType wide = is_float(dtype) ? f64 : i64;
    const Value at =
        iota(n.program(), {.shape = {static_cast<std::int64_t>(count)}, .dtype = wide});
    return n.set(0, cast(at * step + start, {.dtype = dtype}), n.type(0));
  }
  const Shape start = n.sizes(0, "the start of a range"), limit = n.sizes(1, "the end of a range");
  n.require(n.known_number(2, "the step of a range") == 1,
            "its range has an end that depends on symbols and a step other than 1");
  const Value at = arange(n.program(), limit.at(0) - start.at(0));
  const Value first = start[0] == Dim(0) ? at : at + n.value(0);
  n.set(0, first.dtype() == n.value(0).dtype() ? first : cast(first, {.dtype = n.value(0).dtype()}),
        n.type(0));
}

ElementType dtype_attribute(const NodeContext& n, ElementType otherwise) {
  return static_cast<ElementType>(n.integer("dtype", static_cast<int>(otherwise)));
}

DType carrier(const NodeContext& n, ElementType type) {
  const std::optional<DType> dtype = carrier_of(type);
  n.require(dtype.has_value(), "its result is of " + name_of(type));
  return *dtype;
}

void import_eye_like(NodeContext& n) {
  const Shape shape = n.shape(0);
  n.require(shape.size() == 2, "it takes a matrix");
  const ElementType type = dtype_attribute(n, n.type(0));
  const auto at = [&](int axis) { return iota(n.program(), {.shape = shape, .axis = axis}); };
  const Value on = equal(at(1), at(0) + static_cast<double>(n.integer("k", 0)));
  n.set(0, cast(on, {.dtype = carrier(n, type)}), type);
}

// --- Random numbers ----------------------------------------------------------------------------

Shape given_shape(const NodeContext& n) {
  const auto numbers = n.integers("shape");
  return {numbers.begin(), numbers.end()};
}

Value uniform(const NodeContext& n, const Shape& shape) {
  return random_uniform(n.program(),
                        {.shape = shape, .low = n.number("low", 0), .high = n.number("high", 1)});
}

Value normal(const NodeContext& n, const Shape& shape) {
  return random_normal(
      n.program(), {.shape = shape, .mean = n.number("mean", 0), .stddev = n.number("scale", 1)});
}

template <Value (*make)(const NodeContext&, const Shape&)>
void import_random(NodeContext& n) {
  const ElementType type = dtype_attribute(n, ElementType::f32);
  n.set(0, cast(make(n, given_shape(n)), {.dtype = carrier(n, type)}), type);
}

template <Value (*make)(const NodeContext&, const Shape&)>
void import_random_like(NodeContext& n) {
  const ElementType type = dtype_attribute(n, n.type(0));
  n.set(0, cast(make(n, n.shape(0)), {.dtype = carrier(n, type)}), type);
}

void import_bernoulli(NodeContext& n) {
  const ElementType type = dtype_attribute(n, n.type(0));
  const Value x = n.value(0);
  const Value draw = random_uniform(n.program(), {.shape = x.shape(), .dtype = x.dtype()});
  n.set(0, cast(less(draw, x), {.dtype = carrier(n, type)}), type);
}

constexpr Operator kConstantsOperators[] = {
    {"", "Bernoulli", import_bernoulli, {.is_random = true}},
    {"", "Constant", import_constant, {.widens = false, .takes_items = true}},
    {"", "ConstantOfShape", import_constant_of_shape, {.widens = false}},
    {"", "EyeLike", import_eye_like, {.widens = false}},
    {"", "RandomNormal", import_random<normal>, {.is_random = true}},
    {"", "RandomNormalLike", import_random_like<normal>, {.is_random = true}},
    {"", "RandomUniform", import_random<uniform>, {.is_random = true}},
    {"", "RandomUniformLike", import_random_like<uniform>, {.is_random = true}},
    {"", "Range", import_range, {.widens = false}},
};

}  // namespace

Operators constant_operators() { return kConstantsOperators; }

}  // namespace trireme::onnx
