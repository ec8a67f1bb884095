#pragma once

// Walks the graphs of a model and builds the Program.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "onnx/item.h"
#include "onnx/node.h"
#include "onnx/proto.h"
#include "onnx/tensor.h"
#include "trireme/onnx.h"
#include "trireme/session.h"

namespace trireme::onnx {

class Importer {
 public:
  Importer(const Model& model, ExternalFiles& files, const ImportOptions& options);
  ImportedModel run();

  // --- For NodeContext and operators with graphs ---

  // Where values are computed now: the Program of the model, or one for numbers that are computed
  // now.
  const Program& program() const { return targets_.back()->program; }
  bool is_computing_now() const { return targets_.size() > 1; }
  // The item as a value of program(). Errors: Unsupported, for sequences and missing optionals.
  Value value_of(const Item& item);
  // Imports a graph of a node, whose nodes also see the names around it, and returns its outputs.
  std::vector<Item> graph(const Graph& graph, const std::vector<Item>& inputs);
  Tensor tensor(const TensorProto& proto) { return tensor_of(proto, files_); }
  Tensor tensor(const SparseTensorProto& proto) { return tensor_of(proto, files_); }
  // An item of the names that are visible now; null if there is none.
  const Item* find(const std::string& name) const;
  void warn(const std::string& text);

 private:
  struct Scope {
    std::map<std::string, Item> items;
    const Scope* around = nullptr;
    std::string path;  // of nodes in it, for messages: "decoder/"
    Opsets opsets;
    const std::vector<AttributeProto>* arguments = nullptr;  // of the function that is called
    const Function* function = nullptr;
  };
  struct Target {
    Program program{"onnx"};
    Feeds feeds;  // of inputs of a Program that computes now
    std::map<const void*, std::pair<Tensor, Value>> parameters;  // by the memory of their numbers
  };

  void nodes(const std::vector<Node>& nodes, const std::vector<std::string>& results);
  void node(const Node& node);
  void call(const Node& node, const Function& function, const std::vector<Item>& inputs);
  std::vector<Item> imported(const Node& node, const Operator& op, const std::vector<Item>& inputs);
  // Empty if the results are too large to be kept.
  std::optional<std::vector<Item>> computed_now(const Node& node, const Operator& op,
                                                const std::vector<Item>& inputs);
  void add_results(const Node& node, std::vector<Item> results);
  void add_failed(const Node& node, const std::string& reason);
  const Function* function_of(const Node& node) const;
  std::int64_t version_of(const std::string& domain) const;
  Node with_arguments(const Node& node) const;
  std::string path_of(const Node& node) const;

  void add_initializers(const Graph& graph);
  void add_input(const ValueInfo& info);
  static Tensor constant_input(const std::string& input, ElementType type, const Tensor& given);
  Shape shape_of(const ValueInfo& info);
  Dim dim_of(const std::string& input, std::size_t axis, const DimProto& dim);
  Value parameter_of(const Item& item);
  Value constant_of(const Tensor& tensor);
  Value value_of_sizes(const Sizes& sizes);
  [[noreturn]] void fail_all() const;

  const Model& model_;
  ExternalFiles& files_;
  const ImportOptions& options_;
  std::map<std::string, const Function*> functions_;
  std::deque<std::unique_ptr<Target>> targets_;
  Scope* scope_ = nullptr;
  ImportedModel result_;
  std::map<std::string, std::string> failures_;  // reason by path, in no order of their own
  std::vector<std::string> failed_paths_;        // in the order of the nodes
  int depth_ = 0;
  std::int64_t nodes_ = 0;  // imported so far
};

// The operator of this name, or null.
const Operator* find_operator(std::string_view domain, std::string_view type);

// A name that Programs accept: other characters become '_'.
std::string program_name(std::string_view name);

}  // namespace trireme::onnx
