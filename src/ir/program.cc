#include "ir/program.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "ir/builder.h"
#include "ir/mistake.h"

namespace trireme::ir {
namespace {

constexpr std::size_t kMaxNameLength = 512;

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

void check_operands(const OpDef& def, const Program& program, const Block& block,
                    const std::vector<Value*>& operands) {
  const std::size_t named = def.operands.size();
  if (def.variadic ? operands.size() + 1 < named : operands.size() != named) {
    throw TypeError{"takes " + std::string(def.variadic ? "at least " : "") +
                        std::to_string(def.variadic ? named - 1 : named) + " operands, got " +
                        std::to_string(operands.size()),
                    ""};
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) {
      throw TypeError{"operand " + operand_name(&def, i) + " is an empty Value", ""};
    }
    if (operands[i]->program != &program) {
      throw TypeError{"operand " + operand_name(&def, i) + " belongs to another Program",
                      "build the whole network from values of one Program"};
    }
    if (!is_visible(*operands[i], block)) {
      throw TypeError{
          "operand " + operand_name(&def, i) + " is defined inside a nested block that has ended",
          "return it from that block"};
    }
  }
}

Initializer checked_initializer(const std::string& parameter, const Initializer& given) {
  Initializer result{given.name, {}};
  bool valid = is_name(given.name);
  for (const NamedAttribute& attribute : given.attributes) {
    valid = valid && is_name(attribute.name) && !has_attribute(result.attributes, attribute.name);
    set_attribute(result.attributes, attribute.name, attribute.value);
  }
  if (!valid) {
    fail_usage("the initializer '" + given.name + "' of parameter " + parameter +
               " needs a valid name and distinct attribute names");
  }
  return result;
}

std::unique_ptr<Value> make_value(ValueKind kind, Type type, std::string name, std::size_t index,
                                  Block* block, Program* program) {
  auto value = std::make_unique<Value>();
  value->kind = kind;
  value->type = std::move(type);
  value->name = std::move(name);
  value->index = static_cast<int>(index);
  value->block = block;
  value->program = program;
  return value;
}

}  // namespace

std::string OperandTexts::operator[](std::size_t i) const {
  return operand_name(def_, i) + " " + types_->at(i).str();
}

std::vector<Type> result_types(const OpDef& def, const std::vector<Value*>& operands,
                               const Attributes& attributes,
                               const std::vector<std::unique_ptr<Block>>& blocks) {
  std::vector<Type> types;
  types.reserve(operands.size());
  for (const Value* operand : operands) types.push_back(operand->type);
  if (!def.type) fail_internal("op " + def.name + " has no type rule");
  std::vector<const Block*> bodies;
  for (const auto& block : blocks) bodies.push_back(block.get());
  std::vector<Type> results = def.type({types, attributes, {def, types}, bodies});
  if (!def.variadic_results && results.size() != static_cast<std::size_t>(def.result_count)) {
    fail_internal("the type rule of op " + def.name + " returns " + std::to_string(results.size()) +
                  " results, but its signature says " + std::to_string(def.result_count));
  }
  if (!def.has(Trait::makes_splits)) {
    for (Type& type : results) type.splits_of.clear();
  }
  return results;
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxNameLength || !is_name_start(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_name_start(c) || (c >= '0' && c <= '9') || c == '.' || c == '/' || c == '-';
  });
}

bool is_visible(const Value& value, const Block& block) {
  if (value.kind == ValueKind::parameter) return true;
  const Block* at = &block;
  while (at && at != value.block) at = at->owner ? at->owner->parent : at->around;
  return at != nullptr;
}

Value* find_splits(const Block& block, const Dim& rows) {
  const std::string name = rows.str();
  for (const Block* at = &block; at != nullptr;
       at = at->owner != nullptr ? at->owner->parent : at->around) {
    for (const auto& argument : at->arguments) {
      if (argument->type.splits_of == name) return argument.get();
    }
    for (const auto& op : at->ops) {
      if (op->has(Trait::makes_splits) && op->result()->type.splits_of == name) return op->result();
    }
  }
  return nullptr;
}

Program::Program(std::string program_name, const OpSet& op_set)
    : name(std::move(program_name)), op_set_(&op_set) {
  main_.program = this;
  builder_ = std::make_unique<Builder>(*this);
}

Program::~Program() = default;

Parameter* Program::find_parameter(std::string_view wanted) const {
  const auto found = by_name_.find(wanted);
  return found == by_name_.end() ? nullptr : found->second;
}

Parameter& Program::parameter_of(const Value* value) const {
  if (value->kind != ValueKind::parameter || value->program != this) {
    fail_internal("a value that is not a parameter of this Program is used as one");
  }
  return *parameters_[static_cast<std::size_t>(value->index)];
}

void Program::remove_parameters(const std::function<bool(const Parameter&)>& unwanted) {
  std::erase_if(parameters_, [&](const std::unique_ptr<Parameter>& parameter) {
    if (!unwanted(*parameter)) return false;
    by_name_.erase(parameter->name());
    return true;
  });
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i]->value->index = static_cast<int>(i);
  }
}

void Program::check_declaration(const std::string& new_name, const char* what,
                                const Type& type) const {
  if (!is_name(new_name)) {
    fail_usage("'" + new_name + "' is not a valid name for " + what +
               ": use letters, digits and _ . / - and start with a letter or _");
  }
  if (by_name_.contains(new_name) || argument_names_.contains(new_name)) {
    fail_usage("the name '" + new_name + "' of " + what + " is taken in program " + name +
               "\n  hint   Program::unique_name() returns a free name");
  }
  const auto rows = Dim::parse(type.splits_of);
  if (!type.splits_of.empty() && (!rows || (!rows->symbol() && !rows->is_constant()) ||
                                  type.dtype != DType::i64 || type.rank() != 1)) {
    fail_usage(std::string(what) + " " + new_name + " cannot be splits: " + type.str());
  }
  for (const Dim& dim : type.shape) {
    if (dim.is_constant() && dim.constant() < 0) {
      fail_usage(std::string(what) + " " + new_name + " has a negative size: " + type.str());
    }
  }
}

Value* Program::add_input(std::string new_name, Type type) {
  return add_argument(main_, std::move(new_name), std::move(type));
}

Value* Program::add_argument(Block& block, std::string new_name, Type type) {
  check_declaration(new_name, &block == &main_ ? "input" : "argument", type);
  argument_names_.insert(new_name);
  block.arguments.push_back(make_value(ValueKind::argument, std::move(type), std::move(new_name),
                                       block.arguments.size(), &block, this));
  return block.arguments.back().get();
}

Value* Program::add_parameter(std::string new_name, Type type, const Initializer& initializer,
                              bool trainable, Location location,
                              const ParameterSettings& settings) {
  if (!no_parameters.empty()) fail_usage("parameter " + new_name + ": " + no_parameters);
  check(settings);
  check_declaration(new_name, "parameter", type);
  if (!is_constant(type.shape)) {
    fail_usage("parameter " + new_name + " needs a shape without symbols, got " + type.str());
  }
  auto parameter = std::make_unique<Parameter>();
  parameter->initializer = checked_initializer(new_name, initializer);
  parameter->value = make_value(ValueKind::parameter, std::move(type), std::move(new_name),
                                parameters_.size(), nullptr, this);
  parameter->trainable = trainable;
  parameter->location = std::move(location);
  parameter->settings = settings;
  by_name_.emplace(parameter->name(), parameter.get());
  parameters_.push_back(std::move(parameter));
  return parameters_.back()->value.get();
}

bool Program::has_parameters(std::string_view path) const {
  const auto first = by_name_.lower_bound(path);
  for (auto it = first; it != by_name_.end() && it->first.starts_with(path); ++it) {
    const char next = it->first.size() > path.size() ? it->first[path.size()] : ' ';
    if (next == '/' || next == '.') return true;
  }
  return false;
}

Op* Program::append(Block& block, std::string_view op, std::vector<Value*> operands,
                    Attributes attributes, const Location& location,
                    std::vector<std::unique_ptr<Block>> blocks) {
  const OpDef* def = op_set_->find(op);
  if (!def) {
    const std::string near = nearest(std::string(op), public_names(*op_set_));
    fail_usage(describe_mistake(
        op, nullptr, {}, location,
        {"there is no op of this name", near.empty() ? "" : "did you mean '" + near + "'?"}));
  }
  std::vector<Type> types;
  try {
    check_operands(*def, *this, block, operands);
    attributes = complete_attributes(*def, std::move(attributes));
    types = result_types(*def, operands, attributes, blocks);
  } catch (const TypeError& error) {
    fail_usage(describe_mistake(op, def, operands, location, error));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    fail_usage(describe_mistake(op, def, operands, location, {error.what(), ""}));
  }
  Op* made = insert_op(block, *def, std::move(operands), std::move(attributes), location,
                       std::move(types));
  for (auto& body : blocks) body->owner = made;
  made->blocks = std::move(blocks);
  return made;
}

Op* Program::append_like(Block& block, const Op& like, std::vector<Value*> operands) {
  std::vector<Type> types;
  for (const auto& result : like.results) types.push_back(result->type);
  return insert_op(block, *like.def, std::move(operands), like.attributes, like.location,
                   std::move(types));
}

Op* Program::insert_op(Block& block, const OpDef& def, std::vector<Value*> operands,
                       Attributes attributes, Location location, std::vector<Type> types) {
  auto op = std::make_unique<Op>();
  op->def = &def;
  op->operands = std::move(operands);
  op->attributes = std::move(attributes);
  op->location = std::move(location);
  op->parent = &block;
  for (Type& type : types) {
    op->results.push_back(
        make_value(ValueKind::result, std::move(type), "", op->results.size(), &block, this));
    op->results.back()->producer = op.get();
  }
  block.ops.push_back(std::move(op));
  return block.ops.back().get();
}

std::unique_ptr<Block> Program::make_block(Block& around) {
  auto block = std::make_unique<Block>();
  block->around = &around;
  block->program = this;
  return block;
}

Value* Program::add_result(Op& op, Type type) {
  op.results.push_back(
      make_value(ValueKind::result, std::move(type), "", op.results.size(), op.parent, this));
  op.results.back()->producer = &op;
  return op.results.back().get();
}

std::string Program::unique_argument(std::string_view stem) const {
  for (int i = 0;; ++i) {
    std::string free = std::string(stem) + (i == 0 ? "" : "_" + std::to_string(i));
    if (!by_name_.contains(free) && !argument_names_.contains(free)) return free;
  }
}

Block& Program::add_block(Op& op) {
  op.blocks.push_back(std::make_unique<Block>());
  op.blocks.back()->owner = &op;
  op.blocks.back()->program = this;
  return *op.blocks.back();
}

namespace {

using ValueMap = std::unordered_map<const Value*, Value*>;

std::vector<Value*> mapped(const std::vector<Value*>& values, const ValueMap& map) {
  std::vector<Value*> result;
  result.reserve(values.size());
  for (const Value* value : values) result.push_back(map.at(value));
  return result;
}

void copy_block(const Block& from, Block& to, ValueMap& map) {
  Program& program = *to.program;
  for (const auto& argument : from.arguments) {
    map[argument.get()] = program.add_argument(to, argument->name, argument->type);
  }
  for (const auto& op : from.ops) {
    Op* copy = program.append_like(to, *op, mapped(op->operands, map));
    for (const auto& nested : op->blocks) copy_block(*nested, program.add_block(*copy), map);
    for (std::size_t i = 0; i < op->results.size(); ++i) {
      map[op->results[i].get()] = copy->results[i].get();
    }
  }
  to.results = mapped(from.results, map);
}

}  // namespace

std::unique_ptr<Program> Program::clone() const {
  auto copy = std::make_unique<Program>(name, *op_set_);
  ValueMap map;
  for (const auto& parameter : parameters_) {
    map[parameter->value.get()] =
        copy->add_parameter(parameter->name(), parameter->value->type, parameter->initializer,
                            parameter->trainable, parameter->location, parameter->settings);
  }
  copy_block(main_, copy->main_, map);
  copy->builder_->copy_names(*builder_);
  copy->updates = updates;
  copy->torch = torch;
  const auto update = [&](Value*& value) {
    const auto found = map.find(value);
    value = found == map.end() ? nullptr : found->second;
  };
  for (UpdateSet& set : copy->updates) {
    update(set.rate);
    for (UpdatedParameter& each : set.parameters) {
      for (Value** value : {&each.parameter, &each.gradient, &each.rows, &each.clipped}) {
        update(*value);
      }
    }
  }
  return copy;
}

}  // namespace trireme::ir
