#pragma once

// Walks the ops of a Program and writes nodes for them.

#include <map>
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
  // Initializers.
  std::string constant(const Tensor& tensor);
  std::string integers(const std::vector<std::int64_t>& numbers);
  std::string scalar(double number, DType dtype);
  // A shape as i64[rank]. Sizes of symbols are computed from the inputs that have them.
  std::string shape(const Shape& shape);
  std::string size(const Dim& dim);  // i64[1]
  std::string cast(const std::string& x, DType dtype);

 private:
  void add(const ir::Op& op);
  std::string size_of_symbol(const std::string& symbol);

  trireme::Model& model_;
  ExportOptions options_;
  ModelWriter writer_;
  std::map<const ir::Value*, std::string> names_;
  std::map<std::string, std::string> symbols_;  // i64[1] by symbol
  const ir::Op* current_ = nullptr;
  std::vector<std::string> failures_;
  int next_ = 0;
};

struct ExportedOp {
  const char* name;
  void (*write)(Exporter&, const ir::Op&);
};

// Null if no op of this name can be exported.
const ExportedOp* find_exported(std::string_view name);

}  // namespace trireme::onnx
