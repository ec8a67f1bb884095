#include "onnx/node.h"

#include <algorithm>
#include <utility>

#include "onnx/importer.h"
#include "onnx/tensor.h"
#include "trireme/ops.h"

namespace trireme::onnx {
namespace {

bool is_half_type(ElementType type) {
  return type == ElementType::f16 || type == ElementType::bf16;
}

Shape dims_of(const Tensor& tensor) { return {tensor.shape().begin(), tensor.shape().end()}; }

}  // namespace

NodeContext::NodeContext(Importer& importer, const Node& node, const Operator& op,
                         std::int64_t version, std::vector<Item> inputs)
    : importer_(importer),
      node_(node),
      operator_(op),
      version_(version),
      inputs_(std::move(inputs)),
      outputs_(node.outputs.size(), Item{.is_nothing = true}) {
  if (!op.traits.widens) return;
  for (const Item& input : inputs_) {
    if (input.is_tensor() && is_half_type(input.type)) {
      half_ = input.type;
      break;
    }
  }
}

const Program& NodeContext::program() const { return importer_.program(); }

void NodeContext::fail(const std::string& reason) const { throw Unsupported{reason}; }

bool NodeContext::has(std::size_t i) const { return i < inputs_.size() && !inputs_[i].is_nothing; }

const Item& NodeContext::item(std::size_t i) const {
  if (i >= inputs_.size()) fail("input " + std::to_string(i) + " is missing");
  return inputs_[i];
}

Shape NodeContext::shape(std::size_t i) const {
  const Item& item = this->item(i);
  if (item.value) return item.value.shape();
  if (item.known) return dims_of(*item.known);
  if (item.sizes) return item.sizes->is_scalar ? Shape{} : Shape{item.sizes->dims.size()};
  fail("input " + std::to_string(i) + " is no tensor");
}

Value NodeContext::value(std::size_t i) {
  const Value value = importer_.value_of(item(i));
  return operator_.traits.widens && is_half(value.dtype()) ? cast(value, {.dtype = f32}) : value;
}

const Tensor& NodeContext::known(std::size_t i, std::string_view why) const {
  const Item& item = this->item(i);
  if (!item.known) {
    fail("its input \"" + node_.inputs[i] +
         "\" must be known when the model is imported, because it is " + std::string(why) +
         "; if it is an input of the model, give its value as a constant");
  }
  return *item.known;
}

std::vector<std::int64_t> NodeContext::known_integers(std::size_t i, std::string_view why) const {
  return known(i, why).cast(i64).to_vector<std::int64_t>();
}

double NodeContext::known_number(std::size_t i, std::string_view why) const {
  const Tensor& tensor = known(i, why);
  require(tensor.elements() == 1, "its input \"" + node_.inputs[i] + "\" must have one element");
  return *tensor.cast(f64).data<double>();
}

bool NodeContext::has_sizes(std::size_t i) const {
  if (!has(i)) return false;
  const Item& item = this->item(i);
  return item.sizes || (item.known && item.known->rank() <= 1 && is_integer(item.known->dtype()));
}

Shape NodeContext::sizes(std::size_t i, std::string_view why) const {
  const Item& item = this->item(i);
  if (item.sizes) return item.sizes->dims;
  return limited_dims(known_integers(i, why));
}

Shape NodeContext::limited_dims(const std::vector<std::int64_t>& numbers) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 61;
  Shape dims;
  for (const std::int64_t number : numbers) dims.emplace_back(std::clamp(number, -kLimit, kLimit));
  return dims;
}

const AttributeProto* NodeContext::attribute(std::string_view name) const {
  const auto found = std::find_if(node_.attributes.begin(), node_.attributes.end(),
                                  [&](const AttributeProto& a) { return a.name == name; });
  return found == node_.attributes.end() ? nullptr : &*found;
}

std::int64_t NodeContext::integer(std::string_view name, std::int64_t otherwise) const {
  const AttributeProto* a = attribute(name);
  return a == nullptr ? otherwise : a->i;
}

std::int64_t NodeContext::integer(std::string_view name) const {
  const AttributeProto* a = attribute(name);
  require(a != nullptr, "its attribute " + std::string(name) + " is missing");
  return a->i;
}

double NodeContext::number(std::string_view name, double otherwise) const {
  const AttributeProto* a = attribute(name);
  return a == nullptr ? otherwise : static_cast<double>(a->f);
}

std::string NodeContext::text(std::string_view name, std::string_view otherwise) const {
  const AttributeProto* a = attribute(name);
  return a == nullptr ? std::string(otherwise) : a->s;
}

std::vector<std::int64_t> NodeContext::integers(std::string_view name,
                                                const std::vector<std::int64_t>& otherwise) const {
  const AttributeProto* a = attribute(name);
  return a == nullptr ? otherwise : a->ints_;
}

std::vector<double> NodeContext::numbers(std::string_view name) const {
  const AttributeProto* a = attribute(name);
  if (a == nullptr) return {};
  return {a->floats_.begin(), a->floats_.end()};
}

int NodeContext::axis(std::int64_t axis, int rank) const {
  require(axis >= -rank && axis < rank, "its axis " + std::to_string(axis) +
                                            " is none of a tensor of rank " + std::to_string(rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<std::int64_t> NodeContext::axes(const std::vector<std::int64_t>& axes, int rank) const {
  std::vector<std::int64_t> result;
  for (const std::int64_t a : axes) result.push_back(axis(a, rank));
  return result;
}

bool NodeContext::wants(std::size_t j) const {
  return j < node_.outputs.size() && !node_.outputs[j].empty();
}

void NodeContext::set(std::size_t j, Item item) {
  if (j < outputs_.size()) outputs_[j] = std::move(item);
}

void NodeContext::set(std::size_t j, const Value& value, ElementType type) {
  Item item;
  item.type = type;
  item.value = value;
  set(j, std::move(item));
}

void NodeContext::set(std::size_t j, const Value& value) {
  if (half_ != ElementType::undefined && value.dtype() == f32) {
    return set(j, cast(value, {.dtype = *carrier_of(half_)}), half_);
  }
  ElementType type = element_type_of(value.dtype());
  // Operators that move elements keep types that others carry.
  if (!operator_.traits.widens) {
    for (const Item& input : inputs_) {
      if (input.is_tensor() && carrier_of(input.type) == value.dtype()) {
        type = input.type;
        break;
      }
    }
  }
  set(j, value, type);
}

void NodeContext::set_known(std::size_t j, Tensor tensor) {
  Item item;
  item.type = element_type_of(tensor.dtype());
  item.known = std::move(tensor);
  set(j, std::move(item));
}

void NodeContext::set_sizes(std::size_t j, Shape dims, bool is_scalar, ElementType type) {
  Item item;
  item.type = type;
  if (is_constant(dims)) {
    std::vector<std::int64_t> numbers;
    for (const Dim& dim : dims) numbers.push_back(dim.constant());
    std::vector<std::int64_t> shape;
    if (!is_scalar) shape.push_back(static_cast<std::int64_t>(numbers.size()));
    item.known = Tensor::from(std::move(shape), numbers).cast(*carrier_of(type));
  } else {
    item.sizes = Sizes{is_scalar, std::move(dims)};
  }
  set(j, std::move(item));
}

}  // namespace trireme::onnx
