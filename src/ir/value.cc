// The public handles of include/trireme/program.h: Value wraps ir::Value, Program wraps
// ir::Program. Program's constructor and parse() are in ops/program_api.cc because they need the
// catalog of ops.

#include <ostream>

#include "base/error.h"
#include "ir/builder.h"
#include "trireme/ragged.h"

namespace trireme {
namespace {

const ir::Value& checked(const ir::Value* value) {
  if (!value) fail_usage("an empty Value is used; it was declared but never given a value");
  return *value;
}

}  // namespace

DType Value::dtype() const { return checked(value_).type.dtype; }
const Shape& Value::shape() const { return checked(value_).type.shape; }
std::string Value::name() const { return ir::name_in_text(&checked(value_)); }
std::string Value::str() const { return name() + " : " + value_->type.str(); }

const Dim& Value::dim(int axis) const {
  const int at = axis < 0 ? axis + rank() : axis;
  if (at < 0 || at >= rank()) {
    fail_usage("there is no dimension " + std::to_string(axis) + " in " + str());
  }
  return shape()[static_cast<std::size_t>(at)];
}

Program::Program(std::shared_ptr<ir::Program> ir) : ir_(std::move(ir)) {}
Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program Program::clone() const { return Program(ir_->clone()); }
Program Program::of(const Value& value) {
  if (!value) throw Error(ErrorKind::usage, "an empty value belongs to no Program");
  return Program(value.get()->program->shared_from_this());
}
const std::string& Program::name() const { return ir_->name; }
std::string Program::str() const { return ir::print(*ir_); }

Value Program::input(std::string_view name, DType dtype, Shape shape, SourceLocation where) {
  try {
    return Value(ir_->add_input(std::string(name), {dtype, std::move(shape), ""}));
  } catch (const Error& error) {
    fail(error.kind(),
         std::string(error.what()) + "\n  made   at " + ir_->builder().locate(where).str());
  }
}

namespace {

// Returns `name` with the characters replaced that a symbol cannot hold.
std::string as_symbol(std::string_view name) {
  std::string symbol(name);
  for (char& c : symbol) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!fits) c = '_';
  }
  return symbol.empty() || symbol[0] < 'A' ? "rows" + symbol : symbol;
}

}  // namespace

Value Program::input(std::string_view name, DType dtype, const RaggedShape& shape,
                     SourceLocation where) {
  const auto levels = static_cast<int>(shape.outer.size());
  if (levels == 0) fail_usage("input " + std::string(name) + " needs a dimension of sequences");
  const std::string symbol = as_symbol(name);
  const bool taken = ir::find_splits(ir_->main(), Dim(std::string_view(symbol))) != nullptr;
  Shape dims = shape.outer;
  dims.emplace_back(std::string_view(taken ? ir_->builder().unique_symbol(symbol) : symbol));
  Shape rows{dims.back()};
  rows.insert(rows.end(), shape.row.begin(), shape.row.end());
  const Value value = input(name, dtype, std::move(rows), where);
  for (int level = 0; level < levels; ++level) {
    const Dim& below = dims[static_cast<std::size_t>(level) + 1];
    const Dim& above = dims[static_cast<std::size_t>(level)];
    if (!below.symbol()) {
      fail_usage("input " + std::string(name) + ": the level " + below.str() +
                 " is not a symbol\n  hint   name it: Dim(\"sentences\")");
    }
    if (const ir::Value* known = ir::find_splits(ir_->main(), below)) {
      if (known->type.shape[0] == above + 1) continue;
      fail_usage("input " + std::string(name) + ": " + below.str() + " is already split by %" +
                 known->name + " : " + known->type.str());
    }
    ir_->add_input(splits_name(name, level, levels), {DType::i64, {above + 1}, *below.symbol()});
  }
  return value;
}

Value Program::parameter(std::string_view name, DType dtype, Shape shape, ParameterOptions options,
                         SourceLocation where) {
  const ir::Location location = ir_->builder().locate(where);
  const std::string& layer = ir_->builder().layer();
  std::string full = layer.empty() ? "" : layer + ".";
  full += name;
  try {
    return Value(ir_->builder().parameter(std::move(full), {dtype, std::move(shape), ""},
                                          std::move(options.initializer), options.trainable,
                                          location, options.settings));
  } catch (const Error& error) {
    fail(error.kind(), std::string(error.what()) + "\n  made   at " + location.str());
  }
}

Program::Scope::Scope(std::shared_ptr<ir::Program> program, std::string previous)
    : program_(std::move(program)),
      previous_(std::move(previous)),
      was_sharing_(program_->builder().reuses_parameters()) {}
Program::Scope::Scope(Scope&&) noexcept = default;
Program::Scope::~Scope() {
  if (!program_) return;
  program_->builder().set_layer(std::move(previous_));
  program_->builder().reuse_parameters(was_sharing_);
}

Program::Scope Program::scope(std::string_view name) {
  ir::Builder& builder = ir_->builder();
  std::string path = builder.layer().empty() ? "" : builder.layer() + "/";
  path += name;
  if (!ir::is_name(name) || !ir::is_name(path)) {
    fail_usage("'" + path +
               "' is not a valid name for a layer: use letters, digits and _ . / - and start with "
               "a letter or _");
  }
  return Scope(ir_, builder.set_layer(std::move(path)));
}

Program::Scope Program::shared_scope(std::string_view name) {
  Scope result = scope(name);
  ir::Builder& builder = ir_->builder();
  if (!builder.reuses_parameters() && ir_->has_parameters(builder.layer())) {
    builder.reuse_parameters(true);
    builder.reset_names(builder.layer());
  }
  return result;
}

std::string Program::unique_name(std::string_view stem) { return ir_->builder().unique_name(stem); }

void Program::set_outputs(const std::vector<Value>& outputs) {
  std::vector<ir::Value*> results;
  for (const Value& output : outputs) {
    const ir::Value& value = checked(output.get());
    if (value.program != ir_.get()) {
      fail_usage("output " + output.str() + " belongs to another Program");
    }
    if (value.kind != ir::ValueKind::parameter && value.block != &ir_->main()) {
      fail_usage("output " + output.str() + " is defined inside a nested block");
    }
    results.push_back(output.get());
  }
  ir_->main().results = std::move(results);
}

std::vector<Value> Program::outputs() const {
  std::vector<Value> result;
  for (ir::Value* value : ir_->main().results) result.emplace_back(value);
  return result;
}

std::vector<Value> Program::inputs() const {
  std::vector<Value> result;
  for (const auto& argument : ir_->main().arguments) result.emplace_back(argument.get());
  return result;
}

std::vector<Value> Program::parameters() const {
  std::vector<Value> result;
  for (const auto& parameter : ir_->parameters()) result.emplace_back(parameter->value.get());
  return result;
}

Value Program::find(std::string_view name) const {
  if (ir::Parameter* parameter = ir_->find_parameter(name)) {
    return Value(parameter->value.get());
  }
  for (const auto& argument : ir_->main().arguments) {
    if (argument->name == name) return Value(argument.get());
  }
  return {};
}

std::ostream& operator<<(std::ostream& out, const Value& value) {
  return out << (value ? value.str() : "(empty)");
}
std::ostream& operator<<(std::ostream& out, const Program& program) { return out << program.str(); }

}  // namespace trireme
