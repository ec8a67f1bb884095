#include "onnx/export/exporter.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "onnx/importer.h"
#include "onnx/tensor.h"
#include "trireme/saved_model.h"

namespace trireme::onnx {

Exporter::Exporter(trireme::Model& model, const ExportOptions& options)
    : model_(model), options_(options) {
  if (options.opset < 18 || options.opset > 21) {
    fail_usage("export_model: version " + std::to_string(options.opset) +
               " of ONNX's operators; 18 to 21 can be written");
  }
}

std::string Exporter::run() {
  const ir::Program& program = model_.program().ir();
  for (const auto& parameter : program.parameters()) {
    writer_.add_initializer(parameter->name(), model_.session().parameter(parameter->name()));
    names_[parameter->value.get()] = parameter->name();
  }
  for (const auto& input : program.main().arguments) {
    writer_.add_input(input->name, input->type.dtype, input->type.shape);
    names_[input.get()] = input->name;
  }
  for (const auto& op : program.main().ops) {
    current_ = op.get();
    try {
      add(*op);
    } catch (const NotExported& error) {
      failures_.push_back(op->location.str() + " (" + op->name() + "): " + error.reason);
    }
  }
  if (!failures_.empty()) {
    std::string text = "the model cannot be exported; missing is, by op:";
    for (const std::string& failure : failures_) text += "\n  " + failure;
    fail_usage(text);
  }
  const auto& outputs = model_.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& value = name(program.main().results[i]);
    writer_.add_node("Identity", {value}, {outputs[i].name}, {}, outputs[i].name);
    writer_.add_output(outputs[i].name, outputs[i].dtype, outputs[i].shape);
  }
  return writer_.finish(options_.opset, program_name(model_.name()));
}

// Ops of which an operand could not be exported are left out.
void Exporter::add(const ir::Op& op) {
  for (const ir::Value* operand : op.operands) {
    if (!names_.contains(operand)) return;
  }
  const ExportedOp* exported = find_exported(op.name());
  if (exported == nullptr)
    throw NotExported{"ONNX has no such operator, or Trireme does not write it"};
  exported->write(*this, op);
}

const std::string& Exporter::name(const ir::Value* value) const { return names_.at(value); }

void Exporter::set(const ir::Op& op, const std::string& name, std::size_t result) {
  names_[op.results[result].get()] = name;
}

std::vector<std::string> Exporter::node_with(std::size_t results, const std::string& type,
                                             const std::vector<std::string>& inputs,
                                             const NodeAttributes& attributes) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < results; ++i) names.push_back("v" + std::to_string(next_++));
  const std::string layer = current_ != nullptr ? current_->location.layer : "";
  writer_.add_node(type, inputs, names, attributes,
                   (layer.empty() ? "" : layer + "/") + type + "_" + names[0]);
  return names;
}

std::string Exporter::node(const std::string& type, const std::vector<std::string>& inputs,
                           const NodeAttributes& attributes) {
  return node_with(1, type, inputs, attributes)[0];
}

std::string Exporter::constant(const Tensor& tensor) {
  const std::string name = "c" + std::to_string(next_++);
  writer_.add_initializer(name, tensor);
  return name;
}

std::string Exporter::integers(const std::vector<std::int64_t>& numbers) {
  return constant(Tensor::from({static_cast<std::int64_t>(numbers.size())}, numbers));
}

std::string Exporter::scalar(double number, DType dtype) {
  return constant(Tensor::scalar(number).cast(dtype));
}

std::string Exporter::size_of_symbol(const std::string& symbol) {
  std::string& found = symbols_[symbol];
  if (!found.empty()) return found;
  for (const auto& input : model_.program().ir().main().arguments) {
    const Shape& shape = input->type.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const Dim more = shape[axis] - Dim(symbol);  // splits of sequences have one element more
      if (!more.is_constant()) continue;
      const auto at = static_cast<std::int64_t>(axis);
      const std::string size = node("Shape", {input->name}, {{"start", at}, {"end", at + 1}});
      if (more == Dim(0)) return found = size;
      return found = node("Sub", {size, integers({more.constant()})});
    }
  }
  throw NotExported{"the size " + symbol + " is no size of an input"};
}

std::string Exporter::size(const Dim& dim) {
  if (dim.is_constant()) return integers({dim.constant()});
  std::string total;
  for (const auto& [monomial, coefficient] : dim.terms()) {
    std::string term = integers({coefficient});
    for (const std::string& symbol : monomial) {
      const std::string size = size_of_symbol(symbol);
      term = term == size ? term : node("Mul", {term, size});
    }
    total = total.empty() ? term : node("Add", {total, term});
  }
  return total;
}

std::string Exporter::shape(const Shape& shape) {
  if (is_constant(shape)) return integers(evaluate(shape, {}));
  std::vector<std::string> sizes;
  for (const Dim& dim : shape) sizes.push_back(size(dim));
  return sizes.size() == 1 ? sizes[0] : node("Concat", sizes, {{"axis", std::int64_t{0}}});
}

std::string Exporter::cast(const std::string& x, DType dtype) {
  return node("Cast", {x}, {{"to", static_cast<std::int64_t>(element_type_of(dtype))}});
}

std::string export_bytes(trireme::Model& model, const ExportOptions& options) {
  return Exporter(model, options).run();
}

void export_model(trireme::Model& model, const std::string& path, const ExportOptions& options) {
  write_file_atomically(path, export_bytes(model, options));
}

}  // namespace trireme::onnx
