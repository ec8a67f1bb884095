#include "session/job/field_reader.h"

#include <fmt/core.h>

#include <cmath>

#include "base/error.h"
#include "base/number_text.h"
#include "nn/catalog/initializers.h"
#include "session/job/model.h"

namespace trireme::job {
namespace {

std::string text_of(double limit) {
  return limit == std::floor(limit) ? fmt::format("{:.0f}", limit) : float_text(limit);
}

// "must be at least 1, but is 0"
[[noreturn]] void fail_limits(const Node& node, const nn::Limits& limits, double value,
                              bool integer) {
  std::string must;
  if (std::isfinite(limits.min) && limits.open_max) {
    must = fmt::format("be in {}{}, {})", limits.open_min ? '(' : '[', text_of(limits.min),
                       text_of(limits.max));
  } else if (value > limits.max) {
    must = "be at most " + text_of(limits.max);
  } else if (limits.min == 0 && !limits.open_min && !integer) {
    must = "not be negative";
  } else {
    must = (limits.open_min ? "be above " : "be at least ") + text_of(limits.min);
  }
  fail_at(node, fmt::format("must {}, but is {}", must, text_of(value)));
}

std::int64_t integer_of(const Node& node, const nn::Limits& limits) {
  if (node.kind != Node::Kind::integer) {
    fail_at(node, "must be an integer, but is " + kind_text(node));
  }
  if (!limits.contain(static_cast<double>(node.integer))) {
    fail_limits(node, limits, static_cast<double>(node.integer), true);
  }
  return node.integer;
}

}  // namespace

const Node* FieldReader::find(const nn::Field& field, bool given) {
  if (field.required && !given) return &table_.required(field.name);
  return table_.node(field.name);
}

void FieldReader::operator()(const nn::Field& field, bool& value) {
  value = table_.boolean(field.name, value);
}

void FieldReader::operator()(const nn::Field& field, std::int64_t& value) {
  if (const Node* node = find(field, value != 0)) value = integer_of(*node, field.limits);
}

void FieldReader::operator()(const nn::Field& field, int& value) {
  std::int64_t wide = value;
  nn::Field narrow = field;
  narrow.limits.max = std::min(narrow.limits.max, 2147483647.0);
  (*this)(narrow, wide);
  value = static_cast<int>(wide);
}

void FieldReader::operator()(const nn::Field& field, std::uint64_t& value) {
  if (const Node* node = find(field, value != 0)) {
    value = static_cast<std::uint64_t>(integer_of(*node, field.limits));
  }
}

void FieldReader::operator()(const nn::Field& field, const Node*& value) {
  value = find(field, false);
}

void FieldReader::operator()(const nn::Field& field, double& value) {
  const Node* node = find(field, value != 0);
  if (node == nullptr) return;
  value = table_.number(field.name, value);
  if (!field.limits.contain(value)) fail_limits(*node, field.limits, value, false);
}

void FieldReader::operator()(const nn::Field& field, std::string& value) {
  if (find(field, !value.empty()) != nullptr) value = table_.text(field.name, value);
}

void FieldReader::operator()(const nn::Field& field, std::vector<std::int64_t>& value) {
  const Node* node = find(field, !value.empty());
  if (node == nullptr) return;
  if (node->kind != Node::Kind::list) {
    fail_at(*node, "must be a list of integers, but is " + kind_text(*node));
  }
  value.clear();
  for (const Node& item : node->items) value.push_back(integer_of(item, field.limits));
}

void FieldReader::operator()(const nn::Field& field, std::vector<double>& value) {
  const Node* node = find(field, !value.empty());
  if (node == nullptr) return;
  value = table_.numbers(field.name, value);
  for (const double number : value) {
    if (!field.limits.contain(number)) fail_limits(*node, field.limits, number, false);
  }
}

void FieldReader::operator()(const nn::Field& field, std::vector<std::string>& value) {
  if (const Node* node = find(field, !value.empty())) value = texts(*node);
}

std::vector<std::int64_t> FieldReader::list(const nn::Field& field, const Node& node,
                                            std::size_t count) const {
  if (node.kind != Node::Kind::list) {
    return std::vector<std::int64_t>(count, integer_of(node, field.limits));
  }
  std::vector<std::int64_t> values;
  for (const Node& item : node.items) values.push_back(integer_of(item, field.limits));
  if (values.size() != count) {
    fail_at(node, fmt::format("must be an integer or a list of {}, but the list has {}", count,
                              values.size()));
  }
  return values;
}

void FieldReader::operator()(const nn::Field& field, nn::Pair& value) {
  if (const Node* node = table_.node(field.name)) {
    const std::vector<std::int64_t> sizes = list(field, *node, 2);
    value = {sizes[0], sizes[1]};
  }
}

void FieldReader::operator()(const nn::Field& field, nn::Triple& value) {
  if (const Node* node = table_.node(field.name)) {
    const std::vector<std::int64_t> sizes = list(field, *node, 3);
    value = {sizes[0], sizes[1], sizes[2]};
  }
}

namespace {

bool is_word(const Node& node) {
  if (node.kind != Node::Kind::text) return false;
  if (node.text == "same" || node.text == "valid") return true;
  fail_at(node, "must be \"same\", \"valid\" or integers, but is " + kind_text(node));
}

}  // namespace

void FieldReader::operator()(const nn::Field& field, nn::Padding& value) {
  const Node* node = table_.node(field.name);
  if (node == nullptr) return;
  if (is_word(*node)) {
    value = nn::Padding(node->text);
  } else if (node->kind == Node::Kind::list && node->items.size() == 4) {
    const std::vector<std::int64_t> sides = list(field, *node, 4);
    value = nn::Padding(sides[0], sides[1], sides[2], sides[3]);
  } else {
    const std::vector<std::int64_t> sides = list(field, *node, 2);
    value = nn::Padding(sides[0], sides[1]);
  }
}

void FieldReader::operator()(const nn::Field& field, nn::Padding1d& value) {
  const Node* node = table_.node(field.name);
  if (node == nullptr) return;
  if (is_word(*node)) {
    value = nn::Padding1d(node->text);
  } else {
    const std::vector<std::int64_t> sides = list(field, *node, 2);
    value = nn::Padding1d(sides[0], sides[1]);
  }
}

void FieldReader::operator()(const nn::Field& field, nn::Padding3d& value) {
  const Node* node = table_.node(field.name);
  if (node == nullptr) return;
  if (is_word(*node)) {
    value = nn::Padding3d(node->text);
  } else {
    const std::vector<std::int64_t> sides = list(field, *node, 3);
    value.sides = {sides[0], sides[1], sides[2]};
  }
}

void FieldReader::operator()(const nn::Field& field, std::optional<Initializer>& value) {
  const Node* node = table_.node(field.name);
  if (node == nullptr) return;
  const std::string word = table_.text(field.name, "");
  std::vector<std::string> known;
  for (const auto& [name, initializer] : nn::initializer_words()) {
    known.push_back(name);
    if (name != word) continue;
    value = initializer;
    return;
  }
  fail_unknown({word, node, node}, "initializer", known);
}

void FieldReader::operator()(const nn::Field& field, nn::Activation& value) {
  const Node* node = table_.node(field.name);
  if (node == nullptr) return;
  const std::string name = table_.text(field.name, "");
  value = nn::find_activation(name);
  if (!value) fail_unknown({name, node, node}, field.name, nn::activation_names());
}

}  // namespace trireme::job
