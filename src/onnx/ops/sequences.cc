// Sequences and optionals. Their lengths are known when a model is imported.

#include <numeric>
#include <utility>

#include "onnx/importer.h"
#include "onnx/ops/operators.h"
#include "onnx/ops/slices.h"
#include "onnx/tensor.h"
#include "trireme/functions.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

Item sequence_of(std::vector<Item> elements, ElementType type) {
  Item item;
  item.kind = Item::Kind::sequence;
  item.type = type;
  item.elements = std::move(elements);
  return item;
}

const std::vector<Item>& elements(const NodeContext& n, std::size_t i) {
  n.require(n.item(i).kind == Item::Kind::sequence,
            "its input " + std::to_string(i) + " is no sequence");
  return n.item(i).elements;
}

std::size_t place(const NodeContext& n, std::size_t input, std::size_t count,
                  std::size_t otherwise) {
  if (!n.has(input)) return otherwise;
  auto at = static_cast<std::int64_t>(n.known_number(input, "a place in a sequence"));
  if (at < 0) at += static_cast<std::int64_t>(count);
  n.require(at >= 0 && at <= static_cast<std::int64_t>(count),
            "its place " + std::to_string(at) + " is outside of the sequence");
  return static_cast<std::size_t>(at);
}

void import_construct(NodeContext& n) {
  std::vector<Item> items;
  for (std::size_t i = 0; i < n.inputs(); ++i) items.push_back(n.item(i));
  n.set(0, sequence_of(std::move(items), n.type(0)));
}

void import_empty(NodeContext& n) {
  n.set(0, sequence_of({}, static_cast<ElementType>(
                               n.integer("dtype", static_cast<int>(ElementType::f32)))));
}

void import_insert(NodeContext& n) {
  std::vector<Item> items = elements(n, 0);
  const std::size_t at = place(n, 2, items.size(), items.size());
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), n.item(1));
  n.set(0, sequence_of(std::move(items), n.type(1)));
}

void import_erase(NodeContext& n) {
  std::vector<Item> items = elements(n, 0);
  n.require(!items.empty(), "its sequence is empty");
  const std::size_t at = place(n, 1, items.size(), items.size() - 1);
  n.require(at < items.size(), "its place is outside of the sequence");
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  n.set(0, sequence_of(std::move(items), n.type(0)));
}

void import_at(NodeContext& n) {
  const std::vector<Item>& items = elements(n, 0);
  const std::size_t at = place(n, 1, items.size(), 0);
  n.require(at < items.size(), "its place is outside of the sequence");
  n.set(0, items[at]);
}

void import_length(NodeContext& n) {
  n.set_known(0, Tensor::scalar(static_cast<std::int64_t>(elements(n, 0).size())));
}

Item computed(const Value& value, ElementType type) {
  Item item;
  item.type = type;
  item.value = value;
  return item;
}

// Parts of given sizes, or of one size each, or of size 1, whose axis may be removed.
void import_split_to(NodeContext& n) {
  const Value x = n.value(0);
  const int axis = n.axis(n.integer("axis", 0), x.rank());
  const Dim& size = x.dim(axis);
  std::vector<std::int64_t> parts;
  if (n.has(1) && n.rank(1) == 1) {
    parts = n.known_integers(1, "the sizes of the parts");
  } else {
    n.require(size.is_constant(), "it splits an axis of the size " + size.str());
    const auto part =
        n.has(1) ? static_cast<std::int64_t>(n.known_number(1, "the size of the parts")) : 1;
    n.require(part > 0, "its parts have the size " + std::to_string(part));
    for (std::int64_t left = size.constant(); left > 0; left -= part)
      parts.push_back(std::min(left, part));
  }
  const bool keep = n.has(1) || n.integer("keepdims", 1) != 0;
  std::vector<Item> items;
  std::int64_t at = 0;
  for (const std::int64_t part : parts) {
    const Value value = part_of(x, axis, at, at + part);
    items.push_back(computed(keep ? value : squeeze(value, {axis}), n.type(0)));
    at += part;
  }
  n.set(0, sequence_of(std::move(items), n.type(0)));
}

void import_concat_from(NodeContext& n) {
  std::vector<Value> values;
  for (const Item& item : elements(n, 0)) values.push_back(n.importer().value_of(item));
  n.require(!values.empty(), "its sequence is empty");
  const bool stacks = n.integer("new_axis", 0) != 0;
  const int axis = n.axis(n.integer("axis"), values[0].rank() + (stacks ? 1 : 0));
  n.set(0, stacks ? stack(values, axis) : concat(values, {.axis = axis}), elements(n, 0)[0].type);
}

// Runs its graph for each element.
void import_map(NodeContext& n) {
  const AttributeProto* body = n.attribute("body");
  n.require(body != nullptr && body->g, "its graph body is missing");
  const std::size_t count = elements(n, 0).size();
  std::vector<std::vector<Item>> results(n.outputs());
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Item> inputs;
    for (std::size_t k = 0; k < n.inputs(); ++k) {
      const bool is_sequence = n.item(k).kind == Item::Kind::sequence;
      n.require(!is_sequence || elements(n, k).size() == count,
                "its sequences have different lengths");
      inputs.push_back(is_sequence ? elements(n, k)[i] : n.item(k));
    }
    std::vector<Item> outputs = n.importer().graph(*body->g, inputs);
    for (std::size_t j = 0; j < results.size() && j < outputs.size(); ++j)
      results[j].push_back(outputs[j]);
  }
  for (std::size_t j = 0; j < results.size(); ++j) {
    const ElementType type = results[j].empty() ? ElementType::f32 : results[j][0].type;
    n.set(j, sequence_of(std::move(results[j]), type));
  }
}

void import_optional(NodeContext& n) { n.set(0, n.has(0) ? n.item(0) : Item{.is_nothing = true}); }

void import_has_element(NodeContext& n) { n.set_known(0, Tensor::scalar(n.has(0))); }

void import_get_element(NodeContext& n) {
  n.require(n.has(0), "its optional holds nothing");
  n.set(0, n.item(0));
}

constexpr Operator kSequencesOperators[] = {
    {"", "ConcatFromSequence", import_concat_from, {.widens = false, .takes_items = true}},
    {"", "Optional", import_optional, {.widens = false, .takes_items = true}},
    {"", "OptionalGetElement", import_get_element, {.widens = false, .takes_items = true}},
    {"", "OptionalHasElement", import_has_element, {.widens = false, .takes_items = true}},
    {"", "SequenceAt", import_at, {.widens = false, .takes_items = true}},
    {"", "SequenceConstruct", import_construct, {.widens = false, .takes_items = true}},
    {"", "SequenceEmpty", import_empty, {.widens = false, .takes_items = true}},
    {"", "SequenceErase", import_erase, {.widens = false, .takes_items = true}},
    {"", "SequenceInsert", import_insert, {.widens = false, .takes_items = true}},
    {"", "SequenceLength", import_length, {.widens = false, .takes_items = true}},
    {"", "SequenceMap", import_map, {.widens = false, .takes_items = true}},
    {"", "SplitToSequence", import_split_to, {.widens = false}},
};

}  // namespace

Operators sequence_operators() { return kSequencesOperators; }

}  // namespace trireme::onnx
