#include "onnx/export/exporter.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "onnx/importer.h"
#include "onnx/tensor.h"
#include "trireme/saved_model.h"

namespace trireme::onnx {
namespace {

// Thrown inside an op whose operand, or a block of which, could not be exported: that is reported
// already.
struct OperandFailed {};

}  // namespace

Exporter::Exporter(trireme::Model& model, const ExportOptions& options)
    : model_(model), options_(options) {
  if (options.opset < 18 || options.opset > 27) {
    fail_usage("export_model: version " + std::to_string(options.opset) +
               " of ONNX's operators; 18 to 27 can be written");
  }
}

std::string Exporter::run() {
  const ir::Program& program = model_.program().ir();
  add_used(program.main());
  take_names();
  for (const auto& parameter : program.parameters()) {
    writer_.add_initializer(parameter->name(), model_.session().parameter(parameter->name()));
    names_[parameter->value.get()] = parameter->name();
  }
  for (const auto& input : program.main().arguments) {
    writer_.add_input(input->name, input->type.dtype, input->type.shape);
    bind(input.get(), input->name);
  }
  for (const auto& op : program.main().ops) add(*op);
  if (!failures_.empty()) fail_all();
  const auto& outputs = model_.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& value = name(program.main().results[i]);
    writer_.add_node("Identity", {value}, {outputs[i].name}, {}, outputs[i].name);
    writer_.add_output(outputs[i].name, outputs[i].dtype, outputs[i].shape);
  }
  std::string bytes = writer_.finish(options_.opset, program_name(model_.name()));
  if (bytes.size() > std::numeric_limits<std::int32_t>::max()) {
    fail_usage("the model cannot be exported: it has " + std::to_string(bytes.size()) +
               " bytes, and files of ONNX have at most 2 GB");
  }
  return bytes;
}

// The names that the model's user sees must differ from each other, and from those that nodes get.
void Exporter::take_names() {
  const ir::Program& program = model_.program().ir();
  for (const auto& parameter : program.parameters()) taken_.insert(parameter->name());
  for (const auto& input : program.main().arguments) taken_.insert(input->name);
  for (const auto& output : model_.outputs()) {
    if (!taken_.insert(output.name).second) {
      fail_usage("the model cannot be exported: its output \"" + output.name +
                 "\" has the name of an input, a parameter or another output"
                 "\n  hint   save it with other names: SaveOptions::output_names");
    }
  }
}

void Exporter::fail_all() const {
  std::string text = "the model cannot be exported; missing is, by op:";
  for (const std::string& failure : failures_) text += "\n  " + failure;
  fail_usage(text);
}

// From the results back, for inference.
void Exporter::add_used(const ir::Block& block) {
  used_.insert(block.results.begin(), block.results.end());
  for (std::size_t i = block.ops.size(); i-- > 0;) {
    const ir::Op& op = *block.ops[i];
    if (!is_used(op)) continue;
    const bool choice = op.name() == "when_training";
    used_.insert(op.operands.begin() + (choice ? 1 : 0), op.operands.end());
    for (const auto& inner : op.blocks) add_used(*inner);
  }
}

bool Exporter::is_used(const ir::Op& op) const {
  if (op.has(ir::Trait::makes_splits)) return true;  // later sizes may need it
  return std::any_of(op.results.begin(), op.results.end(),
                     [&](const auto& result) { return used_.contains(result.get()); });
}

bool Exporter::is_used(const ir::Op& op, std::size_t result) const {
  return used_.contains(op.results[result].get());
}

// Ops of which an operand could not be exported are left out.
void Exporter::add(const ir::Op& op) {
  if (!is_used(op)) return;
  const ir::Op* const outer = std::exchange(current_, &op);
  const std::size_t depth = writer_.depth();
  try {
    for (const ir::Value* operand : op.operands) {
      if (failed_.contains(operand) && used_.contains(operand)) throw OperandFailed{};
    }
    write(op);
  } catch (const NotExported& error) {
    const std::string failure = op.location.str() + " (" + op.name() + "): " + error.reason;
    if (std::find(failures_.begin(), failures_.end(), failure) == failures_.end())
      failures_.push_back(failure);
    for (const auto& result : op.results) failed_.insert(result.get());
  } catch (const OperandFailed&) {
    for (const auto& result : op.results) failed_.insert(result.get());
  }
  while (writer_.depth() > depth) end_graph();
  current_ = outer;
}

void Exporter::write(const ir::Op& op) {
  const ExportedOp* exported = find_exported(op.name());
  if (exported == nullptr)
    throw NotExported{"ONNX has no such operator, or Trireme does not write it"};
  exported->write(*this, op);
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    if (is_used(op, i) && !names_.contains(op.results[i].get()))
      throw NotExported{"its result " + std::to_string(i) + " is not written"};
  }
}

const std::string& Exporter::name(const ir::Value* value) const { return names_.at(value); }

void Exporter::set(const ir::Op& op, const std::string& name, std::size_t result) {
  bind(op.results[result].get(), name);
}

std::string Exporter::new_name(char stem) {
  std::string name;
  do name = stem + std::to_string(next_++);
  while (taken_.contains(name));
  return name;
}

std::vector<std::string> Exporter::node_with(std::size_t results, const std::string& type,
                                             const std::vector<std::string>& inputs,
                                             const NodeAttributes& attributes) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < results; ++i) names.push_back(new_name('v'));
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
  const std::string name = new_name('c');
  writer_.add_initializer(name, tensor);
  return name;
}

std::string Exporter::integers(const std::vector<std::int64_t>& numbers) {
  return constant(Tensor::from({static_cast<std::int64_t>(numbers.size())}, numbers));
}

std::string Exporter::scalar(double number, DType dtype) {
  return constant(Tensor::scalar(number).cast(dtype));
}

// Splits of sequences have one element more than there are sequences.
std::string Exporter::size_of_symbol(const std::string& symbol) {
  const auto found = symbols_.find(symbol);
  if (found != symbols_.end()) return found->second;
  for (const ir::Value* value : visible_) {
    const Shape& shape = value->type.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const Dim more = shape[axis] - Dim(symbol);
      if (!more.is_constant()) continue;
      const auto at = static_cast<std::int64_t>(axis);
      std::string size = node("Shape", {name(value)}, {{"start", at}, {"end", at + 1}});
      if (more != Dim(0)) size = node("Sub", {size, integers({more.constant()})});
      return symbols_[symbol] = size;
    }
  }
  throw NotExported{"the size " + symbol + " is no size of an input or of a value before it"};
}

void Exporter::define_symbol(const std::string& symbol, const std::string& size) {
  symbols_[symbol] = size;
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

// --- Nodes that many ops need ------------------------------------------------------------------

std::string Exporter::cast(const std::string& x, DType dtype) {
  return node("Cast", {x}, {{"to", static_cast<std::int64_t>(element_type_of(dtype))}});
}

std::string Exporter::reshape_to(const std::string& x, const std::string& shape) {
  return node("Reshape", {x, shape}, {{"allowzero", std::int64_t{1}}});
}

std::string Exporter::reshape(const std::string& x, const Shape& to) {
  return reshape_to(x, shape(to));
}

std::string Exporter::expand(const std::string& x, const Shape& to) {
  return node("Expand", {x, shape(to)});
}

std::string Exporter::filled(double number, DType dtype, const Shape& to) {
  const std::string one = scalar(number, dtype);
  return to.empty() ? one : expand(one, to);
}

std::string Exporter::scalar_of(const std::string& one) {
  return node("Reshape", {one, integers({})});
}

std::string Exporter::slice(const std::string& x, std::int64_t axis, std::int64_t begin,
                            std::int64_t end) {
  return node("Slice", {x, integers({begin}), integers({end}), integers({axis})});
}

std::string Exporter::range(const std::string& count) {
  return node("Range", {scalar(0, DType::i64), scalar_of(count), scalar(1, DType::i64)});
}

// --- Ops with blocks ---------------------------------------------------------------------------

void Exporter::bind(const ir::Value* value, const std::string& name) {
  names_[value] = name;
  visible_.push_back(value);
}

std::vector<std::string> Exporter::block(const ir::Block& block) {
  for (const auto& op : block.ops) add(*op);
  std::vector<std::string> results;
  for (const ir::Value* result : block.results) {
    if (failed_.contains(result)) throw OperandFailed{};
    results.push_back(name(result));
  }
  return results;
}

void Exporter::begin_graph() {
  around_.push_back({symbols_, visible_.size()});
  writer_.begin_graph();
}

std::string Exporter::graph_input(DType dtype, const Shape& shape) {
  const std::string name = new_name('v');
  writer_.add_input(name, dtype, shape);
  return name;
}

void Exporter::graph_output(const std::string& value, DType dtype, const Shape& shape) {
  writer_.add_output(node("Identity", {value}), dtype, shape);
}

GraphBytes Exporter::end_graph() {
  symbols_ = std::move(around_.back().symbols);
  visible_.resize(around_.back().values);
  around_.pop_back();
  return writer_.end_graph();
}

const ExportedOp* find_exported(std::string_view name) {
  static const std::map<std::string_view, const ExportedOp*> index = [] {
    std::map<std::string_view, const ExportedOp*> made;
    for (const auto list :
         {exported_elements, exported_moves, exported_products, exported_orders, exported_scatters,
          exported_sequences, exported_loops, exported_random}) {
      for (const ExportedOp& op : list()) made[op.name] = &op;
    }
    return made;
  }();
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

std::string export_bytes(trireme::Model& model, const ExportOptions& options) {
  return Exporter(model, options).run();
}

void export_model(trireme::Model& model, const std::string& path, const ExportOptions& options) {
  write_file_atomically(path, export_bytes(model, options));
}

}  // namespace trireme::onnx
