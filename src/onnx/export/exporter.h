#pragma once

// Walks the ops of a Program and writes nodes for them.

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "onnx/export/writer.h"
#include "trireme/onnx.h"

namespace trireme::onnx {

// Why an op cannot be exported.
struct NotExported {
  std::string reason;
};

class Exporter {
 public:
  Exporter(trireme::Model& model, const ExportOptions& options);
  std::string run();

  // --- For the functions of ops ---

  // The name of a value that is computed before.
  const std::string& name(const ir::Value* value) const;
  const std::string& operand(const ir::Op& op, std::size_t i) const { return name(op.operands[i]); }
  // Writes a node with one new result and returns its name.
  std::string node(const std::string& type, const std::vector<std::string>& inputs,
                   const NodeAttributes& attributes = {});
  std::vector<std::string> node_with(std::size_t results, const std::string& type,
                                     const std::vector<std::string>& inputs,
                                     const NodeAttributes& attributes = {});
  void set(const ir::Op& op, const std::string& name, std::size_t result = 0);
  // Whether a result of an op is needed.
  bool is_used(const ir::Op& op) const;
  bool is_used(const ir::Op& op, std::size_t result) const;
  std::int64_t opset() const { return options_.opset; }
  // Initializers.
  std::string constant(const Tensor& tensor);
  std::string integers(const std::vector<std::int64_t>& numbers);
  std::string scalar(double number, DType dtype);
  // A shape as i64[rank]. Sizes of symbols are computed from values that have them.
  std::string shape(const Shape& shape);
  std::string size(const Dim& dim);  // i64[1]
  void define_symbol(const std::string& symbol, const std::string& size);

  // Nodes that many ops need.
  std::string cast(const std::string& x, DType dtype);
  std::string reshape(const std::string& x, const Shape& shape);
  std::string reshape_to(const std::string& x, const std::string& shape);
  std::string expand(const std::string& x, const Shape& shape);
  std::string filled(double number, DType dtype, const Shape& shape);
  std::string scalar_of(const std::string& one);  // [1] as []
  // Elements begin to end along an axis; a negative end counts from the end of the axis.
  std::string slice(const std::string& x, std::int64_t axis, std::int64_t begin, std::int64_t end);
  std::string range(const std::string& count);  // 0 to count - 1, i64; `count` is i64[1]

  // --- Ops with blocks ---

  // Names an argument of a block.
  void bind(const ir::Value* value, const std::string& name);
  // Writes the ops of a block and returns the names of its results.
  std::vector<std::string> block(const ir::Block& block);
  // A graph for an attribute of a node. It sees all names around it; names that are made in it and
  // sizes that are computed in it end with it.
  void begin_graph();
  std::string graph_input(DType dtype, const Shape& shape);
  void graph_output(const std::string& value, DType dtype, const Shape& shape);
  GraphBytes end_graph();

 private:
  // What a graph in another one sees of values and sizes.
  struct Visible {
    std::map<std::string, std::string> symbols;  // i64[1] by symbol
    std::size_t values;                          // number of visible_
  };

  void add(const ir::Op& op);
  void write(const ir::Op& op);
  void add_used(const ir::Block& block);
  void take_names();
  std::string new_name(char stem);
  [[noreturn]] void fail_all() const;
  std::string size_of_symbol(const std::string& symbol);

  trireme::Model& model_;
  ExportOptions options_;
  ModelWriter writer_;
  std::map<const ir::Value*, std::string> names_;
  std::vector<const ir::Value*> visible_;  // values with names, in the order of the nodes
  std::map<std::string, std::string> symbols_;
  std::vector<Visible> around_;  // of the graphs around the present one
  std::set<const ir::Value*> used_, failed_;
  std::set<std::string> taken_;
  const ir::Op* current_ = nullptr;
  std::vector<std::string> failures_;
  int next_ = 0;
};

struct ExportedOp {
  const char* name;
  void (*write)(Exporter&, const ir::Op&);
};

// The ops of one kind each.
std::span<const ExportedOp> exported_elements();
std::span<const ExportedOp> exported_moves();
std::span<const ExportedOp> exported_products();
std::span<const ExportedOp> exported_orders();
std::span<const ExportedOp> exported_scatters();
std::span<const ExportedOp> exported_sequences();
std::span<const ExportedOp> exported_loops();
std::span<const ExportedOp> exported_random();

// Null if no op of this name can be exported.
const ExportedOp* find_exported(std::string_view name);

}  // namespace trireme::onnx
