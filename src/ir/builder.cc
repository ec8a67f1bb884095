// Names these ops: add, constant, reshape

#include "ir/builder.h"

#include <algorithm>
#include <set>

#include "base/error.h"

namespace trireme::ir {
namespace {

void collect_symbols(const Type& type, std::set<std::string>& symbols) {
  for (const Dim& dim : type.shape) {
    for (std::string& symbol : dim.symbols()) symbols.insert(std::move(symbol));
  }
  symbols.insert(type.splits_of);
}

void collect_symbols(const Block& block, std::set<std::string>& symbols) {
  for (const auto& argument : block.arguments) collect_symbols(argument->type, symbols);
  for (const auto& op : block.ops) {
    for (const auto& result : op->results) collect_symbols(result->type, symbols);
    for (const auto& nested : op->blocks) collect_symbols(*nested, symbols);
  }
}

Value* existing_parameter(const Program& program, const std::string& name, const Type& type) {
  const Parameter* existing = program.find_parameter(name);
  if (existing == nullptr) {
    fail_usage("there is no parameter " + name +
               " to share\n  hint   code in a shared scope must build the same layers in the same "
               "order, each time");
  }
  if (existing->value->type != type) {
    fail_usage("the shared parameter " + name + " is " + existing->value->type.str() +
               ", but is requested as " + type.str() + "\n  made   at " + existing->location.str() +
               "\n  hint   inputs of code in a shared scope must have the same widths each time");
  }
  return existing->value.get();
}

}  // namespace

Location Builder::locate(const SourceLocation& where) const {
  if (location_ != nullptr) {
    Location location = *location_;
    if (location.layer.empty()) location.layer = layer_;
    return location;
  }
  std::string file = where.file_name();
  file.erase(0, file.find_last_of('/') + 1);
  for (char& c : file) {
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  }
  return {std::move(file), static_cast<int>(where.line()), layer_};
}

Op* Builder::append(std::string_view op, std::vector<Value*> operands, Attributes attributes,
                    std::vector<std::unique_ptr<Block>> blocks) {
  return program().append(*block_, op, std::move(operands), std::move(attributes), locate(),
                          std::move(blocks));
}

Value* Builder::make(std::string_view op, std::vector<Value*> operands, Attributes attributes) {
  const Op* made = append(op, std::move(operands), std::move(attributes));
  return made->results.empty() ? nullptr : made->result();
}

Value* Builder::make_like(const Op& like, std::vector<Value*> operands) {
  return program().append_like(*block_, like, std::move(operands))->result();
}

Value* Builder::constant(const Type& type, double number) {
  return make("constant", {}, {{"dtype", type.dtype}, {"shape", type.shape}, {"value", number}});
}

Value* Builder::reshape(Value* x, Shape shape) {
  return make("reshape", {x}, {{"shape", std::move(shape)}});
}

Value* Builder::add(Value* a, Value* b) { return make("add", {a, b}); }

std::string Builder::unique_name(std::string_view stem) {
  const std::string key = layer_.empty() ? std::string(stem) : layer_ + "/" + std::string(stem);
  return std::string(stem) + "_" + std::to_string(counters_[key]++);
}

void Builder::reserve_names(std::string_view path) {
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view prefix = path.substr(0, end);
    const std::size_t digits = prefix.find_last_not_of("0123456789") + 1;
    if (digits > begin + 1 && digits < end && end - digits <= 8 && prefix[digits - 1] == '_') {
      int& next = counters_[std::string(prefix.substr(0, digits - 1))];
      next = std::max(next, std::stoi(std::string(prefix.substr(digits))) + 1);
    }
    begin = end + 1;
  }
}

void Builder::reset_names(std::string_view path) {
  const std::string below = std::string(path) + "/";
  std::erase_if(counters_, [&](const auto& counter) { return counter.first.starts_with(below); });
}

std::string Builder::unique_symbol(std::string_view stem) {
  std::set<std::string> used;
  for (const Block* at = block_; at != nullptr;
       at = at->owner != nullptr ? at->owner->parent : at->around) {
    collect_symbols(*at, used);
  }
  collect_symbols(program().main(), used);
  stem = stem.substr(0, stem.find_last_not_of("0123456789") + 1);
  while (!stem.empty() && stem.back() == '_') stem.remove_suffix(1);
  int& next = counters_["symbol " + std::string(stem)];
  std::string symbol;
  do {
    symbol = std::string(stem) + "_" + std::to_string(++next);
  } while (used.contains(symbol));
  return symbol;
}

void Builder::copy_names(const Builder& other) {
  layer_ = other.layer_;
  counters_ = other.counters_;
}

Value* Builder::parameter(std::string name, const Type& type, const Initializer& initializer,
                          bool trainable, Location location, const ParameterSettings& settings) {
  if (reuses_parameters_) return existing_parameter(program(), name, type);
  return program().add_parameter(std::move(name), type, initializer, trainable, std::move(location),
                                 settings);
}

}  // namespace trireme::ir
