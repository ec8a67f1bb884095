#pragma once

// What the importers of operators see: a node with its inputs, and where its outputs go.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/item.h"
#include "onnx/proto.h"
#include "trireme/program.h"

namespace trireme::onnx {

class Importer;
struct Operator;

// Why a node cannot be imported, without its name and place.
struct Unsupported {
  std::string reason;
};

class NodeContext {
 public:
  NodeContext(Importer& importer, const Node& node, const Operator& op, std::int64_t version,
              std::vector<Item> inputs);

  const Node& node() const { return node_; }
  std::int64_t version() const { return version_; }  // of the operator set
  Importer& importer() { return importer_; }
  const Program& program() const;

  // --- Inputs ---
  std::size_t inputs() const { return inputs_.size(); }
  bool has(std::size_t i) const;  // given, and not left out
  const Item& item(std::size_t i) const;
  ElementType type(std::size_t i) const { return item(i).type; }
  // Its shape, of which sizes may be symbols.
  Shape shape(std::size_t i) const;
  int rank(std::size_t i) const { return static_cast<int>(shape(i).size()); }
  // As a value of the Program. f16 and bf16 are cast to f32 if the operator computes
  // (OperatorTraits::widens).
  Value value(std::size_t i);
  // The elements, if they are known now; else Unsupported, which says `why` they are needed.
  const Tensor& known(std::size_t i, std::string_view why) const;
  std::vector<std::int64_t> known_integers(std::size_t i, std::string_view why) const;
  double known_number(std::size_t i, std::string_view why) const;
  // Integers that may depend on symbols; else Unsupported. Ends of slices are often the largest
  // integer, which no Dim can be, so all are limited to 2^61.
  Shape sizes(std::size_t i, std::string_view why) const;
  static Shape limited_dims(const std::vector<std::int64_t>& numbers);
  bool has_sizes(std::size_t i) const;  // sizes() would return some

  // --- Attributes ---
  const AttributeProto* attribute(std::string_view name) const;  // null: not given
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  std::int64_t integer(std::string_view name) const;  // required
  double number(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::vector<std::int64_t> integers(std::string_view name,
                                     const std::vector<std::int64_t>& otherwise = {}) const;
  std::vector<double> numbers(std::string_view name) const;
  // An axis of a tensor of this rank, from 0. Unsupported if there is none.
  int axis(std::int64_t axis, int rank) const;
  std::vector<std::int64_t> axes(const std::vector<std::int64_t>& axes, int rank) const;

  // --- Outputs ---
  std::size_t outputs() const { return node_.outputs.size(); }
  bool wants(std::size_t j) const;  // the node gives it a name
  void set(std::size_t j, Item item);
  // The type is that of the value; after widening, a f32 becomes f16 or bf16 again.
  void set(std::size_t j, const Value& value);
  void set(std::size_t j, const Value& value, ElementType type);
  void set_known(std::size_t j, Tensor tensor);
  // Integers, which may depend on symbols.
  void set_sizes(std::size_t j, Shape dims, bool is_scalar, ElementType type = ElementType::i64);
  std::vector<Item> take_outputs() { return std::move(outputs_); }

  [[noreturn]] void fail(const std::string& reason) const;
  void require(bool holds, const std::string& reason) const {
    if (!holds) fail(reason);
  }

 private:
  Importer& importer_;
  const Node& node_;
  const Operator& operator_;
  std::int64_t version_;
  std::vector<Item> inputs_, outputs_;
  ElementType half_ = ElementType::undefined;  // that of outputs after widening
};

struct OperatorTraits {
  // Halves are computed as f32. False for operators that only move elements.
  bool widens = true;
  // The same inputs may give other outputs, so it is never computed now.
  bool is_random = false;
  // It makes its own use of what is known of inputs, or has graphs, so it is never computed now.
  bool takes_items = false;
  // Computes integers that depend on symbols; false if it cannot. Asked first, where all inputs
  // have sizes and at least one is not known.
  bool (*on_sizes)(NodeContext&) = nullptr;
};

// How nodes of one type are imported.
struct Operator {
  const char* domain;  // "" is that of ONNX
  const char* type;
  void (*import)(NodeContext&);
  OperatorTraits traits = {};
};

}  // namespace trireme::onnx
