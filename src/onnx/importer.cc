#include "onnx/importer.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "base/error.h"
#include "ir/program.h"
#include "trireme/control.h"
#include "trireme/indexing.h"
#include "trireme/ops.h"

namespace trireme::onnx {
namespace {

constexpr int kMaxCalls = 100;       // of functions in functions, and of graphs in graphs
constexpr std::int64_t kOldest = 7;  // version of the operator set
constexpr std::int64_t kNewest = 28;
constexpr std::int64_t kInterpreted = 4096;  // computing fewer elements is faster than compiling

bool is_small(const std::vector<Item>& items) {
  return std::all_of(items.begin(), items.end(), [](const Item& item) {
    return !item.known || item.known->elements() <= kInterpreted;
  });
}

// The number that all elements are, if one is and a double holds it.
std::optional<double> equal_elements(const Tensor& tensor) {
  if (tensor.elements() == 0) return 0.0;
  const std::size_t size = size_of(tensor.dtype());
  for (std::int64_t i = 1; i < tensor.elements(); ++i) {
    if (!std::equal(tensor.bytes(), tensor.bytes() + size,
                    tensor.bytes() + static_cast<std::size_t>(i) * size)) {
      return std::nullopt;
    }
  }
  const Tensor first = tensor.reshaped({-1}).rows(0, 1);
  const Tensor number = first.cast(DType::f64);
  if (!equal(number.cast(tensor.dtype()), first)) return std::nullopt;
  return *number.data<double>();
}

// Whether results have many more elements than the inputs, such as those of Expand: computing them
// in each run costs less than keeping them.
bool is_larger(const std::vector<Value>& values, const std::vector<Item>& inputs) {
  constexpr std::int64_t kFew = 1 << 20;
  std::int64_t given = 0;
  for (const Item& item : inputs) given += item.known ? item.known->elements() : 0;
  return std::any_of(values.begin(), values.end(), [&](const Value& value) {
    const Dim elements = product(value.shape());
    return elements.is_constant() && elements.constant() > std::max(kFew, 4 * given);
  });
}

bool is_complete(const std::vector<Item>& items) {
  return std::all_of(items.begin(), items.end(),
                     [](const Item& item) { return item.is_nothing || item.known.has_value(); });
}

// Whether all are known or depend on symbols alone, and at least one does.
bool has_sizes(const std::vector<Item>& items) {
  bool any = false;
  for (const Item& item : items) {
    any = any || item.sizes.has_value();
    if (!item.is_nothing && !item.known && !item.sizes) return false;
  }
  return any;
}

// The names that the nodes of a graph use, also those of graphs in them.
void add_used(const Node& node, std::set<std::string>& used) {
  used.insert(node.inputs.begin(), node.inputs.end());
  for (const AttributeProto& attribute : node.attributes) {
    if (!attribute.g) continue;
    for (const Node& inner : attribute.g->nodes) add_used(inner, used);
    for (const ValueInfo& output : attribute.g->outputs) used.insert(output.name);
  }
}

}  // namespace

std::string program_name(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const bool good = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' ||
                      c == '/' || c == '-';
    result += good ? c : '_';
  }
  if (result.empty() ||
      !(std::isalpha(static_cast<unsigned char>(result[0])) != 0 || result[0] == '_')) {
    result.insert(0, 1, '_');
  }
  return result.substr(0, 200);
}

Importer::Importer(const Model& model, ExternalFiles& files, const ImportOptions& options)
    : model_(model), files_(files), options_(options) {
  for (const Function& function : model.functions) {
    functions_[function.domain + "\n" + function.name + "\n" + function.overload] = &function;
  }
  targets_.push_back(std::make_unique<Target>());
}

ImportedModel Importer::run() {
  Scope scope;
  scope.opsets = model_.opsets;
  scope_ = &scope;
  const std::int64_t version = version_of("");
  if (version > kNewest) {
    fail_usage("the model is of version " + std::to_string(version) + " of ONNX's operators; " +
               std::to_string(kOldest) + " to " + std::to_string(kNewest) +
               " can be imported\n  hint   convert it: onnx.version_converter");
  }
  if (version > 0 && version < kOldest) {
    warn("the model is of version " + std::to_string(version) +
         " of ONNX's operators; what operators before " + std::to_string(kOldest) +
         " had of their own, such as the attribute broadcast, is not read");
  }
  add_initializers(model_.graph);
  for (const ValueInfo& input : model_.graph.inputs) add_input(input);
  std::vector<std::string> results;
  for (const ValueInfo& output : model_.graph.outputs) results.push_back(output.name);
  nodes(model_.graph.nodes, results);
  std::vector<Value> outputs;
  for (const std::string& name : results) {
    const Item* item = find(name);
    if (item == nullptr && failures_.empty()) {
      fail_data("the model's output \"" + name + "\" is computed by no node");
    }
    if (item == nullptr || item->is_failed) continue;
    const auto add = [&](const Item& one, const std::string& as) {
      try {
        outputs.push_back(value_of(one));
        result_.outputs.push_back(program_name(as));
      } catch (const Unsupported& error) {
        failures_["output " + as] = error.reason;
        failed_paths_.push_back("output " + as);
      }
    };
    if (item->kind != Item::Kind::sequence) add(*item, name);
    for (std::size_t i = 0; i < item->elements.size(); ++i) {
      add(item->elements[i], name + "_" + std::to_string(i));
    }
  }
  if (!failed_paths_.empty()) fail_all();
  Program& program = targets_.front()->program;
  program.set_outputs(outputs);
  result_.program = std::move(program);
  return std::move(result_);
}

// --- Inputs and initializers -------------------------------------------------------------------

void Importer::add_initializers(const Graph& graph) {
  const auto add = [&](const std::string& name, ElementType type, Tensor tensor) {
    Item item;
    item.type = type;
    item.known = std::move(tensor);
    item.name = name;
    scope_->items[name] = std::move(item);
  };
  for (const TensorProto& proto : graph.initializers) {
    add(proto.name, proto.type, tensor_of(proto, files_));
  }
  for (const SparseTensorProto& proto : graph.sparse_initializers) {
    add(proto.values.name, proto.values.type, tensor_of(proto, files_));
  }
}

Dim Importer::dim_of(const std::string& input, std::size_t axis, const DimProto& dim) {
  if (dim.size && *dim.size >= 0) return {*dim.size};
  std::string symbol = dim.symbol.empty() ? input + "_" + std::to_string(axis) : dim.symbol;
  const auto size = options_.sizes.find(symbol);
  if (size != options_.sizes.end()) return {size->second};
  std::replace_if(
      symbol.begin(), symbol.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; }, '_');
  if (std::isalpha(static_cast<unsigned char>(symbol[0])) == 0) symbol.insert(0, "n");
  return Dim(symbol);
}

Shape Importer::shape_of(const ValueInfo& info) {
  const auto given = options_.shapes.find(info.name);
  if (given != options_.shapes.end()) return given->second;
  if (!info.type.shape) {
    fail_usage("the model does not say how many axes its input \"" + info.name +
               "\" has\n  hint   give its shape: ImportOptions::shapes, or --shape " + info.name +
               "=batch,3,224,224");
  }
  Shape shape;
  for (std::size_t i = 0; i < info.type.shape->size(); ++i) {
    shape.push_back(dim_of(info.name, i, (*info.type.shape)[i]));
  }
  return shape;
}

// A constant as numbers of the type of its input.
Tensor Importer::constant_input(const std::string& input, ElementType type, const Tensor& given) {
  const std::optional<DType> dtype = carrier_of(type);
  if (dtype == given.dtype()) return given;
  if (dtype) {
    Tensor result = given.cast(*dtype);
    // A float is rounded; other numbers must stay the same.
    if ((is_float(*dtype) && is_float(given.dtype())) || equal(result.cast(given.dtype()), given)) {
      return result;
    }
  }
  fail_usage("the input \"" + input + "\" is of " + name_of(type) + ", and its constant is " +
             given.type_str() + (dtype ? " with other numbers" : ""));
}

void Importer::add_input(const ValueInfo& info) {
  const auto constant = options_.constants.find(info.name);
  const bool is_optional = info.type.kind == TypeProto::Kind::optional && info.type.inner;
  if (constant != options_.constants.end()) {
    Item item;
    item.type = is_optional ? info.type.inner->element : info.type.element;
    item.known = constant_input(info.name, item.type, constant->second);
    item.name = info.name;
    scope_->items[info.name] = std::move(item);
    return;
  }
  const auto sequence = options_.sequences.find(info.name);
  if (sequence != options_.sequences.end()) {
    Item item;
    item.kind = Item::Kind::sequence;
    for (const Tensor& tensor : sequence->second) {
      Item element;
      element.type = item.type = element_type_of(tensor.dtype());
      element.known = tensor;
      item.elements.push_back(std::move(element));
    }
    scope_->items[info.name] = std::move(item);
    return;
  }
  if (scope_->items.contains(info.name)) return;  // an initializer that a caller may replace
  const std::optional<DType> dtype = carrier_of(info.type.element);
  if (info.type.kind != TypeProto::Kind::tensor || !dtype) {
    add_failed({.name = "input " + info.name},
               info.type.kind == TypeProto::Kind::tensor
                   ? "its elements are of " + name_of(info.type.element)
                   : "it is no tensor, and a Program takes tensors alone");
    Item failed;
    failed.is_failed = true;
    scope_->items[info.name] = failed;
    return;
  }
  Item item;
  item.type = info.type.element;
  item.name = info.name;
  const std::string name = program_name(info.name);
  item.value = targets_.front()->program.input(name, *dtype, shape_of(info), SourceLocation());
  result_.inputs.push_back(name);
  scope_->items[info.name] = std::move(item);
}

// --- Nodes -------------------------------------------------------------------------------------

std::int64_t Importer::version_of(const std::string& domain) const {
  const auto found = scope_->opsets.find(domain);
  return found == scope_->opsets.end() ? (domain.empty() ? 0 : 1) : found->second;
}

const Item* Importer::find(const std::string& name) const {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->around) {
    const auto found = scope->items.find(name);
    if (found != scope->items.end()) return &found->second;
  }
  return nullptr;
}

std::string Importer::path_of(const Node& node) const {
  std::string path = scope_->path + (node.name.empty() ? "" : node.name);
  if (node.name.empty() && !node.outputs.empty()) path += "-> " + node.outputs[0];
  return path;
}

void Importer::add_failed(const Node& node, const std::string& reason) {
  std::string path = path_of(node);
  if (!node.type.empty()) {
    path += " (" + (node.domain.empty() ? "" : node.domain + ".") + node.type + ")";
  }
  if (failures_.emplace(path, reason).second) failed_paths_.push_back(path);
}

void Importer::fail_all() const {
  std::string text = "the model cannot be imported; missing is, by node:";
  for (const std::string& path : failed_paths_) text += "\n  " + path + ": " + failures_.at(path);
  fail_usage(text);
}

void Importer::warn(const std::string& text) {
  auto& warnings = result_.warnings;
  if (std::find(warnings.begin(), warnings.end(), text) == warnings.end()) warnings.push_back(text);
}

// Nodes are sorted: each uses results of earlier ones. Those that no result needs are left out.
void Importer::nodes(const std::vector<Node>& nodes, const std::vector<std::string>& results) {
  std::set<std::string> used(results.begin(), results.end());
  std::vector<bool> needed(nodes.size());
  for (std::size_t i = nodes.size(); i-- > 0;) {
    needed[i] = std::any_of(nodes[i].outputs.begin(), nodes[i].outputs.end(),
                            [&](const auto& name) { return !name.empty() && used.contains(name); });
    if (needed[i]) add_used(nodes[i], used);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (needed[i]) node(nodes[i]);
  }
}

const Function* Importer::function_of(const Node& node) const {
  const auto found = functions_.find(node.domain + "\n" + node.type + "\n" + node.overload);
  return found == functions_.end() ? nullptr : found->second;
}

// The node with the attributes of the function's call in place of references to them.
Node Importer::with_arguments(const Node& node) const {
  if (scope_->function == nullptr) return node;
  Node result = node;
  std::erase_if(result.attributes, [&](AttributeProto& attribute) {
    if (attribute.reference.empty()) return false;
    const auto is_it = [&](const AttributeProto& given) {
      return given.name == attribute.reference;
    };
    const std::string name = attribute.name;
    for (const auto* list : {scope_->arguments, &scope_->function->defaults}) {
      const auto found = std::find_if(list->begin(), list->end(), is_it);
      if (found == list->end()) continue;
      attribute = *found;
      attribute.name = name;
      return false;
    }
    return true;
  });
  return result;
}

void Importer::node(const Node& written) {
  if (++nodes_ > options_.max_nodes) {
    fail_data("the model has more than " + std::to_string(options_.max_nodes) +
              " nodes, with the steps of its loops\n  hint   raise ImportOptions::max_nodes");
  }
  const Node node = with_arguments(written);
  std::vector<Item> inputs;
  bool failed = false;
  for (const std::string& name : node.inputs) {
    const Item* item = name.empty() ? nullptr : find(name);
    if (item == nullptr && !name.empty()) {
      add_failed(node, "its input \"" + name + "\" is computed by no node before it");
      failed = true;
      continue;
    }
    inputs.push_back(item != nullptr ? *item : Item{.is_nothing = true});
    failed = failed || inputs.back().is_failed;
  }
  std::vector<Item> results;
  try {
    if (!failed) {
      if (const Function* function = function_of(node)) return call(node, *function, inputs);
      const Operator* op = find_operator(node.domain, node.type);
      if (op == nullptr) throw Unsupported{"there is no such operator in Trireme"};
      results = imported(node, *op, inputs);
    }
  } catch (const Unsupported& error) {
    add_failed(node, error.reason);
    failed = true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal || error.kind() == ErrorKind::io) throw;
    add_failed(node, error.what());
    failed = true;
  }
  if (failed) results.assign(node.outputs.size(), Item{.is_failed = true});
  add_results(node, std::move(results));
}

void Importer::add_results(const Node& node, std::vector<Item> results) {
  results.resize(node.outputs.size(), Item{.is_nothing = true});
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!node.outputs[i].empty()) scope_->items[node.outputs[i]] = std::move(results[i]);
  }
}

std::vector<Item> Importer::imported(const Node& node, const Operator& op,
                                     const std::vector<Item>& inputs) {
  if (op.traits.on_sizes != nullptr && has_sizes(inputs)) {
    NodeContext context(*this, node, op, version_of(node.domain), inputs);
    if (op.traits.on_sizes(context)) return context.take_outputs();
  }
  if (!op.traits.takes_items && !op.traits.is_random && !is_computing_now() &&
      is_complete(inputs)) {
    if (auto results = computed_now(node, op, inputs)) return *std::move(results);
  }
  NodeContext context(*this, node, op, version_of(node.domain), inputs);
  op.import(context);
  return context.take_outputs();
}

std::optional<std::vector<Item>> Importer::computed_now(const Node& node, const Operator& op,
                                                        const std::vector<Item>& inputs) {
  targets_.push_back(std::make_unique<Target>());
  struct Pop {
    std::deque<std::unique_ptr<Target>>& targets;
    ~Pop() { targets.pop_back(); }
  } const pop{targets_};
  Target& target = *targets_.back();
  NodeContext context(*this, node, op, version_of(node.domain), inputs);
  op.import(context);
  std::vector<Item> results = context.take_outputs();
  std::vector<Value> values;
  for (const Item& item : results) {
    if (item.value) values.push_back(item.value);
    for (const Item& element : item.elements) {
      if (element.value) values.push_back(element.value);
    }
  }
  if (values.empty()) return results;
  if (is_larger(values, inputs)) return std::nullopt;
  Session session(target.program,
                  {.threads = 1, .interpreter = is_small(inputs), .max_bytes = options_.max_bytes});
  std::vector<Tensor> tensors = session.run(target.feeds, values);
  std::size_t next = 0;
  const auto keep = [&](Item& item) {
    if (!item.value) return;
    item.known = tensors[next++].clone();
    item.value = {};
  };
  for (Item& item : results) {
    keep(item);
    for (Item& element : item.elements) keep(element);
  }
  return results;
}

void Importer::call(const Node& node, const Function& function, const std::vector<Item>& inputs) {
  if (++depth_ > kMaxCalls) {
    fail_data("the model's function " + function.name +
              " calls itself, or calls are nested deeper than " + std::to_string(kMaxCalls));
  }
  Scope inner;
  inner.path = path_of(node) + "/";
  inner.opsets = function.opsets;
  inner.arguments = &node.attributes;
  inner.function = &function;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    inner.items[function.inputs[i]] = i < inputs.size() ? inputs[i] : Item{.is_nothing = true};
  }
  Scope* const outer = std::exchange(scope_, &inner);
  nodes(function.nodes, function.outputs);
  std::vector<Item> results;
  for (const std::string& name : function.outputs) {
    const Item* item = find(name);
    results.push_back(item != nullptr ? *item : Item{.is_nothing = true});
  }
  scope_ = outer;
  --depth_;
  add_results(node, std::move(results));
}

std::vector<Item> Importer::graph(const Graph& graph, const std::vector<Item>& inputs) {
  if (++depth_ > kMaxCalls) fail_data("graphs of the model are nested too deeply");
  Scope inner;
  inner.around = scope_;
  inner.path = scope_->path + graph.name + "/";
  inner.opsets = scope_->opsets;
  inner.arguments = scope_->arguments;
  inner.function = scope_->function;
  Scope* const outer = std::exchange(scope_, &inner);
  struct Restore {
    Importer& importer;
    Scope* outer;
    ~Restore() {
      importer.scope_ = outer;
      --importer.depth_;
    }
  } const restore{*this, outer};
  add_initializers(graph);
  for (std::size_t i = 0; i < graph.inputs.size() && i < inputs.size(); ++i) {
    inner.items[graph.inputs[i].name] = inputs[i];
  }
  std::vector<std::string> names;
  for (const ValueInfo& output : graph.outputs) names.push_back(output.name);
  nodes(graph.nodes, names);
  std::vector<Item> results;
  for (const std::string& name : names) {
    const Item* item = find(name);
    if (item == nullptr)
      throw Unsupported{"its graph's output \"" + name + "\" is computed by no node"};
    if (item->is_failed) throw Unsupported{"its graph cannot be imported"};
    results.push_back(*item);
  }
  return results;
}

// --- Items as values ---------------------------------------------------------------------------

Value Importer::value_of(const Item& item) {
  if (item.kind == Item::Kind::sequence) throw Unsupported{"a sequence is used as a tensor"};
  if (item.is_nothing) throw Unsupported{"an optional that holds nothing is used as a tensor"};
  if (item.value) return item.value;
  if (item.sizes) {
    const Value sizes = value_of_sizes(*item.sizes);
    const DType dtype = *carrier_of(item.type);
    return dtype == i64 ? sizes : cast(sizes, {.dtype = dtype});
  }
  Target& target = *targets_.back();
  const Tensor& tensor = *item.known;
  if (is_computing_now()) {
    auto& [kept, value] = target.parameters[tensor.bytes()];
    if (value && kept.shape() == tensor.shape() && kept.dtype() == tensor.dtype()) return value;
    const std::string name = "x" + std::to_string(target.feeds.size());
    const Value input = target.program.input(
        name, tensor.dtype(), {tensor.shape().begin(), tensor.shape().end()}, SourceLocation());
    target.feeds[name] = tensor;
    if (tensor.elements() > 0) kept = tensor, value = input;
    return input;
  }
  if (equal_elements(tensor) &&
      (item.name.empty() || !is_float(tensor.dtype()) || tensor.elements() <= 1)) {
    return constant_of(tensor);
  }
  return parameter_of(item);
}

Value Importer::constant_of(const Tensor& tensor) {
  const Shape shape(tensor.shape().begin(), tensor.shape().end());
  return constant(program(),
                  {.value = *equal_elements(tensor), .dtype = tensor.dtype(), .shape = shape});
}

Value Importer::parameter_of(const Item& item) {
  Target& target = *targets_.back();
  const Tensor& tensor = *item.known;
  auto& [kept, value] = target.parameters[tensor.bytes()];
  if (value && kept.shape() == tensor.shape() && kept.dtype() == tensor.dtype()) return value;
  // Also unlike the arguments of blocks, which find() does not see.
  const std::string name =
      target.program.ir().unique_argument(program_name(item.name.empty() ? "constant" : item.name));
  const Shape shape(tensor.shape().begin(), tensor.shape().end());
  const bool trainable =
      options_.trainable && !item.name.empty() && is_arithmetic_float(tensor.dtype());
  const Value parameter = target.program.parameter(name, tensor.dtype(), shape,
                                                   {.trainable = trainable}, SourceLocation());
  result_.state[name] = tensor;
  if (tensor.elements() > 0) kept = tensor, value = parameter;
  return parameter;
}

// Each symbol's size is that of an axis of that size.
Value Importer::value_of_sizes(const Sizes& sizes) {
  const auto size_of_symbol = [&](const std::string& symbol) {
    return dim_size(arange(program(), Dim(symbol)), {.axes = {0}, .dtype = i64});
  };
  std::vector<Value> elements;
  for (const Dim& dim : sizes.dims) {
    const auto constant_part = [&] {
      std::int64_t number = dim.is_constant() ? dim.constant() : 0;
      for (const auto& [monomial, coefficient] : dim.terms()) {
        if (monomial.empty()) number = coefficient;
      }
      return number;
    }();
    Value total = constant(
        program(), {.value = static_cast<double>(constant_part), .dtype = i64, .shape = {}});
    for (const auto& [monomial, coefficient] : dim.terms()) {
      if (monomial.empty()) continue;
      Value term = constant(program(),
                            {.value = static_cast<double>(coefficient), .dtype = i64, .shape = {}});
      for (const std::string& symbol : monomial) term = term * size_of_symbol(symbol);
      total = total + term;
    }
    elements.push_back(sizes.is_scalar ? total : reshape(total, {.shape = {1}}));
  }
  if (sizes.is_scalar) return elements[0];
  if (elements.empty()) return constant(program(), {.value = 0, .dtype = i64, .shape = {0}});
  return elements.size() == 1 ? elements[0] : concat(elements, {.axis = 0});
}

}  // namespace trireme::onnx
