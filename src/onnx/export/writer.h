#pragma once

// Writes models of ONNX (onnx.proto).

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "trireme/dtype.h"
#include "trireme/shape.h"
#include "trireme/tensor.h"

namespace trireme::onnx {

// The bytes of a graph that a node has, such as the steps of a loop.
struct GraphBytes {
  std::string bytes;
};

// An attribute of a node.
using NodeAttribute =
    std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, GraphBytes>;
using NodeAttributes = std::vector<std::pair<std::string, NodeAttribute>>;

class ModelWriter {
 public:
  // Nodes, inputs and outputs that follow are those of a graph in the present one, until
  // end_graph(). Initializers are always those of the model, which graphs in it see, too.
  void begin_graph();
  GraphBytes end_graph();
  std::size_t depth() const { return graphs_.size(); }

  void add_node(const std::string& type, const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs, const NodeAttributes& attributes,
                const std::string& name);
  void add_initializer(const std::string& name, const Tensor& tensor);
  // A dimension that is no number is its text, as a symbol; in graphs of nodes it is unknown.
  void add_input(const std::string& name, DType dtype, const Shape& shape);
  void add_output(const std::string& name, DType dtype, const Shape& shape);
  // The bytes of the model.
  std::string finish(std::int64_t opset, const std::string& name);

 private:
  std::string& graph() { return graphs_.back(); }

  std::vector<std::string> graphs_ = {""};
};

}  // namespace trireme::onnx
